//! Renders workflow runs as JSON.
use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{NodeOutcome, NodeRow, NodeState};
use ralph_store::{WorkflowNodeRow, WorkflowRunRow};
use serde_json::{Value, json};

use crate::workflow_runs::{OpenQuestionView, StoredLoopReceipt, WorkflowRunView, workflow_proof};

/// Returns the object of a workflow run in lists.
#[must_use]
pub fn workflow_run_json(run: &WorkflowRunRow) -> Value {
    json!({
        "id": run.id,
        "status": run.status,
        "kind": "workflow",
        "workflow": run.workflow,
        "prompt": run.message,
        "reason": run.reason,
        "exit_code": run.exit_code,
        "proof": workflow_proof(run),
        "current_step_index": run.step_index,
        "metadata": serde_json::from_str::<Value>(&run.metadata).unwrap_or_default(),
        "rerun_of": run.rerun_of,
        "parent": run.parent,
        "parent_node": run.parent_node,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    })
}

/// Returns the object of a workflow run with its nodes. `reruns` are the ids of the runs that reuse its nodes.
#[must_use]
pub fn workflow_view_json(view: &WorkflowRunView, reruns: &[&str]) -> Value {
    let mut object = workflow_run_json(&view.run);
    let nodes: Vec<Value> =
        view.nodes.iter().filter(|node| node.item.is_none()).map(|node| node_json(view, node)).collect();
    let questions: Vec<Value> = view.open_questions.iter().map(question_json).collect();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("nodes".to_owned(), nodes.into());
        fields.insert("questions".to_owned(), questions.into());
        fields.insert("children".to_owned(), view.children.iter().map(workflow_run_json).collect::<Vec<_>>().into());
        fields.insert("cost_micros".to_owned(), json!(view.cost_micros));
        fields.insert("proof".to_owned(), json!(view.proof));
        fields.insert("reruns".to_owned(), json!(reruns));
        fields.insert("message".to_owned(), json!(view.run.message));
        fields.insert("file_sha256".to_owned(), json!(view.spec.as_ref().map(|spec| &spec.file_sha256)));
        fields.insert("base_commit".to_owned(), json!(view.spec.as_ref().map(|spec| &spec.base_commit)));
    }
    object
}

fn question_json(open: &OpenQuestionView) -> Value {
    let seen = open.shown_text().digest;
    json!({ "run": open.run, "node": open.node, "text": open.text, "decisions": open.decisions, "seen": seen })
}

fn node_json(view: &WorkflowRunView, node: &WorkflowNodeRow) -> Value {
    let runs: Vec<&str> =
        view.passes.iter().filter(|(of, _)| *of == node.node).map(|(_, run)| run.id.as_str()).collect();
    json!({
        "node": node.node,
        "iteration": node.generation,
        "status": node.status,
        "output": workflow_node_output(node),
        "proof": proof_of(node),
        "receipt": view.receipts.iter().rev().find(|stored| stored.node == node.node).map(receipt_json),
        "runs": runs,
        "started_at": node.started_at,
        "ended_at": node.ended_at,
    })
}

fn receipt_json(stored: &StoredLoopReceipt) -> Value {
    let mut receipt = serde_json::to_value(&stored.receipt).unwrap_or_default();
    if let Some(fields) = receipt.as_object_mut() {
        fields.insert("sha256".to_owned(), json!(stored.sha256));
    }
    receipt
}

/// Returns the output of a node that has completed.
#[must_use]
pub fn workflow_node_output(node: &WorkflowNodeRow) -> Option<String> {
    let row: NodeRow = serde_json::from_str(&node.state).ok()?;
    match &row.state {
        NodeState::Settled { outcome } if node.status == "completed" => {
            outcome.output().read(None).ok().map(std::borrow::Cow::into_owned)
        }
        _ => None,
    }
}

/// Returns how well the completion of a loop or of checks is proven.
fn proof_of(node: &WorkflowNodeRow) -> Option<ProofLevel> {
    let row: NodeRow = serde_json::from_str(&node.state).ok()?;
    match row.state {
        NodeState::Settled { outcome: NodeOutcome::Completed { proof, .. } } => proof,
        _ => None,
    }
}
