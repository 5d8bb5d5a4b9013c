//! The journal of a workflow run, which `--json` and the log print.
use std::collections::BTreeMap;

use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{GraphFact, NodeOutcome, NodeState, SkipReason};
use serde::{Deserialize, Serialize};

use super::loop_receipt::LoopReceipt;

/// The agent of a node, resolved when the run started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAgent {
    pub agent: String,
    /// `None`: the default of the agent.
    pub model: Option<String>,
}

/// One event of a workflow run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum WorkflowFact {
    #[serde(rename = "workflow.started")]
    Started {
        workflow: String,
        message: String,
        file_sha256: String,
        base_commit: Option<String>,
        /// The agents of the nodes, by their ids.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        agents: BTreeMap<String, NodeAgent>,
    },
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
    /// The node, or an item of its fan-out, has started another workflow.
    #[serde(rename = "child.started")]
    ChildStarted {
        node: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<u32>,
        child: String,
        workflow: String,
    },
    #[serde(rename = "question.asked")]
    QuestionAsked { node: String, question: String, text: String, decisions: Vec<String> },
    #[serde(rename = "question.answered")]
    QuestionAnswered { node: String, question: String, decision: String, text: String, person: String },
    /// A judge was asked that belongs to no run of an agent.
    #[serde(rename = "judged")]
    Judged { activity: String, cost_micros: u64 },
    /// A loop was completed, and its run has no receipt.
    #[serde(rename = "receipt")]
    Receipt { node: String, receipt: Box<LoopReceipt>, sha256: String },
    #[serde(rename = "message")]
    Message { text: String },
    #[serde(rename = "workflow.waiting")]
    Waiting,
    #[serde(rename = "workflow.finished")]
    Finished {
        status: String,
        reason: String,
        exit_code: u8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// How well the work is proven, if the run has completed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<ProofLevel>,
    },
}

impl WorkflowFact {
    /// Returns the event with this text before the name of its node.
    #[must_use]
    pub fn with_node_prefix(mut self, prefix: &str) -> Self {
        match &mut self {
            Self::NodeStarted { node, .. }
            | Self::NodeCompleted { node, .. }
            | Self::NodeFailed { node, .. }
            | Self::NodeSkipped { node, .. }
            | Self::NodeRetry { node, .. }
            | Self::ChildStarted { node, .. }
            | Self::QuestionAsked { node, .. }
            | Self::QuestionAnswered { node, .. }
            | Self::Receipt { node, .. }
            | Self::Judged { activity: node, .. } => *node = format!("{prefix}{node}"),
            Self::Message { text } => *text = format!("{prefix}{text}"),
            Self::Started { .. } | Self::Resumed | Self::Waiting | Self::Finished { .. } => {}
        }
        self
    }

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

/// Returns why a node did not run.
pub(crate) fn describe_skip(reason: &SkipReason) -> String {
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
