//! The state of a loop, as it is stored after every step. Each phase carries exactly the data that it needs.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptReport, ModelSpend};
use crate::budget::WorkedTime;
use crate::claim::{PromiseNonce, ToolSignal};
use crate::control_command::{PendingCommands, StopRequest};
use crate::decision::WaitingClaim;
use crate::event::{AttemptKey, UnixMillis};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::Policy;
use crate::prompt::PromptPlan;
use crate::rate_limits::{RateLimitState, RateLimitWait};
use crate::receipt::BaselineResult;
use crate::stall::StallCounter;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopState {
    pub policy: Policy,
    /// Consecutive verdicts that could not be evaluated.
    #[serde(default, rename = "blind_verdicts")]
    pub unevaluated_verdicts: u32,
    /// Claims that were rejected because of changed protected tests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub protected_rejections: u32,
    /// Spending of all attempts.
    pub spent: ModelSpend,
    /// The agent session that the next iteration resumes.
    #[serde(default)]
    pub session: Option<AgentSession>,
    #[serde(default)]
    pub limits: RateLimitState,
    /// Time worked, without pauses and time without a driver.
    #[serde(default)]
    pub worked: WorkedTime,
    /// Finished attempts with unknown cost.
    #[serde(default)]
    pub unpriced: u32,
    #[serde(default)]
    pub stall: StallCounter,
    /// The results of the external checks before the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<BaselineResult>,
    /// Why the last claim was rejected; `None` if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_rejection: Option<String>,
    /// The tool calls that the agent was not allowed to make in the last attempt with such calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_actions: Vec<String>,
    /// The claim that ended the run as blocked, for the decision of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_claim: Option<Box<WaitingClaim>>,
    #[serde(default, rename = "wishes", skip_serializing_if = "PendingCommands::is_empty")]
    pub pending_commands: PendingCommands,
    /// The guidance that is part of every prompt, as the last prompt contained it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standing_guidance: Vec<String>,
    pub phase: LoopPhase,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum LoopPhase {
    /// The run has not started.
    Ready,
    /// Sealed files are being hashed, and the external checks run once.
    Preparing {
        round: u32,
    },
    /// A stop was requested during the preparation.
    PreparingStopped {
        round: u32,
        #[serde(alias = "signal")]
        #[serde(rename = "halt")]
        stop_request: StopRequest,
    },
    /// The agent is running.
    Working {
        iteration: IterationState,
        attempt: u32,
    },
    /// The wait before `attempt` starts.
    Waiting {
        iteration: IterationState,
        attempt: u32,
        /// When it starts.
        #[serde(default)]
        until: UnixMillis,
    },
    /// All agents are rate limited, or the agent asked for a wait; `attempt` starts when the wait is over.
    Limited {
        iteration: IterationState,
        attempt: u32,
        wait: RateLimitWait,
    },
    /// The agent claimed completion, and the checks are running.
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
    /// The run is paused; neither agent nor checks are running.
    Paused {
        left: ResumePoint,
    },
    /// A signal ended the run. It can be resumed at `left`.
    Interrupted {
        left: ResumePoint,
        ended: RunEnd,
    },
    Finished {
        iterations: u32,
        ended: RunEnd,
    },
}

/// The point at which a run resumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "left", rename_all = "snake_case")]
pub enum ResumePoint {
    /// At the first iteration.
    AtTheStart,
    /// At the preparation.
    Preparing { round: u32 },
    /// At the next iteration.
    Between { number: u32, plan: PromptPlan },
    /// At the agent: this attempt was interrupted, and the next one repeats it.
    AtWork { iteration: IterationState, attempt: u32 },
    /// In the wait before this attempt.
    Waiting { iteration: IterationState, attempt: u32, until: UnixMillis },
    /// In the wait for a rate limit before this attempt.
    Limited { iteration: IterationState, attempt: u32, wait: RateLimitWait },
    /// At the checks of the claim that this attempt made.
    Verifying { iteration: IterationState, attempt: u32 },
}

/// A session of the agent that a later attempt can resume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSession {
    pub id: String,
    /// Spending of the session so far, if all of it is known. Some agents report totals of the whole session.
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
    /// The agent session that the attempts resume; `None` starts a fresh session.
    #[serde(default)]
    pub session: Option<AgentSession>,
    /// Attempts that do not count as failures, such as interrupted ones. They use no retry.
    #[serde(default, rename = "cut_short")]
    pub excused_attempts: u32,
    /// How often the checks of the claim were started.
    #[serde(default)]
    pub rounds: u32,
    /// Guidance from the user up to the latest attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidance: Vec<String>,
    /// Whether the iteration changed anything, or may have changed something.
    #[serde(default)]
    #[serde(rename = "has_moved")]
    pub has_changed_files: bool,
    /// How often the agent told something with a tool.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reports: u32,
    /// The last signal that the agent gave with a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_signal: Option<AttemptSignal>,
}

/// A signal that the agent gave with a tool, in this attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptSignal {
    pub attempt: u32,
    #[serde(flatten)]
    pub signal: ToolSignal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum StopTarget {
    Agent {
        why: StopReason,
    },
    Checks {
        #[serde(alias = "signal")]
        #[serde(rename = "halt")]
        stop_request: StopRequest,
    },
}

/// Why an agent is being stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum StopReason {
    IterationTooLong,
    TooSilent,
    /// It printed its final record but did not exit.
    StayedAfterResult,
    /// It only retried failed requests.
    OnlyRepeats,
    /// It did not open a session.
    NoHandshake,
    /// The provider rejected its login several times.
    LoginRejected,
    /// A command or a signal requested it.
    #[serde(alias = "signal")]
    Asked {
        #[serde(alias = "signal")]
        #[serde(rename = "halt")]
        stop_request: StopRequest,
    },
    /// A budget (cost, tokens or time) is exhausted.
    OverBudget {
        what: String,
    },
    Broken {
        what: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl LoopState {
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            unevaluated_verdicts: 0,
            protected_rejections: policy.protected_rejections,
            policy,
            spent: ModelSpend::default(),
            session: None,
            limits: RateLimitState::default(),
            worked: WorkedTime::default(),
            unpriced: 0,
            stall: StallCounter::default(),
            baseline: Vec::new(),
            last_rejection: None,
            denied_actions: Vec::new(),
            waiting_claim: None,
            pending_commands: PendingCommands::default(),
            standing_guidance: Vec::new(),
            phase: LoopPhase::Ready,
        }
    }

    /// Returns how the run ended, or `None` while it has not.
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

    /// Returns the guidance that no prompt contained, after the run has ended permanently.
    #[must_use]
    pub fn undelivered_guidance(&self) -> &[String] {
        if self.can_resume() { &[] } else { &self.pending_commands.guidance }
    }

    /// Returns whether a pause was requested that the run did not reach before it ended permanently. It then applies to
    /// the next stage of the task, unless the run was cancelled.
    #[must_use]
    pub fn has_unreached_pause(&self) -> bool {
        let is_cancelled = self.run_end().is_some_and(|end| end.outcome == Outcome::Cancelled);
        self.pending_commands.pause && !self.can_resume() && !is_cancelled
    }

    /// Returns until when the run is parked, by the wall clock, or `None` if it is not.
    #[must_use]
    pub fn parked_until(&self) -> Option<UnixMillis> {
        match &self.phase {
            LoopPhase::Interrupted { left: ResumePoint::Limited { wait, .. }, ended } => {
                ended.is_parked().then_some(wait.until)
            }
            LoopPhase::Interrupted { .. }
            | LoopPhase::Finished { .. }
            | LoopPhase::Ready
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

    /// Returns whether the run has work left and can be resumed.
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
    /// Returns whether the next signal kills the agent, because it was already asked to stop.
    #[must_use]
    pub fn next_signal_kills(&self) -> bool {
        let Self::Stopping { stopping, .. } = self else { return false };
        match stopping {
            StopTarget::Agent { why: StopReason::Asked { stop_request } } => stop_request.is_ending_run(),
            StopTarget::Agent { why: StopReason::Broken { .. } } => true,
            StopTarget::Agent {
                why:
                    StopReason::IterationTooLong
                    | StopReason::TooSilent
                    | StopReason::StayedAfterResult
                    | StopReason::OnlyRepeats
                    | StopReason::NoHandshake
                    | StopReason::LoginRejected
                    | StopReason::OverBudget { .. },
            }
            | StopTarget::Checks { .. } => false,
        }
    }
}

impl ResumePoint {
    /// Returns the iteration that was interrupted, if any.
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

    /// Returns the attempt that comes next.
    #[must_use]
    pub fn next_attempt(&self) -> AttemptKey {
        match self {
            Self::AtTheStart | Self::Preparing { .. } => AttemptKey { iteration: 1, attempt: 1 },
            Self::Between { number, .. } => AttemptKey { iteration: *number, attempt: 1 },
            Self::AtWork { iteration, attempt } => iteration.attempt_key(attempt + 1),
            Self::Waiting { iteration, attempt, .. }
            | Self::Limited { iteration, attempt, .. }
            | Self::Verifying { iteration, attempt } => iteration.attempt_key(*attempt),
        }
    }

    /// Returns how many iterations have started.
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

    /// Returns the session after an attempt with unknown spending.
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

    /// Returns the iteration after an attempt. An attempt without a snapshot counts as a change.
    #[must_use]
    pub fn with_changes_of(self, report: &AttemptReport) -> Self {
        Self { has_changed_files: self.has_changed_files || report.has_changed_files.unwrap_or(true), ..self }
    }

    /// Returns how many attempts have failed, including this one.
    #[must_use]
    pub fn failure_count(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.excused_attempts)
    }
}
