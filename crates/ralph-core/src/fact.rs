//! The facts of the journal, which `ralph events` and `--json` print. They are a public format, separate from the
//! internal enums, so that those can change.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptEnding, LeftoverProcesses, ModelSpend};
use crate::baseline::BaselineCheck;
use crate::decision::PersonDecision;
use crate::event::RunOpening;
use crate::evidence::{CheckEvidence, Verdict};
use crate::limit_change::ChangedLimits;
use crate::outcome::Outcome;
use crate::receipt::{Proof, Receipt};
use crate::seal::Seal;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Fact {
    #[serde(rename = "run.started")]
    RunStarted {
        kind: String,
        agent: String,
        promise: String,
        max_iterations: u32,
        checks: Vec<String>,
        /// A description of the agent's permission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permissions: Option<String>,
    },
    /// The files and settings that must not change, as they were when the run started.
    #[serde(rename = "run.sealed")]
    RunSealed {
        #[serde(flatten)]
        seal: Seal,
    },
    /// The results of the external checks before the first iteration.
    #[serde(rename = "baseline")]
    Baseline { checks: Vec<BaselineCheck> },
    /// The run was resumed, after its driver had ended or after a pause. `next` is its first step.
    #[serde(rename = "run.resumed")]
    RunResumed { iteration: u32, attempt: u32, next: NextStep, changed: Vec<String> },
    /// The run was paused. `next` is the first step after the resume, in this iteration.
    #[serde(rename = "run.paused")]
    RunPaused { iteration: u32, next: NextStep },
    /// Guidance from the user, for the next prompt.
    #[serde(rename = "run.guided")]
    RunGuided { words: String },
    /// The guidance that is part of every prompt from now on; without `words` there is none.
    #[serde(rename = "guidance.standing")]
    StandingGuidance { words: Vec<String> },
    /// A person changed limits of the run; these are the new totals.
    #[serde(rename = "limits.changed")]
    LimitsChanged {
        #[serde(flatten)]
        limits: ChangedLimits,
    },
    #[serde(rename = "iteration.started")]
    IterationStarted { iteration: u32 },
    #[serde(rename = "attempt.started")]
    AttemptStarted { iteration: u32, attempt: u32 },
    #[serde(rename = "attempt.ended")]
    AttemptEnded { iteration: u32, attempt: u32, result: AttemptResult },
    #[serde(rename = "retry.scheduled")]
    RetryScheduled { iteration: u32, attempt: u32, delay_ms: u64, reason: String },
    /// Every agent is rate limited, and the run waits. `agent` is the one that makes `attempt` afterwards; `reset_at`
    /// is the time that the provider reported, in seconds since 1970.
    #[serde(rename = "limit.waiting")]
    LimitWaiting { iteration: u32, attempt: u32, agent: String, delay_ms: u64, reset_at: Option<i64>, reason: String },
    /// The agent asked for a wait; `attempt` of the same iteration follows it. `until` is its end, in seconds since 1970.
    #[serde(rename = "agent.waiting")]
    AgentWaiting { iteration: u32, attempt: u32, delay_ms: u64, until: i64, reason: String },
    /// The agent told ralph something with a tool of `ralph mcp`. A `done`, `blocked` or `wait` takes effect only if the attempt
    /// ends without further work: the claim that follows says so.
    #[serde(rename = "agent.reported")]
    AgentReported { iteration: u32, attempt: u32, kind: ReportKind, words: String },
    /// Another agent takes over, or the preferred one returns.
    #[serde(rename = "agent.changed")]
    AgentChanged { iteration: u32, attempt: u32, agent: String, reason: String },
    /// A session was not resumed; the agent starts a fresh one.
    #[serde(rename = "session.fresh")]
    SessionFresh { iteration: u32, attempt: u32, reason: String },
    /// The claim of the agent, accepted or not.
    #[serde(rename = "claim")]
    Claim { iteration: u32, claim: ClaimFact },
    #[serde(rename = "verdict")]
    Verdict { iteration: u32, verdict: Verdict, reason: String, checks: Vec<CheckEvidence> },
    #[serde(rename = "iteration.ended")]
    IterationEnded { iteration: u32, status: IterationStatus, duration_ms: u64 },
    #[serde(rename = "stop.requested")]
    StopRequested { reason: String },
    /// A person accepted the claim that ended the run as blocked. The receipt and the completion follow.
    #[serde(rename = "run.accepted")]
    RunAccepted { iteration: u32, commit: Option<String>, tree: String, accepted_by: PersonDecision },
    /// A person rejected that claim. The run can be resumed, with the reason in its next prompt.
    #[serde(rename = "run.rejected")]
    RunRejected { iteration: u32, rejected_by: PersonDecision },
    /// The proof of the completion that follows, and its hash.
    #[serde(rename = "receipt")]
    Receipt { receipt: Box<Receipt>, sha256: String },
    #[serde(rename = "run.finished")]
    RunFinished {
        outcome: Outcome,
        reason: String,
        iterations: u32,
        exit_code: u8,
        #[serde(flatten)]
        spend: ModelSpend,
        /// How well a completion is proven; `None` if the run is not completed, or by an older ralph.
        #[serde(flatten)]
        proof: Option<Proof>,
    },
}

/// The kind of a report that an agent made with a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    Progress,
    Done,
    Blocked,
    Wait,
}

impl ReportKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Wait => "wait",
        }
    }
}

/// The first step of a resumed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextStep {
    /// The run is prepared again.
    Prepare,
    /// The agent is started.
    Agent,
    /// The delay before a retry continues.
    Retry,
    /// The wait for a rate limit continues.
    Limit,
    /// The checks run again.
    Checks,
    /// The stop that was in progress is completed.
    End,
    /// The run stays paused.
    Pause,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptResult {
    pub status: IterationStatus,
    pub ending: AttemptEnding,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    pub session: Option<String>,
    pub model: Option<String>,
    #[serde(default)]
    pub messages: Option<u32>,
    #[serde(flatten)]
    pub spend: ModelSpend,
    /// The end of the agent's last message.
    pub final_text: String,
    pub stderr_tail: String,
    pub leftovers: LeftoverProcesses,
    /// Output lines that were not records of the expected format.
    #[serde(default)]
    pub unknown_records: u64,
    /// The tool calls that the agent was not allowed to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_actions: Vec<String>,
}

/// Whether the agent claimed completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "ClaimRecord")]
pub struct ClaimFact {
    pub claimed: bool,
    /// Whether the claim counts: it is passed to the checks, or completes a run without checks. In JSON this is also
    /// `counts`; the name `accepted` is deprecated there, because the verdict may still reject the claim.
    pub accepted: bool,
    /// Where the claim was found, or why there is none.
    pub why: String,
    /// A statement in the same message that work is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<String>,
}

/// The form in which a [`ClaimFact`] is written.
#[derive(Serialize)]
struct ClaimRecord {
    claimed: bool,
    counts: bool,
    accepted: bool,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    contradiction: Option<String>,
}

impl From<ClaimFact> for ClaimRecord {
    fn from(ClaimFact { claimed, accepted, why, contradiction }: ClaimFact) -> Self {
        Self { claimed, counts: accepted, accepted, why, contradiction }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationStatus {
    Finished,
    Failed,
    Interrupted,
    TimedOut,
}

impl IterationStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::TimedOut => "timed_out",
        }
    }
}

impl Fact {
    /// Returns the first fact of a run.
    #[must_use]
    pub(crate) fn run_started(opening: RunOpening, max_iterations: u32) -> Self {
        let RunOpening { kind, agent, promise, permissions, checks } = opening;
        Self::RunStarted { kind, agent, promise, max_iterations, checks, permissions }
    }

    /// Returns the dotted name under which the fact is stored and printed.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run.started",
            Self::RunSealed { .. } => "run.sealed",
            Self::Baseline { .. } => "baseline",
            Self::RunResumed { .. } => "run.resumed",
            Self::RunPaused { .. } => "run.paused",
            Self::RunGuided { .. } => "run.guided",
            Self::StandingGuidance { .. } => "guidance.standing",
            Self::LimitsChanged { .. } => "limits.changed",
            Self::IterationStarted { .. } => "iteration.started",
            Self::AttemptStarted { .. } => "attempt.started",
            Self::AttemptEnded { .. } => "attempt.ended",
            Self::RetryScheduled { .. } => "retry.scheduled",
            Self::LimitWaiting { .. } => "limit.waiting",
            Self::AgentWaiting { .. } => "agent.waiting",
            Self::AgentReported { .. } => "agent.reported",
            Self::AgentChanged { .. } => "agent.changed",
            Self::SessionFresh { .. } => "session.fresh",
            Self::Claim { .. } => "claim",
            Self::Verdict { .. } => "verdict",
            Self::IterationEnded { .. } => "iteration.ended",
            Self::StopRequested { .. } => "stop.requested",
            Self::RunAccepted { .. } => "run.accepted",
            Self::RunRejected { .. } => "run.rejected",
            Self::Receipt { .. } => "receipt",
            Self::RunFinished { .. } => "run.finished",
        }
    }
}
