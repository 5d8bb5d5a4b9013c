//! Ends a connection whose client has stopped reading.
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// A TCP stream whose writes fail if the client reads nothing for some time.
pub(super) struct StallGuardedStream {
    stream: TcpStream,
    timeout: Duration,
    /// Runs while a write waits for the client.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl StallGuardedStream {
    pub(super) fn new(stream: TcpStream, timeout: Duration) -> Self {
        Self { stream, timeout, deadline: None }
    }

    /// Passes the result of a write on, and limits how long writes stay pending.
    fn limit_wait<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let timeout = self.timeout;
        let deadline =
            self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + timeout)));
        match deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for StallGuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for StallGuardedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit_wait(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.limit_wait(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// More than the buffers of a connection.
    const LARGE_ANSWER_BYTES: usize = 64 * 1024 * 1024;

    async fn connect() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (listener.accept().await.unwrap().0, client)
    }

    // fault: 102, 104
    #[tokio::test]
    async fn an_answer_that_the_client_does_not_read_ends_with_an_error() {
        let (server, client) = connect().await;
        let mut guarded = StallGuardedStream::new(server, Duration::from_millis(50));
        let written = guarded.write_all(&vec![0; LARGE_ANSWER_BYTES]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(client);
    }

    // fault: 104
    #[tokio::test]
    async fn a_client_that_reads_gets_all_of_a_large_answer() {
        let (server, mut client) = connect().await;
        let mut guarded = StallGuardedStream::new(server, Duration::from_secs(60));
        let writing = tokio::spawn(async move { guarded.write_all(&vec![0; LARGE_ANSWER_BYTES]).await });
        let (mut received, mut buffer) = (0, vec![0; 64 * 1024]);
        while received < LARGE_ANSWER_BYTES {
            received += client.read(&mut buffer).await.unwrap();
        }
        writing.await.unwrap().unwrap();
        assert_eq!(received, LARGE_ANSWER_BYTES);
    }
}
