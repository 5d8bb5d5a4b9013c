//! What can happen to a loop. Events carry everything the rules may not ask for themselves: the time, dice,
//! and the number of the attempt they belong to, so that a late one is recognised and ignored.
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

/// A moment in milliseconds since 1970, as the driver's clock told it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// Returns the time since `earlier`; a clock that went backwards gives zero, never a negative duration.
    #[must_use]
    pub fn elapsed_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    #[must_use]
    pub fn add_millis(self, ms: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }
}

/// Names one process start: iteration and attempt both count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptKey {
    pub iteration: u32,
    pub attempt: u32,
}

impl AttemptKey {
    /// What runs before the first iteration.
    pub const PREPARATION: Self = Self { iteration: 0, attempt: 0 };
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The driver leaves out the time for which it stood stopped (Ctrl-Z): limits do not count it.
    pub at: UnixMillis,
    /// The clock on the wall, by which providers tell when a limit ends. It may jump.
    pub wall_clock: UnixMillis,
    /// Randomness for the rules that need some (jitter, nonce).
    pub random: u32,
    /// What the next iteration would stand on, as the driver found it at this moment.
    pub plan_availability: PlanAvailability,
    /// What other runs have used of the budgets that this one shares, in their order.
    #[serde(default)]
    pub used_by_others: Vec<BudgetUsage>,
    pub kind: EventKind,
}

/// Whether an iteration may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanAvailability {
    Available,
    /// The run follows an implementation plan, and that is not there.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// The driver is ready to work.
    Started,
    /// A driver takes up a loop that another one left: whatever ran then is gone. `changed` says what is no longer
    /// as it was when the loop was left; `orders` is what was asked for since.
    Recovered { changed: Vec<String>, orders: Vec<ControlCommand> },
    /// The agent of this attempt is gone with all its descendants.
    AttemptEnded { key: AttemptKey, report: Box<AttemptReport> },
    /// The agent printed its final record but is still alive.
    ResultSeen { key: AttemptKey },
    /// The agent went on printing after its final record.
    SpokeAgain { key: AttemptKey },
    /// The agent repeats a request that failed, and has done nothing else since.
    Repeating { key: AttemptKey },
    /// The agent got on after it had only repeated requests.
    GotOn { key: AttemptKey },
    /// The agent is talked to, and has to open a session before it can be asked for work.
    HandshakeBegan { key: AttemptKey },
    /// It has opened one, or said why not.
    HandshakeDone { key: AttemptKey },
    /// What the agent has used so far, together with what the run had used before, is all that it may use.
    Overspent { key: AttemptKey, spend: ModelSpend },
    /// What must not change is sealed, and the external checks have run once.
    Prepared { sealing: SealingResult, baseline: Vec<BaselineTrial> },
    /// The checks of a claim have run.
    Verified { key: AttemptKey, evidence: Evidence },
    /// A timer that the rules started has run out.
    TimerFired { timer: LoopTimer },
    /// The user or the system asked the run to stop.
    Interrupted { signal: StopSignal },
    /// Somebody asked for something from another process.
    Ordered { order: ControlCommand },
    /// Nobody drives the loop any more, and it shall never go on.
    Abandoned,
    /// The ground is gone: work tree or state cannot be used any more.
    Broken { what: String },
    /// A part of the driver itself failed while it watched this attempt or its checks; both are gone.
    Faulted { key: AttemptKey, what: String },
}

impl EventKind {
    /// Tells whether this event leaves the loop as it is and needs no record: it only moves timers.
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

/// The timers of a loop. Each names its attempt; one that fires late is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "timer", rename_all = "snake_case")]
pub enum LoopTimer {
    /// The whole iteration has taken too long.
    Iteration { key: AttemptKey },
    /// The agent has printed nothing for too long. The driver restarts it with every output.
    Silence { key: AttemptKey },
    /// The agent is still alive after its final record.
    AfterResult { key: AttemptKey },
    /// The agent has only repeated failed requests for too long.
    Repeating { key: AttemptKey },
    /// An agent that is talked to has opened no session for too long.
    Handshake { key: AttemptKey },
    /// The pause before a retry is over; `key` is the attempt to start.
    Retry { key: AttemptKey },
    /// A rate limit should be over; `key` is the attempt to start. It is due by either clock: the driver's own, which
    /// never jumps, or the one on the wall, which goes on while the machine sleeps.
    Limit { key: AttemptKey },
    /// The whole run has taken as long as it may.
    Run,
}

/// How the outside world asks a run to stop.
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
