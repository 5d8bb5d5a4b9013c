//! The events of a loop. An event carries everything that the rules cannot obtain themselves: the time, a random
//! number, and the attempt it belongs to, so that late events can be ignored.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptReport, ModelSpend};
use crate::baseline::BaselineTrial;
use crate::budget::BudgetUsage;
use crate::continuation::Continuation;
use crate::control_command::ControlCommand;
use crate::decision::PersonDecision;
use crate::evidence::Evidence;
use crate::outcome::CancelCause;
use crate::receipt::WorkTreeSnapshot;
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

/// An event with its time and context. Events are never stored: the journal has facts.
#[derive(Debug, Clone, PartialEq)]
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
    pub used_by_others: Vec<BudgetUsage>,
    /// The guidance that is part of every prompt now.
    pub standing_guidance: Vec<String>,
    pub kind: EventKind,
}

/// Whether the plan that the run follows exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanAvailability {
    Available,
    /// The run follows an implementation plan, and the file does not exist.
    Missing,
}

/// The events by group, so that a phase can ignore a group in one arm.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    Lifecycle(LifecycleEvent),
    Control(RunControl),
    /// The agent of this attempt is still running.
    Agent {
        key: AttemptKey,
        activity: AgentActivity,
    },
    Work(WorkEvent),
    /// A timer that the rules started has expired.
    TimerFired {
        timer: LoopTimer,
        /// For how long the activity that the timer watches has been quiet; `None` if it watches none.
        quiet_ms: Option<u64>,
    },
}

/// A driver starts, resumes or abandons the loop.
#[derive(Debug, Clone, PartialEq)]
pub enum LifecycleEvent {
    /// The loop starts. `orders` are the commands that were sent before it.
    Started { opening: RunOpening, orders: Vec<ControlCommand> },
    /// A new driver resumes the loop; all processes of the previous driver have ended. `changed` lists the inputs that
    /// have changed since then, `orders` the commands that were sent since then.
    Recovered { changed: Vec<String>, orders: Vec<ControlCommand> },
    /// The loop has no driver and is cancelled.
    Abandoned { cause: CancelCause },
    /// A person decided on the claim, or answered the question, that ended the loop as blocked.
    Decided { verdict: PersonVerdict, decision: PersonDecision },
    /// A person continues the loop, which had ended, with other limits or with guidance.
    Continued { continuation: Continuation },
    /// The caller of a run that is interrupted after every iteration decided that its work is done.
    Closed { reason: String },
    /// The caller of such a run has verified whether the iteration completed the work.
    CompletionVerified { completion: VerifiedCompletion },
}

/// The verdict on a completion that does not come from a promise of the agent, but from a command or a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCompletion {
    /// Why the work counts as done, such as "`until_bash` exited with 0". `None` if nothing says so.
    pub claim: Option<String>,
    pub evidence: Evidence,
}

/// The decision of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonVerdict {
    Accepted,
    /// The loop can be resumed, with the reason in its next prompt.
    Rejected,
    /// The agent asked something. The loop can be resumed, with the answer in its next prompt.
    Answered,
}

/// The description of a run that its first fact records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOpening {
    pub kind: String,
    /// The name of the preferred agent.
    pub agent: String,
    pub promise: String,
    /// A description of the agent's permission, if a process of ralph starts it.
    pub permissions: Option<String>,
    /// One line for each criterion.
    pub checks: Vec<String>,
}

/// A person or the system changes the course of the loop.
#[derive(Debug, Clone, PartialEq)]
pub enum RunControl {
    /// A signal asked the run to stop.
    Interrupted { signal: StopSignal },
    /// Another process sent a command.
    CommandReceived { command: ControlCommand },
    /// The work tree or the state is unusable.
    Broken { what: String },
}

/// The activity of a running agent. Its output itself does not reach the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentActivity {
    /// It printed its final record but is still running.
    ResultSeen,
    /// It printed more output after its final record.
    OutputResumed,
    /// It retries a failed request, and has done nothing else since.
    RepeatingStarted,
    /// It made progress after it had only retried requests.
    RepeatingEnded,
    /// ralph talks to it over a protocol and waits for it to open a session.
    HandshakeStarted,
    /// It opened a session, or reported an error.
    HandshakeDone,
    /// The provider rejected its login, and it retries. `times` counts from its last progress, and grows by one each time.
    LoginRejected { times: u32 },
    /// It made progress after its login had been rejected.
    LoginAccepted,
    /// Its spending and that of the run before it have reached a budget.
    Overspent { spend: ModelSpend },
}

/// Work that the rules requested has ended: the preparation, an attempt, or the checks of a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkEvent {
    /// The files that must not change are sealed, and the external checks have run once.
    Prepared { sealing: SealingResult, baseline: Vec<BaselineTrial> },
    /// The agent of this attempt and all its descendants have ended.
    AttemptEnded { key: AttemptKey, report: Box<AttemptReport> },
    /// The checks of a claim have run. `snapshot` is the work tree that they verified, if it could be read;
    /// `tree_after_checks` is known if a person may have to decide.
    Verified {
        key: AttemptKey,
        evidence: Evidence,
        snapshot: Option<WorkTreeSnapshot>,
        tree_after_checks: Option<String>,
    },
    /// A part of the driver failed while it supervised this attempt or its checks; both have ended.
    Faulted { key: AttemptKey, what: String },
}

impl EventKind {
    #[must_use]
    pub fn interrupted(signal: StopSignal) -> Self {
        Self::Control(RunControl::Interrupted { signal })
    }

    #[must_use]
    pub fn command_received(command: ControlCommand) -> Self {
        Self::Control(RunControl::CommandReceived { command })
    }

    #[must_use]
    pub fn broken(what: String) -> Self {
        Self::Control(RunControl::Broken { what })
    }

    #[must_use]
    pub fn attempt_ended(key: AttemptKey, report: Box<AttemptReport>) -> Self {
        Self::Work(WorkEvent::AttemptEnded { key, report })
    }

    #[must_use]
    pub fn faulted(key: AttemptKey, what: String) -> Self {
        Self::Work(WorkEvent::Faulted { key, what })
    }

    /// Returns whether this event only starts or cancels timers. It leaves the state unchanged and is not stored.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        match self {
            Self::Agent { activity, .. } => match activity {
                AgentActivity::ResultSeen
                | AgentActivity::OutputResumed
                | AgentActivity::RepeatingStarted
                | AgentActivity::RepeatingEnded
                | AgentActivity::HandshakeStarted
                | AgentActivity::HandshakeDone
                | AgentActivity::LoginRejected { .. }
                | AgentActivity::LoginAccepted => true,
                AgentActivity::Overspent { .. } => false,
            },
            Self::Lifecycle(_) | Self::Control(_) | Self::Work(_) | Self::TimerFired { .. } => false,
        }
    }
}

/// The timers of a loop. Each carries its attempt, so that a late one is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopTimer {
    /// The iteration has taken too long.
    Iteration { key: AttemptKey },
    /// The agent has printed nothing for too long. The driver reports how long it has been quiet, and the rules extend the
    /// timer.
    Silence { key: AttemptKey },
    /// The agent is still running after its final record.
    AfterResult { key: AttemptKey },
    /// The agent has only retried failed requests for too long.
    Repeating { key: AttemptKey },
    /// The agent has not opened a session in time.
    Handshake { key: AttemptKey },
    /// The agent's login was rejected several times, and the agent has not ended by itself since.
    Login { key: AttemptKey },
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
