//! Sends commands to a running job without waiting for their effect, which `JobCompletion` reports.

use std::sync::Arc;
use std::time::Duration;

use rustix::net::{SendFlags, Shutdown, send, shutdown};
use rustix::process::Signal;
use tokio::net::UnixStream;

use crate::processes::process_handle::ProcessHandle;
use crate::protocol::messages::SupervisorCommand;
use crate::unix::platform;

/// Stops, kills, pauses and resumes a job. Does nothing after the job's end.
#[derive(Debug, Clone)]
pub struct JobControl {
    socket: Arc<UnixStream>,
    supervisor: Arc<ProcessHandle>,
}

/// The signal that requests a graceful stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminationSignal {
    Term,
    Int,
}

impl TerminationSignal {
    pub(crate) fn as_signal(self) -> Signal {
        match self {
            TerminationSignal::Term => Signal::TERM,
            TerminationSignal::Int => Signal::INT,
        }
    }
}

impl JobControl {
    pub(crate) fn new(socket: Arc<UnixStream>, supervisor: Arc<ProcessHandle>) -> JobControl {
        JobControl { socket, supervisor }
    }

    /// Sends the signal to the program's process group, and kills every descendant that is still alive after `grace`.
    pub fn stop(&self, signal: TerminationSignal, grace: Duration) {
        self.send_command(SupervisorCommand::Stop { signal, grace });
    }

    /// Kills the program and every descendant now.
    pub fn kill(&self) {
        self.send_command(SupervisorCommand::Kill);
    }

    /// Suspends every descendant (SIGSTOP).
    pub fn pause(&self) {
        self.send_command(SupervisorCommand::Pause);
    }

    /// Continues every descendant (SIGCONT).
    pub fn resume(&self) {
        self.send_command(SupervisorCommand::Resume);
    }

    fn send_command(&self, command: SupervisorCommand) {
        let flags = SendFlags::DONTWAIT | platform::NO_SIGPIPE;
        let sent = send(&*self.socket, &command.encode(), flags);
        if sent == Err(rustix::io::Errno::AGAIN) {
            // With thousands of unread commands the supervisor hangs. End of file always arrives, and makes it kill the
            // job.
            let _ = shutdown(&*self.socket, Shutdown::Write);
        }
        // The agent may have stopped its supervisor.
        let _ = self.supervisor.send_signal(Signal::CONT);
    }
}
