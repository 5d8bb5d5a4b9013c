//! Reads the reports of a supervisor from the control socket. While none arrives, sends SIGCONT to the keeper and the
//! supervisor at intervals, because the agent may have stopped them.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::keeper::keeper_handle::Keeper;
use crate::processes::process_handle::ProcessHandle;
use crate::protocol::frame::FrameBuffer;
use crate::protocol::messages::SupervisorReport;

/// How long to wait for a report before SIGCONT is sent.
const CONTINUE_SIGNAL_INTERVAL: Duration = Duration::from_secs(2);

pub(crate) struct ReportStream {
    socket: Arc<UnixStream>,
    /// Forks the supervisor, and sends the final report in its place if it was killed.
    keeper: Keeper,
    frames: FrameBuffer,
}

impl ReportStream {
    pub(crate) fn new(socket: Arc<UnixStream>, keeper: Keeper) -> ReportStream {
        ReportStream { socket, keeper, frames: FrameBuffer::default() }
    }

    pub(crate) fn socket(&self) -> &Arc<UnixStream> {
        &self.socket
    }

    pub(crate) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Returns the first report, while the supervisor's pid is still unknown, or `None` if the socket was closed.
    pub(crate) async fn next_from_keeper(&mut self) -> Option<SupervisorReport> {
        self.next_from_supervisor(&ProcessHandle::Exited).await
    }

    /// Returns the next report, or `None` if supervisor and keeper are gone. Cancel-safe.
    pub(crate) async fn next_from_supervisor(&mut self, supervisor: &ProcessHandle) -> Option<SupervisorReport> {
        loop {
            if let Ok(report) = timeout(CONTINUE_SIGNAL_INTERVAL, self.next_report()).await {
                return report;
            }
            let _ = supervisor.send_signal(Signal::CONT);
            self.keeper.send_continue();
        }
    }

    async fn next_report(&mut self) -> Option<SupervisorReport> {
        let mut buffer = [0; 1024];
        loop {
            if let Some(frame) = self.frames.next_frame() {
                return SupervisorReport::decode(&frame);
            }
            self.socket.readable().await.ok()?;
            match self.socket.try_read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.frames.push(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }
}
