//! Reads what a supervisor reports, frame by frame. It keeps no state of the job.
//! A keeper or supervisor that says nothing is reminded to go on now and then: the agent may have stopped it.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::message::Report;
use super::platform::Handle;
use super::wire::Frames;

/// How long silence lasts before the speaker is reminded.
const SILENCE: Duration = Duration::from_secs(2);

pub(super) struct Reports {
    socket: Arc<UnixStream>,
    frames: Frames,
}

impl Reports {
    pub(super) fn new(socket: Arc<UnixStream>) -> Reports {
        Reports { socket, frames: Frames::default() }
    }

    pub(super) fn socket(&self) -> &Arc<UnixStream> {
        &self.socket
    }

    /// Returns the next report, or `None` when the supervisor is gone. Loses nothing when cancelled.
    ///
    /// `speaker` is who has to act for a report to come.
    pub(super) async fn next_from(&mut self, speaker: &Handle) -> Option<Report> {
        loop {
            match timeout(SILENCE, self.next()).await {
                Ok(report) => return report,
                Err(_) => drop(speaker.signal(Signal::CONT)),
            }
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
