//! The journal's vocabulary: what is stored of a run and printed by `ralph events` and `--json`. It is a
//! public promise, small and apart from the inner enums, so that those can move.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptEnding, LeftoverProcesses, ModelSpend};
use crate::baseline::BaselineCheck;
use crate::evidence::{CheckEvidence, Verdict};
use crate::outcome::Outcome;
use crate::receipt::Receipt;
use crate::seal::Seal;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Fact {
    #[serde(rename = "run.started")]
    RunStarted { kind: String, agent: String, promise: String, max_iterations: u32, checks: Vec<String> },
    /// What must not change before a claim, as it was when the run started.
    #[serde(rename = "run.sealed")]
    RunSealed {
        #[serde(flatten)]
        seal: Seal,
    },
    /// What the external checks said before the first iteration.
    #[serde(rename = "baseline")]
    Baseline { checks: Vec<BaselineCheck> },
    /// The run was taken up again, after its ralph had ended or after a pause. What follows comes next.
    #[serde(rename = "run.resumed")]
    RunResumed { iteration: u32, attempt: u32, next: NextStep, changed: Vec<String> },
    /// The run pauses, as somebody asked. `next` comes when it goes on, in this iteration.
    #[serde(rename = "run.paused")]
    RunPaused { iteration: u32, next: NextStep },
    /// Somebody said this to the agent. It stands in the next prompt.
    #[serde(rename = "run.guided")]
    RunGuided { words: String },
    #[serde(rename = "iteration.started")]
    IterationStarted { iteration: u32 },
    #[serde(rename = "attempt.started")]
    AttemptStarted { iteration: u32, attempt: u32 },
    #[serde(rename = "attempt.ended")]
    AttemptEnded { iteration: u32, attempt: u32, result: AttemptResult },
    #[serde(rename = "retry.scheduled")]
    RetryScheduled { iteration: u32, attempt: u32, delay_ms: u64, reason: String },
    /// Every agent is rate limited, and the run waits. `agent` is the one that `attempt` starts then; `reset_at` is what
    /// the provider told, in seconds since 1970.
    #[serde(rename = "limit.waiting")]
    LimitWaiting { iteration: u32, attempt: u32, agent: String, delay_ms: u64, reset_at: Option<i64>, reason: String },
    /// Another agent takes over, or the preferred one comes back.
    #[serde(rename = "agent.changed")]
    AgentChanged { iteration: u32, attempt: u32, agent: String, reason: String },
    /// A session that should go on does not: the agent begins afresh.
    #[serde(rename = "session.fresh")]
    SessionFresh { iteration: u32, attempt: u32, reason: String },
    /// What the agent claimed and what became of it: every claim is kept, accepted or not.
    #[serde(rename = "claim")]
    Claim { iteration: u32, claim: ClaimFact },
    #[serde(rename = "verdict")]
    Verdict { iteration: u32, verdict: Verdict, reason: String, checks: Vec<CheckEvidence> },
    #[serde(rename = "iteration.ended")]
    IterationEnded { iteration: u32, status: IterationStatus, duration_ms: u64 },
    #[serde(rename = "stop.requested")]
    StopRequested { reason: String },
    /// What stands behind the completion that follows, and its hash.
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
    },
}

/// What a resumed run does first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextStep {
    /// The run is prepared again.
    Prepare,
    /// The agent is started.
    Agent,
    /// The pause before a retry goes on.
    Retry,
    /// The wait for a rate limit goes on.
    Limit,
    /// The checks run again.
    Checks,
    /// The iteration ends as it was being ended.
    End,
    /// Nothing: it is paused.
    Pause,
}

/// How an attempt went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptResult {
    pub status: IterationStatus,
    pub ending: AttemptEnding,
    /// Why it failed, where it did.
    pub failure: Option<String>,
    pub session: Option<String>,
    pub model: Option<String>,
    #[serde(default)]
    pub messages: Option<u32>,
    #[serde(flatten)]
    pub spend: ModelSpend,
    /// The end of the agent's last own message.
    pub final_text: String,
    pub stderr_tail: String,
    pub leftovers: LeftoverProcesses,
    /// Lines of its output that were no record of the expected format.
    #[serde(default)]
    pub unknown_records: u64,
}

/// Whether the agent claimed completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimFact {
    pub claimed: bool,
    /// Whether the claim was passed on to be verified, or accepted where nothing is verified.
    pub accepted: bool,
    /// The sentence for people: where it stands, or why it is none.
    pub why: String,
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
            Self::IterationStarted { .. } => "iteration.started",
            Self::AttemptStarted { .. } => "attempt.started",
            Self::AttemptEnded { .. } => "attempt.ended",
            Self::RetryScheduled { .. } => "retry.scheduled",
            Self::LimitWaiting { .. } => "limit.waiting",
            Self::AgentChanged { .. } => "agent.changed",
            Self::SessionFresh { .. } => "session.fresh",
            Self::Claim { .. } => "claim",
            Self::Verdict { .. } => "verdict",
            Self::IterationEnded { .. } => "iteration.ended",
            Self::StopRequested { .. } => "stop.requested",
            Self::Receipt { .. } => "receipt",
            Self::RunFinished { .. } => "run.finished",
        }
    }
}
