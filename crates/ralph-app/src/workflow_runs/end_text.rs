//! How the end of a workflow run is reported: status, reason and exit code.
use ralph_core::outcome::{Outcome, exit_code};
use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{GraphEnd, GraphFailure};
use ralph_core::workflow::{NodeId, NodeKind, Workflow, WorkflowForm};

use super::driver::WorkflowEnd;

/// Describes how a run ended. `interrupted_code` is the exit code after a signal.
pub(super) fn describe_end(workflow: &Workflow, end: &GraphEnd, interrupted_code: u8) -> WorkflowEnd {
    let (mut output, mut node_proof) = (None, None);
    let reason = match end {
        GraphEnd::Completed { output: text, proof: level } => {
            output = Some(text.text().to_owned());
            node_proof = *level;
            describe_proof(*level)
        }
        GraphEnd::Failed(failure) => describe_failure(workflow, failure),
        GraphEnd::Cancelled { reason, .. } | GraphEnd::OverBudget { reason } | GraphEnd::Interrupted { reason } => {
            reason.clone()
        }
    };
    let exit_code = match end.outcome() {
        Outcome::Completed => exit_code::COMPLETED,
        Outcome::Cancelled => exit_code::CANCELLED,
        Outcome::OverBudget => exit_code::OVER_BUDGET,
        Outcome::Interrupted => interrupted_code,
        Outcome::Exhausted | Outcome::Failed | Outcome::Stalled | Outcome::Blocked => exit_code::NOT_COMPLETE,
    };
    WorkflowEnd {
        status: end.outcome().as_str(),
        reason,
        exit_code,
        output,
        proof: end.proof_level(),
        node_proof,
        questions: Vec::new(),
    }
}

fn describe_failure(workflow: &Workflow, failure: &GraphFailure) -> String {
    match failure {
        GraphFailure::Nodes(nodes) => {
            let texts = nodes.iter().map(|failed| describe_failed_node(workflow, &failed.node, &failed.reason));
            texts.collect::<Vec<_>>().join("; ")
        }
        GraphFailure::NoResult { node } => {
            format!("node {node}, whose output is the result, did not complete")
        }
        GraphFailure::NegativeVerdict { field } => format!("`{field}` of the result is not true"),
    }
}

/// A workflow that is nothing but a loop has the error of its loop.
fn describe_failed_node(workflow: &Workflow, node: &NodeId, reason: &str) -> String {
    let is_only_loop = workflow.form == WorkflowForm::Loop
        && workflow.nodes.iter().any(|found| found.id == *node && matches!(found.kind, NodeKind::Loop(_)));
    if is_only_loop { reason.to_owned() } else { format!("node {node} failed: {reason}") }
}

fn describe_proof(proof: Option<ProofLevel>) -> String {
    match proof {
        Some(ProofLevel::Proven) => "all nodes have ended; the work is proven".to_owned(),
        Some(ProofLevel::Checked) => "all nodes have ended; checks have accepted the work".to_owned(),
        Some(ProofLevel::Unverified) => "all nodes have ended; only the word of an agent supports the work".to_owned(),
        None => "all nodes have ended; nothing was verified".to_owned(),
    }
}
