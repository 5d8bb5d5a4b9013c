//! Gives orders to a running job. It never waits for them to be obeyed; `Ending` tells when they were.

use std::sync::Arc;
use std::time::Duration;

use rustix::net::{SendFlags, Shutdown, send, shutdown};
use rustix::process::Signal;
use tokio::net::UnixStream;

use super::handle::Handle;
use super::message::Order;
use super::platform;

/// Stops, kills, pauses and resumes a job. Harmless after the job's end.
#[derive(Debug, Clone)]
pub struct Control {
    socket: Arc<UnixStream>,
    supervisor: Arc<Handle>,
}

/// The signal that asks a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polite {
    Term,
    Int,
}

impl Polite {
    pub(super) fn number(self) -> Signal {
        match self {
            Polite::Term => Signal::TERM,
            Polite::Int => Signal::INT,
        }
    }
}

impl Control {
    pub(super) fn new(socket: Arc<UnixStream>, supervisor: Arc<Handle>) -> Control {
        Control { socket, supervisor }
    }

    /// Asks the program's process group to end, and kills every descendant that is left after `grace`.
    pub fn stop(&self, signal: Polite, grace: Duration) {
        self.order(Order::Stop { signal, grace });
    }

    /// Kills the program and every descendant now.
    pub fn kill(&self) {
        self.order(Order::Kill);
    }

    /// Stops the time of every descendant (SIGSTOP).
    pub fn pause(&self) {
        self.order(Order::Pause);
    }

    /// Lets every descendant go on.
    pub fn resume(&self) {
        self.order(Order::Resume);
    }

    fn order(&self, order: Order) {
        let flags = SendFlags::DONTWAIT | platform::NO_SIGPIPE;
        let sent = send(&*self.socket, &order.encode(), flags);
        if sent == Err(rustix::io::Errno::AGAIN) {
            // Thousands of unread orders: the supervisor hangs. End of file is the one word that always arrives.
            let _ = shutdown(&*self.socket, Shutdown::Write);
        }
        // The agent may have stopped its supervisor.
        let _ = self.supervisor.signal(Signal::CONT);
    }
}
