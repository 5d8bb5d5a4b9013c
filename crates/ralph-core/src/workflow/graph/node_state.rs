//! The state of a node. It is what the store keeps; counters are derived from it.
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::activity::{Activity, NodeFailure};
use super::output::{FanOutItems, SharedOutput};
use super::person::{LoopGate, PersonQuestion};
use crate::prompt::RejectionFeedback;
use crate::receipt::ProofLevel;
use crate::workflow::{NodeId, TriggerRule};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum NodeState {
    /// A dependency is not settled.
    Pending,
    /// May start, and waits for a slot.
    Queued {
        work: Activity,
    },
    Running {
        work: Activity,
    },
    /// The child run waits for a person.
    Parked {
        work: Activity,
    },
    /// Was running when the run was stopped.
    Interrupted {
        work: Activity,
    },
    /// Failed, and is retried after a delay.
    AwaitingRetry {
        work: Activity,
        delay_ms: u64,
        failure: NodeFailure,
    },
    /// A person is asked.
    Asking {
        question: PersonQuestion,
    },
    /// The items of a fan-out run. Their states are in separate rows.
    FanningOut {
        items: FanOutItems,
    },
    /// A loop group.
    Repeating(GroupProgress),
    Settled {
        outcome: NodeOutcome,
    },
}

/// How a node ended. Final, but for nodes of a loop group, which are pending again in the next iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOutcome {
    Completed {
        output: SharedOutput,
        /// For nodes that can be proven, see [`super::NodeSuccess`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<ProofLevel>,
    },
    Failed(NodeFailure),
    Skipped(SkipReason),
}

/// Why a node did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Its `when` is false.
    ConditionFalse { condition: String },
    /// The trigger rule does not hold. `because` is the first dependency that did not complete, in the order of the file.
    TriggerRule { rule: TriggerRule, because: NodeId },
}

/// The progress of a loop group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupProgress {
    /// From 1.
    pub iteration: u32,
    /// Counts the iterations of the group in the whole run: those of an earlier iteration of a surrounding group too.
    pub generation: u32,
    /// `$LOOP_USER_INPUT` of this iteration; empty without a gate before it.
    pub user_input: String,
    /// The output of the previous iteration, empty in the first one.
    pub previous_output: SharedOutput,
    /// Consecutive iterations before this one whose check could not be evaluated.
    pub unevaluated: u32,
    /// Why the completion that the previous iteration claimed was not accepted. Once the nodes of this iteration have
    /// ended: the same about this iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<RejectionFeedback>,
    pub stage: GroupStage,
}

/// The state of a loop group in its iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupStage {
    /// Its nodes run.
    Working,
    /// All nodes are settled, and `until_bash` runs.
    RunningUntilBash { output: SharedOutput },
    /// A completion is claimed, and the checks run.
    Verifying { output: SharedOutput },
    /// A person is asked.
    AtGate(LoopGate),
}

/// The state of an item of a fan-out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ItemState {
    Waiting,
    Running,
    /// The child run waits for a person.
    Parked,
    /// Was running when the run was stopped.
    Interrupted,
    Completed {
        output: SharedOutput,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<ProofLevel>,
    },
    Failed {
        failure: NodeFailure,
    },
}
