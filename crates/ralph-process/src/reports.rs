//! Reads what a supervisor reports, frame by frame. It keeps no state of the job.
//! While nothing is said, keeper and supervisor are reminded to go on now and then: the agent may have stopped them.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::handle::Handle;
use super::keeper::Keeper;
use super::message::Report;
use super::wire::Frames;

/// How long silence lasts before somebody is reminded.
const SILENCE: Duration = Duration::from_secs(2);

pub(super) struct Reports {
    socket: Arc<UnixStream>,
    /// Forks the supervisor, and speaks in its place when it was killed.
    keeper: Keeper,
    frames: Frames,
}

impl Reports {
    pub(super) fn new(socket: Arc<UnixStream>, keeper: Keeper) -> Reports {
        Reports { socket, keeper, frames: Frames::default() }
    }

    pub(super) fn socket(&self) -> &Arc<UnixStream> {
        &self.socket
    }

    pub(super) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Returns what is said before there is a supervisor; `None` when nothing will be.
    pub(super) async fn first(&mut self) -> Option<Report> {
        self.next_from(&Handle::Ended).await
    }

    /// Returns the next report, or `None` when supervisor and keeper are gone. Loses nothing when cancelled.
    pub(super) async fn next_from(&mut self, supervisor: &Handle) -> Option<Report> {
        loop {
            if let Ok(report) = timeout(SILENCE, self.next()).await {
                return report;
            }
            let _ = supervisor.signal(Signal::CONT);
            self.keeper.go_on();
        }
    }

    async fn next(&mut self) -> Option<Report> {
        let mut buffer = [0; 1024];
        loop {
            if let Some(frame) = self.frames.next() {
                return Report::decode(&frame);
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
