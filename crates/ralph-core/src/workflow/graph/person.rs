//! Questions to a person, and the answers.
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::output::SharedOutput;
use crate::receipt::ProofLevel;

/// An open question. The texts are in the node: `message`, or `gate_message` of a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonQuestion {
    /// An approval node, with the number of rejections so far.
    Approval { rejections: u32 },
    /// The gate of an interactive loop or loop group after an iteration.
    Gate(LoopGate),
}

/// The state of an interactive loop or loop group after an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopGate {
    /// The number of the iteration that ended.
    pub iteration: u32,
    pub output: SharedOutput,
    /// Whether the agent, a command or a check says that the loop is done.
    pub is_claimed: bool,
    /// The proof level if the person completes the loop now.
    pub proof: ProofLevel,
}

/// The answer of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonAnswer {
    /// At a gate: completes a loop that is claimed to be done, and else continues it with the text.
    Approve { text: String },
    /// Without `on_reject` it cancels the run.
    Reject { text: String },
    /// A named decision of an approval; at a gate [`COMPLETE_DECISION`] or [`CONTINUE_DECISION`].
    Decide { decision: String, text: String },
}

/// The decision that approves.
pub const APPROVE_DECISION: &str = "approve";
/// The decision that rejects.
pub const REJECT_DECISION: &str = "reject";
/// The decision that completes a loop at its gate.
pub const COMPLETE_DECISION: &str = "complete";
/// The decision that continues a loop at its gate. The text is `$LOOP_USER_INPUT` of the next iteration.
pub const CONTINUE_DECISION: &str = "continue";
