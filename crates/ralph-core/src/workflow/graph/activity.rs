//! The work that the executor does for a node, and how it ended.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compiled::NodeIndex;
use super::output::SharedOutput;
use super::person::LoopGate;
use crate::outcome::Outcome;
use crate::prompt::RejectionFeedback;
use crate::receipt::ProofLevel;

/// One start of an activity, or one question to a person. Events name it, so that late ones are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActivityId {
    pub node: NodeIndex,
    /// The position of the item, for an item of a fan-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Counts the starts and questions of the node or item in the whole run, from 1. Restored runs continue to count.
    pub start: u32,
}

/// Work of the executor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    pub action: ActivityAction,
    /// 1, plus one for every retry.
    pub attempt: u32,
    /// Whether it was running when an earlier process ended. A loop or a child run is then continued; other work starts
    /// again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_recovery: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Activity {
    pub(super) fn first(action: ActivityAction) -> Self {
        Self { action, attempt: 1, is_recovery: false }
    }

    pub(super) fn retry(&self) -> Self {
        Self { action: self.action.clone(), attempt: self.attempt.saturating_add(1), is_recovery: false }
    }

    pub(super) fn recover(self) -> Self {
        Self { is_recovery: true, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityAction {
    /// The action of an `agent`, `bash`, `script`, `checks` or `loop` node, or the child run of a `workflow` node.
    Run,
    /// Resolves the list of a fan-out. It ends with [`ActivityResult::ItemsFound`].
    FindItems,
    /// The child run of an item of a fan-out.
    RunItem { value: Value },
    /// The iterations of an interactive loop after a gate. `input` is `$LOOP_USER_INPUT` of the next one.
    ContinueLoop { iterations: u32, input: String },
    /// An agent reworks what a person rejected. It ends with [`ActivityResult::Completed`], whose output is ignored, and
    /// the person is asked again.
    Rework { reason: String, round: u32 },
    /// Runs `until_bash` after an iteration of a loop group. It ends with [`ActivityResult::Judged`].
    RunUntilBash { iteration: u32, output: SharedOutput },
    /// Verifies the `checks` of a loop group after an iteration. It ends with [`ActivityResult::Judged`].
    VerifyGroup { iteration: u32, output: SharedOutput },
}

/// How an activity ended, or interrupted itself.
#[derive(Debug, Clone, PartialEq)]
pub enum ActivityResult {
    Completed(NodeSuccess),
    Failed(NodeFailure),
    /// The result of [`ActivityAction::FindItems`].
    ItemsFound(Vec<Value>),
    /// The result of [`ActivityAction::RunUntilBash`] and [`ActivityAction::VerifyGroup`].
    Judged(IterationVerdict),
    /// An interactive loop node has ended an iteration, and asks the person. The agent no longer runs. An answer starts
    /// [`ActivityAction::ContinueLoop`], or completes the node.
    ReachedGate(LoopGate),
    /// The executor stopped it because of [`super::GraphEffect::Stop`], or could not begin because the process ends.
    Stopped,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NodeSuccess {
    /// Already checked against the schema of the node.
    pub output: SharedOutput,
    /// For `loop` and `checks` nodes, and for child runs that have any: how well the completion is proven.
    pub proof: Option<ProofLevel>,
}

/// Why an activity failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFailure {
    pub reason: String,
    pub kind: FailureKind,
    /// How a child run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_outcome: Option<Outcome>,
}

/// Whether a retry of a failure can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// It may pass by itself.
    Transient,
    Permanent,
    /// A check could not be evaluated.
    CouldNotEvaluate,
    /// The node did not start, because its `when` has no value.
    Condition,
}

/// The verdict about an iteration of a loop group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IterationVerdict {
    Accepted {
        proof: ProofLevel,
    },
    Rejected {
        /// The message to the next iteration; `None` if no completion was claimed.
        feedback: Option<RejectionFeedback>,
    },
    /// With the command and the error.
    CouldNotEvaluate {
        reason: String,
    },
}
