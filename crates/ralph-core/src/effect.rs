//! The effects that the rules request. The driver first stores the facts and the new state in one transaction, and then
//! performs the other effects. It stores the facts in the order of the effects, and adds none.
use alloc::string::String;
use alloc::vec::Vec;

use crate::claim::PromiseNonce;
use crate::event::{AttemptKey, LoopTimer};
use crate::fact::Fact;
use crate::loop_state::AgentSession;
use crate::policy::BaselineMode;
use crate::prompt::PromptPlan;
use crate::receipt::WorkTreeSnapshot;

/// The state of the work tree that a receipt records.
#[derive(Debug, Clone, PartialEq)]
pub enum ReceiptSnapshot {
    /// The state that the checks verified.
    Verified(WorkTreeSnapshot),
    /// The checks ran, but the state before them could not be read. A later one must not replace it.
    Unreadable,
    /// No check ran: the state when the run ends.
    AtEnd,
}

impl ReceiptSnapshot {
    /// Returns the snapshot of a verified claim.
    #[must_use]
    pub fn of_verified_claim(snapshot: Option<WorkTreeSnapshot>) -> Self {
        snapshot.map_or(Self::Unreadable, Self::Verified)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Stores a fact in the journal.
    Record {
        fact: Fact,
    },
    /// Stores the receipt of the completion that the next fact records. The driver fills in its input.
    RecordReceipt {
        snapshot: ReceiptSnapshot,
    },
    /// Seals the files that must not change, and runs the external checks once if the baseline is enabled.
    Prepare {
        /// From 1; higher if an earlier round was interrupted.
        round: u32,
        baseline: BaselineMode,
    },
    /// Starts the agent.
    StartAgent(AgentStart),
    /// Stops the agent gracefully; after the grace period it is killed with all its descendants.
    StopAgent {
        key: AttemptKey,
    },
    /// Kills the agent and all its descendants immediately.
    KillAgent {
        key: AttemptKey,
    },
    /// Runs the checks of the claim that this attempt made.
    RunChecks {
        key: AttemptKey,
        /// From 1; higher if an earlier round was interrupted.
        round: u32,
    },
    /// Kills the checks.
    StopChecks {
        key: AttemptKey,
    },
    StartTimer {
        timer: LoopTimer,
        after_ms: u64,
    },
    CancelTimer {
        timer: LoopTimer,
    },
    /// Ends the run. No effect follows.
    Finish,
}

/// One start of an agent, with the prompt that the plan describes.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStart {
    pub key: AttemptKey,
    pub plan: PromptPlan,
    pub nonce: Option<PromiseNonce>,
    /// The iteration limit of the run.
    pub max_iterations: u32,
    /// Guidance from the user, for this iteration.
    pub guidance: Vec<String>,
    /// Guidance from the user that is part of every prompt.
    pub standing_guidance: Vec<String>,
    /// The agent session to resume; `None` starts a fresh session.
    pub session: Option<AgentSession>,
    /// The index of the agent: 0 is the preferred one, the fallbacks follow.
    pub agent: u32,
}

impl Effect {
    /// Returns the fact to store, if the effect has one.
    #[must_use]
    pub fn recorded_fact(&self) -> Option<&Fact> {
        match self {
            Self::Record { fact } => Some(fact),
            Self::RecordReceipt { .. }
            | Self::Prepare { .. }
            | Self::StartAgent(_)
            | Self::StopAgent { .. }
            | Self::KillAgent { .. }
            | Self::RunChecks { .. }
            | Self::StopChecks { .. }
            | Self::StartTimer { .. }
            | Self::CancelTimer { .. }
            | Self::Finish => None,
        }
    }
}
