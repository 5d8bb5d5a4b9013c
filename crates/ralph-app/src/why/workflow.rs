//! Explains workflow runs.
use ralph_core::explanation::{WorkflowEndFacts, WorkflowNodeFacts, explain_workflow};
use ralph_core::workflow::graph::NodeRow;
use ralph_engine::project::Project;
use ralph_store::WorkflowNodeRow;

use super::{ExplainedSubject, ExplanationView};
use crate::error::AppResult;
use crate::workflow_runs::{FoundWorkflowRun, WorkflowRunView, find_workflow_run, note_of};

pub(super) async fn explain_workflow_run(project: &Project, id: Option<&str>) -> AppResult<ExplanationView> {
    let FoundWorkflowRun { store, run } = find_workflow_run(project, id).await?;
    let view = WorkflowRunView::load(project, &store, run).await?;
    store.close().await;
    let nodes: Vec<WorkflowNodeFacts> = newest_nodes(&view.nodes).map(|node| node_facts(&view, node)).collect();
    let facts = WorkflowEndFacts { status: &view.run.status, reason: view.run.reason.as_deref(), nodes: &nodes };
    let explained = explain_workflow(&facts);
    let subject = ExplainedSubject::Workflow { id: view.run.id.clone(), workflow: view.run.workflow.clone() };
    Ok(ExplanationView { subject, explained, run: None })
}

/// Returns each node in its newest iteration.
fn newest_nodes(nodes: &[WorkflowNodeRow]) -> impl Iterator<Item = &WorkflowNodeRow> {
    let is_newest = |node: &&WorkflowNodeRow| {
        let is_later = |other: &WorkflowNodeRow| other.node == node.node && other.generation > node.generation;
        node.item.is_none() && !nodes.iter().any(is_later)
    };
    nodes.iter().filter(is_newest)
}

fn node_facts(view: &WorkflowRunView, node: &WorkflowNodeRow) -> WorkflowNodeFacts {
    let stored: Option<NodeRow> = serde_json::from_str(&node.state).ok();
    let note = stored.and_then(|row| note_of(&row.state));
    let question = || view.open_questions.iter().find(|open| open.node == node.node).map(|open| open.text.clone());
    WorkflowNodeFacts { node: node.node.clone(), status: node.status.clone(), note: note.or_else(question) }
}
