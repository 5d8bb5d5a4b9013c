//! The loop as it is stored after every step. A phase carries exactly what is true in it.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptReport, ModelSpend};
use crate::budget::WorkedTime;
use crate::claim::PromiseNonce;
use crate::control_command::{PendingCommands, StopRequest};
use crate::event::{AttemptKey, UnixMillis};
use crate::outcome::RunEnd;
use crate::policy::Policy;
use crate::prompt::PromptPlan;
use crate::rate_limits::{RateLimitState, RateLimitWait};
use crate::stall::StallCounter;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopState {
    pub policy: Policy,
    /// Verdicts in a row that could not be evaluated.
    pub blind_verdicts: u32,
    /// What all attempts together used.
    pub spent: ModelSpend,
    /// The agent's own session that the next iteration continues.
    #[serde(default)]
    pub session: Option<AgentSession>,
    #[serde(default)]
    pub limits: RateLimitState,
    /// How long it has been at work.
    #[serde(default)]
    pub worked: WorkedTime,
    /// Finished attempts of which nobody knows the cost.
    #[serde(default)]
    pub unpriced: u32,
    #[serde(default)]
    pub stall: StallCounter,
    #[serde(default, skip_serializing_if = "PendingCommands::is_empty")]
    pub wishes: PendingCommands,
    pub phase: LoopPhase,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum LoopPhase {
    /// Nothing has been started yet.
    Ready,
    /// What must not change is being sealed, and the external checks run once.
    Preparing {
        round: u32,
    },
    /// Somebody asked for a stop while the run was being prepared.
    PreparingStopped {
        round: u32,
        #[serde(alias = "signal")]
        halt: StopRequest,
    },
    /// The agent is alive.
    Working {
        iteration: IterationState,
        attempt: u32,
    },
    /// The pause before `attempt` starts.
    Waiting {
        iteration: IterationState,
        attempt: u32,
        /// When it shall start.
        #[serde(default)]
        until: UnixMillis,
    },
    /// No agent may work before a rate limit is over; then `attempt` starts.
    Limited {
        iteration: IterationState,
        attempt: u32,
        wait: RateLimitWait,
    },
    /// The agent claimed; the checks are running.
    Verifying {
        iteration: IterationState,
        attempt: u32,
    },
    /// The agent or the checks were asked to stop.
    Stopping {
        iteration: IterationState,
        attempt: u32,
        stopping: StopTarget,
    },
    /// Somebody asked for a pause, and nobody is at work.
    Paused {
        left: ResumePoint,
    },
    /// A signal ended the run. It can be taken up again where it was left.
    Interrupted {
        left: ResumePoint,
        ended: RunEnd,
    },
    Finished {
        iterations: u32,
        ended: RunEnd,
    },
}

/// Where a run that was cut short goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "left", rename_all = "snake_case")]
pub enum ResumePoint {
    /// With the first iteration.
    AtTheStart,
    /// With the preparation.
    Preparing { round: u32 },
    /// With the next iteration.
    Between { number: u32, plan: PromptPlan },
    /// With the agent: this attempt was cut short, and the next one does its work again.
    AtWork { iteration: IterationState, attempt: u32 },
    /// With the pause before this attempt.
    Waiting { iteration: IterationState, attempt: u32, until: UnixMillis },
    /// With the wait for a rate limit before this attempt.
    Limited { iteration: IterationState, attempt: u32, wait: RateLimitWait },
    /// With the checks of what this attempt claimed.
    Verifying { iteration: IterationState, attempt: u32 },
}

/// A session of an agent's own, which a later start can resume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSession {
    pub id: String,
    /// What it has used so far, where all of that is known: some agents count over a whole session.
    pub spent: ModelSpend,
}

/// The iteration in progress. All its attempts share the nonce, and the prompt unless their session changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationState {
    /// From 1.
    pub number: u32,
    pub started: UnixMillis,
    pub plan: PromptPlan,
    pub nonce: Option<PromiseNonce>,
    /// The agent's own session that its attempts resume; without one they start afresh.
    #[serde(default)]
    pub session: Option<AgentSession>,
    /// Attempts that are no failures, such as those that were cut short: no retry is spent on them.
    #[serde(default, rename = "cut_short")]
    pub excused_attempts: u32,
    /// How often the checks of its claim were begun.
    #[serde(default)]
    pub rounds: u32,
    /// What people said before its newest attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidance: Vec<String>,
    /// Whether it changed anything, as far as anybody knows.
    #[serde(default)]
    pub has_moved: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum StopTarget {
    Agent {
        why: StopReason,
    },
    Checks {
        #[serde(alias = "signal")]
        halt: StopRequest,
    },
}

/// Why an agent is being stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum StopReason {
    IterationTooLong,
    TooSilent,
    /// It had finished and only would not leave.
    StayedAfterResult,
    /// It only repeated requests that failed.
    OnlyRepeats,
    /// It was talked to, and opened no session.
    NoHandshake,
    /// Somebody asked for it.
    #[serde(alias = "signal")]
    Asked {
        #[serde(alias = "signal")]
        halt: StopRequest,
    },
    /// There is no money, no token or no time left.
    OverBudget {
        what: String,
    },
    Broken {
        what: String,
    },
}

impl LoopState {
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            blind_verdicts: 0,
            spent: ModelSpend::default(),
            session: None,
            limits: RateLimitState::default(),
            worked: WorkedTime::default(),
            unpriced: 0,
            stall: StallCounter::default(),
            wishes: PendingCommands::default(),
            phase: LoopPhase::Ready,
        }
    }

    /// Returns the end of the run, once there is one.
    #[must_use]
    pub fn run_end(&self) -> Option<&RunEnd> {
        match &self.phase {
            LoopPhase::Finished { ended, .. } | LoopPhase::Interrupted { ended, .. } => Some(ended),
            LoopPhase::Ready
            | LoopPhase::Preparing { .. }
            | LoopPhase::PreparingStopped { .. }
            | LoopPhase::Working { .. }
            | LoopPhase::Waiting { .. }
            | LoopPhase::Limited { .. }
            | LoopPhase::Verifying { .. }
            | LoopPhase::Paused { .. }
            | LoopPhase::Stopping { .. } => None,
        }
    }

    /// Returns what people said that no prompt told, once none will.
    #[must_use]
    pub fn undelivered_guidance(&self) -> &[String] {
        if self.can_resume() { &[] } else { &self.wishes.guidance }
    }

    /// Tells whether there is something left to do, should this loop be taken up again.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        match &self.phase {
            LoopPhase::Finished { .. } => false,
            LoopPhase::Ready
            | LoopPhase::Preparing { .. }
            | LoopPhase::PreparingStopped { .. }
            | LoopPhase::Working { .. }
            | LoopPhase::Waiting { .. }
            | LoopPhase::Limited { .. }
            | LoopPhase::Verifying { .. }
            | LoopPhase::Stopping { .. }
            | LoopPhase::Paused { .. }
            | LoopPhase::Interrupted { .. } => true,
        }
    }
}

impl LoopPhase {
    /// Tells whether the agent has been asked to stop in such a way that the next signal kills it.
    #[must_use]
    pub fn next_signal_kills(&self) -> bool {
        let Self::Stopping { stopping, .. } = self else { return false };
        match stopping {
            StopTarget::Agent { why: StopReason::Asked { halt } } => halt.is_ending_run(),
            StopTarget::Agent { why: StopReason::Broken { .. } } => true,
            StopTarget::Agent {
                why:
                    StopReason::IterationTooLong
                    | StopReason::TooSilent
                    | StopReason::StayedAfterResult
                    | StopReason::OnlyRepeats
                    | StopReason::NoHandshake
                    | StopReason::OverBudget { .. },
            }
            | StopTarget::Checks { .. } => false,
        }
    }
}

impl ResumePoint {
    /// Returns the iteration that was cut short, if one was.
    #[must_use]
    pub fn interrupted_iteration(&self) -> Option<&IterationState> {
        match self {
            Self::AtTheStart | Self::Preparing { .. } | Self::Between { .. } => None,
            Self::AtWork { iteration, .. }
            | Self::Waiting { iteration, .. }
            | Self::Limited { iteration, .. }
            | Self::Verifying { iteration, .. } => Some(iteration),
        }
    }

    /// Returns the iteration and the attempt that come next.
    #[must_use]
    pub fn next_attempt(&self) -> (u32, u32) {
        match self {
            Self::AtTheStart | Self::Preparing { .. } => (1, 1),
            Self::Between { number, .. } => (*number, 1),
            Self::AtWork { iteration, attempt } => (iteration.number, attempt + 1),
            Self::Waiting { iteration, attempt, .. }
            | Self::Limited { iteration, attempt, .. }
            | Self::Verifying { iteration, attempt } => (iteration.number, *attempt),
        }
    }

    /// Returns how many iterations have begun.
    #[must_use]
    pub fn iterations_begun(&self) -> u32 {
        match self {
            Self::AtTheStart | Self::Preparing { .. } => 0,
            Self::Between { number, .. } => number.saturating_sub(1),
            Self::AtWork { iteration, .. }
            | Self::Waiting { iteration, .. }
            | Self::Limited { iteration, .. }
            | Self::Verifying { iteration, .. } => iteration.number,
        }
    }
}

impl AgentSession {
    /// Returns the session after an attempt in it.
    #[must_use]
    pub fn after_attempt(self, report: &AttemptReport) -> Self {
        if report.session.as_ref().is_some_and(|other| *other != self.id) {
            return self;
        }
        Self { spent: self.spent.add_strict(report.spend), ..self }
    }

    /// Returns the session after an attempt of which nobody knows what it used.
    #[must_use]
    pub fn after_unseen_attempt(self) -> Self {
        Self { spent: ModelSpend::default(), ..self }
    }
}

impl IterationState {
    #[must_use]
    pub fn attempt_key(&self, attempt: u32) -> AttemptKey {
        AttemptKey { iteration: self.number, attempt }
    }

    /// Returns the iteration after an attempt. What nobody looked at may have changed something.
    #[must_use]
    pub fn with_changes_of(self, report: &AttemptReport) -> Self {
        Self { has_moved: self.has_moved || report.has_moved.unwrap_or(true), ..self }
    }

    /// Returns how many attempts have failed when this one has.
    #[must_use]
    pub fn failure_count(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.excused_attempts)
    }
}
