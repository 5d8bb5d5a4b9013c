//! What the rules want done. Facts are stored first, in one transaction with the new loop; only then are the
//! acts performed.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::claim::PromiseNonce;
use crate::event::{AttemptKey, LoopTimer};
use crate::fact::Fact;
use crate::loop_state::AgentSession;
use crate::policy::BaselineMode;
use crate::prompt::PromptPlan;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Stores a fact in the journal.
    Record {
        fact: Fact,
    },
    /// Seals what must not change, and runs the external checks once where the baseline is wanted.
    Prepare {
        /// From 1; more when it was cut short before.
        round: u32,
        baseline: BaselineMode,
    },
    /// Starts the agent with the prompt that the plan describes.
    StartAgent {
        key: AttemptKey,
        plan: PromptPlan,
        nonce: Option<PromiseNonce>,
        /// What people said meanwhile.
        #[serde(default)]
        guidance: Vec<String>,
        /// The agent's own session to resume; without one it starts afresh.
        session: Option<AgentSession>,
        /// Which agent: 0 is the preferred one, the fallbacks follow.
        agent: u32,
    },
    /// Asks the agent to stop; after the grace time its whole tree is killed.
    StopAgent {
        key: AttemptKey,
    },
    /// Kills the agent's whole tree now.
    KillAgent {
        key: AttemptKey,
    },
    /// Runs the checks on what this attempt claims.
    RunChecks {
        key: AttemptKey,
        /// From 1; more when they were cut short before.
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
    /// The run is over. Nothing follows.
    Finish,
}
