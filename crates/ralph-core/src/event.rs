//! The events of a loop. An event carries everything that the rules cannot obtain themselves: the time, a random
//! number, and the attempt it belongs to, so that late events can be ignored.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptReport, ModelSpend};
use crate::baseline::BaselineTrial;
use crate::budget::BudgetUsage;
use crate::control_command::ControlCommand;
use crate::evidence::Evidence;
use crate::seal::SealingResult;

/// A time in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// Returns the time since `earlier`, or zero if the clock went backwards.
    #[must_use]
    pub fn elapsed_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    #[must_use]
    pub fn add_millis(self, ms: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }
}

/// Identifies one attempt. Iteration and attempt count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptKey {
    pub iteration: u32,
    pub attempt: u32,
}

impl AttemptKey {
    /// The preparation before the first iteration.
    pub const PREPARATION: Self = Self { iteration: 0, attempt: 0 };
}

/// An event with its time and surroundings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The driver's clock. It does not advance while the driver is suspended (Ctrl-Z), so that limits do not count that
    /// time.
    pub at: UnixMillis,
    /// The wall clock, which providers use for the end of a rate limit. It can jump.
    pub wall_clock: UnixMillis,
    /// A random number for jitter and nonces.
    pub random: u32,
    /// Whether the plan that the next iteration needs exists now.
    pub plan_availability: PlanAvailability,
    /// The usage of other runs of each shared budget, in the order of the policy.
    #[serde(default)]
    pub used_by_others: Vec<BudgetUsage>,
    pub kind: EventKind,
}

/// Whether the plan that the run follows exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanAvailability {
    Available,
    /// The run follows an implementation plan, and the file does not exist.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// The driver is ready.
    Started,
    /// A new driver resumes the loop; all processes of the previous driver have ended. `changed` lists the inputs that
    /// have changed since then, `orders` the commands that were sent since then.
    Recovered { changed: Vec<String>, orders: Vec<ControlCommand> },
    /// The agent of this attempt and all its descendants have ended.
    AttemptEnded { key: AttemptKey, report: Box<AttemptReport> },
    /// The agent printed its final record but is still running.
    ResultSeen { key: AttemptKey },
    /// The agent printed more output after its final record.
    SpokeAgain { key: AttemptKey },
    /// The agent retries a failed request, and has done nothing else since.
    Repeating { key: AttemptKey },
    /// The agent made progress after it had only retried requests.
    GotOn { key: AttemptKey },
    /// ralph talks to the agent over a protocol and waits for it to open a session.
    HandshakeBegan { key: AttemptKey },
    /// The agent opened a session, or reported an error.
    HandshakeDone { key: AttemptKey },
    /// The spending of the agent and of the run before it has reached a budget.
    Overspent { key: AttemptKey, spend: ModelSpend },
    /// The files that must not change are sealed, and the external checks have run once.
    Prepared { sealing: SealingResult, baseline: Vec<BaselineTrial> },
    /// The checks of a claim have run.
    Verified { key: AttemptKey, evidence: Evidence },
    /// A timer that the rules started has expired.
    TimerFired {
        timer: LoopTimer,
        /// For how long the activity that the timer watches has been quiet; `None` if it watches none.
        #[serde(default)]
        quiet_ms: Option<u64>,
    },
    /// A signal asked the run to stop.
    Interrupted { signal: StopSignal },
    /// Another process sent a command.
    Ordered { order: ControlCommand },
    /// The loop has no driver and is cancelled.
    Abandoned,
    /// The work tree or the state is unusable.
    Broken { what: String },
    /// A part of the driver failed while it supervised this attempt or its checks; both have ended.
    Faulted { key: AttemptKey, what: String },
}

impl EventKind {
    /// Returns whether this event only starts or cancels timers. It leaves the state unchanged and is not stored.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        match self {
            Self::ResultSeen { .. }
            | Self::SpokeAgain { .. }
            | Self::Repeating { .. }
            | Self::GotOn { .. }
            | Self::HandshakeBegan { .. }
            | Self::HandshakeDone { .. } => true,
            Self::Started
            | Self::Recovered { .. }
            | Self::Overspent { .. }
            | Self::Prepared { .. }
            | Self::AttemptEnded { .. }
            | Self::Verified { .. }
            | Self::TimerFired { .. }
            | Self::Interrupted { .. }
            | Self::Ordered { .. }
            | Self::Abandoned
            | Self::Broken { .. }
            | Self::Faulted { .. } => false,
        }
    }
}

/// The timers of a loop. Each carries its attempt, so that a late one is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "timer", rename_all = "snake_case")]
pub enum LoopTimer {
    /// The iteration has taken too long.
    Iteration { key: AttemptKey },
    /// The agent has printed nothing for too long. The driver restarts this timer on every output.
    Silence { key: AttemptKey },
    /// The agent is still running after its final record.
    AfterResult { key: AttemptKey },
    /// The agent has only retried failed requests for too long.
    Repeating { key: AttemptKey },
    /// The agent has not opened a session in time.
    Handshake { key: AttemptKey },
    /// The delay before a retry is over; `key` is the attempt to start.
    Retry { key: AttemptKey },
    /// A rate limit should be over; `key` is the attempt to start. It fires by either clock: the driver's, which never
    /// jumps, or the wall clock, which advances while the machine sleeps.
    Limit { key: AttemptKey },
    /// The run has reached its time limit.
    Run,
}

/// A signal that stops a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// Ctrl-C.
    Int,
    /// SIGTERM.
    Term,
    /// The terminal was closed (SIGHUP).
    Hangup,
}
