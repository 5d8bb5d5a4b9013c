//! The journal of a workflow run, which `--json` and the log print.
use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{GraphFact, NodeOutcome, NodeState, SkipReason};
use serde::{Deserialize, Serialize};

/// One event of a workflow run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum WorkflowFact {
    #[serde(rename = "workflow.started")]
    Started { workflow: String, message: String, file_sha256: String, base_commit: Option<String> },
    #[serde(rename = "workflow.resumed")]
    Resumed,
    #[serde(rename = "node.started")]
    NodeStarted { node: String, attempt: u32 },
    #[serde(rename = "node.completed")]
    NodeCompleted {
        node: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<String>,
    },
    #[serde(rename = "node.failed")]
    NodeFailed { node: String, reason: String },
    #[serde(rename = "node.skipped")]
    NodeSkipped { node: String, reason: String },
    #[serde(rename = "node.retry")]
    NodeRetry { node: String, delay_ms: u64, reason: String },
    #[serde(rename = "question.asked")]
    QuestionAsked { node: String, question: String, text: String, decisions: Vec<String> },
    #[serde(rename = "question.answered")]
    QuestionAnswered { node: String, question: String, decision: String, text: String, person: String },
    /// A judge was asked that belongs to no run of an agent.
    #[serde(rename = "judged")]
    Judged { activity: String, cost_micros: u64 },
    #[serde(rename = "message")]
    Message { text: String },
    #[serde(rename = "workflow.waiting")]
    Waiting,
    #[serde(rename = "workflow.finished")]
    Finished {
        status: String,
        reason: String,
        exit_code: u8,
        /// How well the work is proven, if the run has completed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<ProofLevel>,
    },
}

impl WorkflowFact {
    /// Returns the event that a stored fact of the graph is, if it is one.
    #[must_use]
    pub fn from_graph_fact(fact: &GraphFact) -> Option<Self> {
        let GraphFact::Node(row) = fact else { return None };
        let node = row.key.clone();
        match &row.state {
            NodeState::Running { work } => Some(Self::NodeStarted { node, attempt: work.attempt }),
            NodeState::AwaitingRetry { delay_ms, failure, .. } => {
                Some(Self::NodeRetry { node, delay_ms: *delay_ms, reason: failure.reason.clone() })
            }
            NodeState::Settled { outcome } => Some(match outcome {
                NodeOutcome::Completed { proof, .. } => {
                    Self::NodeCompleted { node, proof: proof.map(|proof| proof.as_str().to_owned()) }
                }
                NodeOutcome::Failed(failure) => Self::NodeFailed { node, reason: failure.reason.clone() },
                NodeOutcome::Skipped(reason) => Self::NodeSkipped { node, reason: describe_skip(reason) },
            }),
            NodeState::Pending
            | NodeState::Queued { .. }
            | NodeState::Parked { .. }
            | NodeState::Interrupted { .. }
            | NodeState::Asking { .. }
            | NodeState::FanningOut { .. }
            | NodeState::Repeating(_) => None,
        }
    }
}

fn describe_skip(reason: &SkipReason) -> String {
    match reason {
        SkipReason::ConditionFalse { condition } => format!("its condition is false: {condition}"),
        SkipReason::TriggerRule { .. } => "its dependencies did not end as its trigger rule needs".to_owned(),
    }
}

/// Returns the word for the state of a node, as it is stored and shown.
#[must_use]
pub fn node_status(state: &NodeState) -> &'static str {
    match state {
        NodeState::Pending => "pending",
        NodeState::Queued { .. } => "queued",
        NodeState::Running { .. } | NodeState::FanningOut { .. } | NodeState::Repeating(_) => "running",
        NodeState::Parked { .. } | NodeState::Asking { .. } => "waiting",
        NodeState::AwaitingRetry { .. } => "retrying",
        NodeState::Interrupted { .. } => "interrupted",
        NodeState::Settled { outcome } => match outcome {
            NodeOutcome::Completed { .. } => "completed",
            NodeOutcome::Failed(_) => "failed",
            NodeOutcome::Skipped(_) => "skipped",
        },
    }
}
