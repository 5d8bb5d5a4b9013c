//! Requests to a run from outside: signals to this process, or messages from the worker that drives several runs.
use std::io;
use std::time::Duration;

use ralph_core::event::StopSignal;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::suspend::SuspendRequest;
use ralph_process::is_hangup_ignored;

/// The request of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalRequest {
    Stop(StopSignal),
    /// Ctrl-Z.
    Suspend,
    /// The store may have a new order.
    CheckOrders,
}

/// How often the store is polled for orders whose SIGURG was lost.
const ORDER_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// An event from outside the run.
#[derive(Debug)]
pub enum ControlEvent {
    Signal(SignalRequest),
    /// The process is about to be suspended with all its runs.
    Suspend(SuspendRequest),
    /// Another worker has leased the task: this process must not continue the run.
    LeaseLost,
}

/// Where a run receives control events from.
pub enum ControlInput {
    /// The process drives only this run.
    Signals(SignalStream),
    /// A worker drives several runs and forwards events.
    Channel(mpsc::UnboundedReceiver<ControlEvent>),
}

impl ControlInput {
    /// Listens to the signals of this process.
    pub fn from_signals() -> io::Result<Self> {
        SignalStream::listen().map(Self::Signals)
    }

    pub async fn next_event(&mut self) -> ControlEvent {
        match self {
            Self::Signals(signals) => ControlEvent::Signal(signals.next().await),
            Self::Channel(events) => match events.recv().await {
                Some(event) => event,
                None => std::future::pending().await,
            },
        }
    }
}

pub struct SignalStream {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal was closed. `None` if the process ignores that (`nohup`, `--detach`).
    hangup: Option<Signal>,
    suspend: Signal,
    /// SIGURG: another process has stored an order. The signal is harmless to a process that does not handle it.
    command_signal: Signal,
    command_poll: Interval,
}

impl SignalStream {
    pub fn listen() -> io::Result<Self> {
        let hangup = if is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
            suspend: signal(SignalKind::from_raw(libc::SIGTSTP))?,
            command_signal: signal(SignalKind::from_raw(libc::SIGURG))?,
            command_poll: new_command_poll(),
        })
    }

    pub async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            Some(()) = self.interrupt.recv() => SignalRequest::Stop(StopSignal::Int),
            Some(()) = self.terminate.recv() => SignalRequest::Stop(StopSignal::Term),
            Some(()) = recv_hangup(self.hangup.as_mut()) => SignalRequest::Stop(StopSignal::Hangup),
            Some(()) = self.suspend.recv() => SignalRequest::Suspend,
            Some(()) = self.command_signal.recv() => SignalRequest::CheckOrders,
            _ = self.command_poll.tick() => SignalRequest::CheckOrders,
        }
    }

    /// Waits for a signal that ends this process. Ctrl-Z stops it meanwhile. For commands that drive no run.
    pub async fn wait_for_stop(&mut self) -> StopSignal {
        loop {
            match self.next().await {
                SignalRequest::Stop(signal) => return signal,
                SignalRequest::Suspend => stop_own_process(),
                SignalRequest::CheckOrders => {}
            }
        }
    }
}

fn new_command_poll() -> Interval {
    let mut poll = interval_at(Instant::now() + ORDER_POLL_INTERVAL, ORDER_POLL_INTERVAL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    poll
}

async fn recv_hangup(hangup: Option<&mut Signal>) -> Option<()> {
    match hangup {
        Some(hangup) => hangup.recv().await,
        None => std::future::pending().await,
    }
}

/// Stops this whole process as Ctrl-Z would; returns when the process is continued.
///
/// The signal goes to the calling thread, which therefore stops before this returns. If it went to the process, another
/// thread might take it, and this one would run on for a moment.
#[expect(unsafe_code, reason = "no safe interface sends a signal to the calling thread")]
pub fn stop_own_process() {
    // SAFETY: raise has no preconditions, and SIGSTOP runs no code of ours.
    unsafe { libc::raise(libc::SIGSTOP) };
}
