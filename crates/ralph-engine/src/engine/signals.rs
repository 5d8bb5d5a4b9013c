//! What people and systems ask of a run: by signals to ralph itself, or through whoever drives several runs.
use std::io;
use std::time::Duration;

use ralph_core::event::StopSignal;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::halt::Halt;
use ralph_process::hangup_is_ignored;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Stop(StopSignal),
    /// Ctrl-Z.
    Suspend,
    /// Somebody may have left an order in the store.
    Look,
}

/// How often the store is looked at for orders whose nudge was lost.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What a run hears from outside.
#[derive(Debug)]
pub enum Ask {
    Signal(Asked),
    /// The process will stand still, with all that it drives.
    Halt(Halt),
    /// Another worker has the task now: nothing more of this run may happen here.
    Lost,
}

/// Where a run hears what is asked of it.
pub enum Asks {
    /// The process drives this run alone.
    Signals(Signals),
    /// Somebody drives it with others, and passes on what it must know.
    Passed(mpsc::UnboundedReceiver<Ask>),
}

impl Asks {
    /// Listens to the signals of this process.
    pub fn signals() -> io::Result<Self> {
        Signals::listen().map(Self::Signals)
    }

    pub async fn next(&mut self) -> Ask {
        match self {
            Self::Signals(signals) => Ask::Signal(signals.next().await),
            Self::Passed(passed) => match passed.recv().await {
                Some(ask) => ask,
                None => std::future::pending().await,
            },
        }
    }
}

pub struct Signals {
    int: Signal,
    term: Signal,
    /// The terminal was closed. Nobody listens where that is no reason to stop (`nohup`, `--detach`).
    hangup: Option<Signal>,
    suspend: Signal,
    /// Whoever leaves an order says so by this. Where nobody listens, it does nothing.
    nudge: Signal,
    glance: Interval,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        let hangup = if hangup_is_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hangup,
            suspend: signal(SignalKind::from_raw(libc::SIGTSTP))?,
            nudge: signal(SignalKind::from_raw(libc::SIGURG))?,
            glance: glances(),
        })
    }

    pub async fn next(&mut self) -> Asked {
        tokio::select! {
            Some(()) = self.int.recv() => Asked::Stop(StopSignal::Int),
            Some(()) = self.term.recv() => Asked::Stop(StopSignal::Term),
            Some(()) = hung_up(self.hangup.as_mut()) => Asked::Stop(StopSignal::Hangup),
            Some(()) = self.suspend.recv() => Asked::Suspend,
            Some(()) = self.nudge.recv() => Asked::Look,
            _ = self.glance.tick() => Asked::Look,
        }
    }
}

fn glances() -> Interval {
    let mut glances = interval_at(Instant::now() + LOOK_AGAIN, LOOK_AGAIN);
    glances.set_missed_tick_behavior(MissedTickBehavior::Delay);
    glances
}

async fn hung_up(hangup: Option<&mut Signal>) -> Option<()> {
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
pub fn stop_self() {
    // SAFETY: raise has no preconditions, and SIGSTOP runs no code of ours.
    unsafe { libc::raise(libc::SIGSTOP) };
}
