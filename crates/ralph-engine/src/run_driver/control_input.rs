//! What people and systems ask of a run: by signals to ralph itself, or through whoever drives several runs.
use std::io;
use std::time::Duration;

use ralph_core::event::StopSignal;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::suspend::SuspendRequest;
use ralph_process::is_hangup_ignored;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalRequest {
    Stop(StopSignal),
    /// Ctrl-Z.
    Suspend,
    /// Somebody may have left an order in the store.
    CheckOrders,
}

/// How often the store is looked at for orders whose nudge was lost.
const ORDER_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// What a run hears from outside.
#[derive(Debug)]
pub enum ControlEvent {
    Signal(SignalRequest),
    /// The process will stand still, with all that it drives.
    Suspend(SuspendRequest),
    /// Another worker has the task now: nothing more of this run may happen here.
    LeaseLost,
}

/// Where a run hears what is asked of it.
pub enum ControlInput {
    /// The process drives this run alone.
    Signals(SignalStream),
    /// Somebody drives it with others, and passes on what it must know.
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
            Self::Channel(passed) => match passed.recv().await {
                Some(ask) => ask,
                None => std::future::pending().await,
            },
        }
    }
}

pub struct SignalStream {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal was closed. Nobody listens where that is no reason to stop (`nohup`, `--detach`).
    hangup: Option<Signal>,
    suspend: Signal,
    /// Whoever leaves an order says so by this. Where nobody listens, it does nothing.
    nudge: Signal,
    order_poll: Interval,
}

impl SignalStream {
    pub fn listen() -> io::Result<Self> {
        let hangup = if is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
            suspend: signal(SignalKind::from_raw(libc::SIGTSTP))?,
            nudge: signal(SignalKind::from_raw(libc::SIGURG))?,
            order_poll: new_order_poll(),
        })
    }

    pub async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            Some(()) = self.interrupt.recv() => SignalRequest::Stop(StopSignal::Int),
            Some(()) = self.terminate.recv() => SignalRequest::Stop(StopSignal::Term),
            Some(()) = recv_hangup(self.hangup.as_mut()) => SignalRequest::Stop(StopSignal::Hangup),
            Some(()) = self.suspend.recv() => SignalRequest::Suspend,
            Some(()) = self.nudge.recv() => SignalRequest::CheckOrders,
            _ = self.order_poll.tick() => SignalRequest::CheckOrders,
        }
    }
}

fn new_order_poll() -> Interval {
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

/// Stops this whole process as Ctrl-Z would; returns when somebody continues it.
///
/// The signal goes to the calling thread, which therefore stands still before this returns. Sent to the process,
/// another thread might take it, and this one would run on for a moment.
#[expect(unsafe_code, reason = "no safe interface sends a signal to the own thread")]
pub fn stop_own_process() {
    // SAFETY: raise has no preconditions, and SIGSTOP runs no code of ours.
    unsafe { libc::raise(libc::SIGSTOP) };
}
