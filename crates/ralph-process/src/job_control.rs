//! Gives orders to a running job. It never waits for them to be obeyed; `Ending` tells when they were.

use std::sync::Arc;
use std::time::Duration;

use rustix::net::{SendFlags, Shutdown, send, shutdown};
use rustix::process::Signal;
use tokio::net::UnixStream;

use super::messages::SupervisorCommand;
use super::platform;
use super::process_handle::ProcessHandle;

/// Stops, kills, pauses and resumes a job. Harmless after the job's end.
#[derive(Debug, Clone)]
pub struct JobControl {
    socket: Arc<UnixStream>,
    supervisor: Arc<ProcessHandle>,
}

/// The signal that asks a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminationSignal {
    Term,
    Int,
}

impl TerminationSignal {
    pub(super) fn as_signal(self) -> Signal {
        match self {
            TerminationSignal::Term => Signal::TERM,
            TerminationSignal::Int => Signal::INT,
        }
    }
}

impl JobControl {
    pub(super) fn new(socket: Arc<UnixStream>, supervisor: Arc<ProcessHandle>) -> JobControl {
        JobControl { socket, supervisor }
    }

    /// Asks the program's process group to end, and kills every descendant that is left after `grace`.
    pub fn stop(&self, signal: TerminationSignal, grace: Duration) {
        self.send_command(SupervisorCommand::Stop { signal, grace });
    }

    /// Kills the program and every descendant now.
    pub fn kill(&self) {
        self.send_command(SupervisorCommand::Kill);
    }

    /// Stops the time of every descendant (SIGSTOP).
    pub fn pause(&self) {
        self.send_command(SupervisorCommand::Pause);
    }

    /// Lets every descendant go on.
    pub fn resume(&self) {
        self.send_command(SupervisorCommand::Resume);
    }

    fn send_command(&self, order: SupervisorCommand) {
        let flags = SendFlags::DONTWAIT | platform::NO_SIGPIPE;
        let sent = send(&*self.socket, &order.encode(), flags);
        if sent == Err(rustix::io::Errno::AGAIN) {
            // Thousands of unread orders: the supervisor hangs. End of file is the one word that always arrives.
            let _ = shutdown(&*self.socket, Shutdown::Write);
        }
        // The agent may have stopped its supervisor.
        let _ = self.supervisor.send_signal(Signal::CONT);
    }
}
