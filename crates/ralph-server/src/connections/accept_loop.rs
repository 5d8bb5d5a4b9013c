//! The loop that accepts connections, and the service of one connection.
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt;

use super::connection_registry::{ConnectionRegistry, OpenConnection, RegisteredConnection};
use super::stalled_writes::StallGuardedStream;
use crate::security::ClientConnection;

/// How long a client may take to send the head of a request, also the next one on an open connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may read nothing while an answer is sent.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long open answers may take once the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept, for example because no file descriptor is free.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 * 1024;

const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Answers the requests of one connection.
#[derive(Clone)]
pub(crate) struct ConnectionService {
    pub router: Router,
}

/// Accepts connections until the server stops.
pub(crate) struct AcceptLoop {
    listener: TcpListener,
    service: ConnectionService,
    registry: Arc<ConnectionRegistry>,
    /// Becomes true when the server stops.
    stopping: watch::Receiver<bool>,
}

impl AcceptLoop {
    pub(crate) fn new(listener: TcpListener, service: ConnectionService, stopping: watch::Receiver<bool>) -> Self {
        Self { listener, service, registry: Arc::default(), stopping }
    }

    /// Serves until the server stops, and gives open answers some time to end.
    pub(crate) async fn run(self) {
        let mut stopping = self.stopping.clone();
        loop {
            tokio::select! {
                _ = stopping.wait_for(|stops| *stops) => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => self.serve(stream, peer),
                    Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
                }
            }
        }
        drop(self.listener);
        // Answers that take longer are cut off.
        drop(tokio::time::timeout(SHUTDOWN_TIMEOUT, self.registry.wait_until_empty()).await);
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr) {
        let Some(registered) = self.registry.register() else {
            tokio::spawn(refuse_connection(stream));
            return;
        };
        let Ok(own) = stream.local_addr() else { return };
        // Small answers must not wait for more; without the option they are only slower.
        drop(stream.set_nodelay(true));
        let connection = ClientConnection { own, peer };
        let served = serve_connection(stream, connection, self.service.clone(), registered, self.stopping.clone());
        tokio::spawn(served);
    }
}

async fn refuse_connection(mut stream: TcpStream) {
    // A client that does not read the answer sees a closed connection.
    drop(tokio::time::timeout(ACCEPT_RETRY_DELAY, stream.write_all(TOO_MANY_CONNECTIONS)).await);
}

async fn serve_connection(
    stream: TcpStream,
    client: ClientConnection,
    service: ConnectionService,
    registered: RegisteredConnection,
    mut stopping: watch::Receiver<bool>,
) {
    let open = Arc::clone(&registered.connection);
    let answer = service_fn(|request| service.clone().answer(request, client, Arc::clone(&open)));
    let io = TokioIo::new(StallGuardedStream::new(stream, STALL_TIMEOUT));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES)
        .half_close(false)
        .serve_connection(io, answer);
    tokio::pin!(connection);
    tokio::select! {
        // Errors are those of the client: it has gone, or sent something else than HTTP.
        _ = connection.as_mut() => return,
        () = registered.connection.must_close() => return,
        _ = stopping.wait_for(|stops| *stops) => {}
    }
    connection.as_mut().graceful_shutdown();
    drop(connection.await);
}

impl ConnectionService {
    async fn answer(
        self,
        request: Request<Incoming>,
        client: ClientConnection,
        open: Arc<OpenConnection>,
    ) -> Result<Response, Infallible> {
        let unanswered = open.begin_request();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(client);
        let response = self.router.oneshot(request).await?;
        // The request is answered when its body has been sent.
        Ok(response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _ = &unanswered;
                frame
            }))
        }))
    }
}
