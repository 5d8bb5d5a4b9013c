//! How a run of a graph ends.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::output::SharedOutput;
use crate::outcome::Outcome;
use crate::receipt::ProofLevel;
use crate::workflow::NodeId;

/// The phase of the run.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphPhase {
    /// Not started in this process.
    NotStarted,
    /// Something is running, or a retry is scheduled.
    Running,
    /// Every activity waits for a person.
    Waiting,
    /// Running activities are being stopped, then the run ends.
    Stopping(GraphEnd),
    Ended(GraphEnd),
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphEnd {
    Completed {
        /// Of the node that `returns` names, else of the first sink that completed, in the order of the file.
        output: SharedOutput,
        /// The lowest level of the loops and checks that completed. `None` without any: nothing is verified.
        proof: Option<ProofLevel>,
    },
    Failed(GraphFailure),
    Cancelled {
        cause: GraphCancelCause,
        reason: String,
    },
    OverBudget {
        reason: String,
    },
    /// The process was stopped. The run can be resumed.
    Interrupted {
        reason: String,
    },
}

impl GraphEnd {
    /// Returns the proof level that is shown for the run, if it has completed.
    #[must_use]
    pub fn proof_level(&self) -> Option<ProofLevel> {
        match self {
            Self::Completed { proof, .. } => Some(proof.unwrap_or(ProofLevel::Unverified)),
            Self::Failed(_) | Self::Cancelled { .. } | Self::OverBudget { .. } | Self::Interrupted { .. } => None,
        }
    }

    /// Returns the outcome of the run.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Completed { .. } => Outcome::Completed,
            Self::Failed(_) => Outcome::Failed,
            Self::Cancelled { .. } => Outcome::Cancelled,
            Self::OverBudget { .. } => Outcome::OverBudget,
            Self::Interrupted { .. } => Outcome::Interrupted,
        }
    }
}

/// Why a run or an iteration of a loop group has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphFailure {
    /// These nodes failed, in the order of the file, and no dependant ran in spite of it.
    Nodes(Vec<FailedNode>),
    /// The node that `returns` names did not complete.
    NoResult { node: NodeId },
    /// The `outcome_field` of the result is not true.
    NegativeVerdict { field: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedNode {
    pub node: NodeId,
    pub reason: String,
}

/// The cause of a cancellation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphCancelCause {
    /// A `cancel` node. The reason is the text of the file, before its variables are replaced.
    Node(NodeId),
    /// A person rejected an approval or a gate of this node.
    Rejection(NodeId),
    /// `ralph cancel`.
    Person,
}
