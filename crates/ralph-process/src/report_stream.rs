//! Reads what a supervisor reports, frame by frame. It keeps no state of the job.
//! While nothing is said, keeper and supervisor are reminded to go on now and then: the agent may have stopped them.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::frame::FrameBuffer;
use super::keeper::Keeper;
use super::messages::SupervisorReport;
use super::process_handle::ProcessHandle;

/// How long silence lasts before somebody is reminded.
const CONTINUE_SIGNAL_INTERVAL: Duration = Duration::from_secs(2);

pub(super) struct ReportStream {
    socket: Arc<UnixStream>,
    /// Forks the supervisor, and speaks in its place when it was killed.
    keeper: Keeper,
    frames: FrameBuffer,
}

impl ReportStream {
    pub(super) fn new(socket: Arc<UnixStream>, keeper: Keeper) -> ReportStream {
        ReportStream { socket, keeper, frames: FrameBuffer::default() }
    }

    pub(super) fn socket(&self) -> &Arc<UnixStream> {
        &self.socket
    }

    pub(super) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Returns what is said before there is a supervisor; `None` when nothing will be.
    pub(super) async fn next_from_keeper(&mut self) -> Option<SupervisorReport> {
        self.next_from_supervisor(&ProcessHandle::Exited).await
    }

    /// Returns the next report, or `None` when supervisor and keeper are gone. Loses nothing when cancelled.
    pub(super) async fn next_from_supervisor(&mut self, supervisor: &ProcessHandle) -> Option<SupervisorReport> {
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
