//! The nodes of a workflow run as a person reads them: state, time, cost, iterations, and why a node was skipped.
use std::collections::BTreeMap;

use ralph_core::workflow::graph::{NodeOutcome, NodeRow, NodeState, SkipReason};
use ralph_core::workflow::{Node, NodeKind, ValueReference};
use ralph_store::{RunRow, WorkflowNodeRow};

use super::fact::describe_skip;
use super::lookup::WorkflowRunView;

/// A node in its newest iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeReport {
    /// The ids of the groups around the node and its own, joined by `/`.
    pub key: String,
    /// The word for its state; `pending` before it starts.
    pub status: String,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    /// The iteration of a loop or a loop group.
    pub iteration: Option<i64>,
    pub max_iterations: Option<i64>,
    /// The cost of its agents in all iterations, in millionths of a dollar.
    pub cost_micros: Option<i64>,
    /// The runs of its agents, oldest first.
    pub runs: Vec<String>,
    /// Why it failed, was skipped, or is retried.
    pub note: Option<String>,
    /// The values that its condition compared, if it was skipped because of it.
    pub condition_values: Vec<ConditionValue>,
    pub output: Option<String>,
    /// The status of each iteration of its loop group before this one and of this one, oldest first.
    pub history: Vec<String>,
}

/// A value that a condition compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionValue {
    /// `$ID.output.field`.
    pub reference: String,
    /// `None`: the node has no such output.
    pub value: Option<String>,
}

/// Reports every node of the workflow, in the order of the file, loop groups before their nodes.
#[must_use]
pub fn report_nodes(view: &WorkflowRunView) -> Vec<NodeReport> {
    let Some(spec) = &view.spec else { return Vec::new() };
    let mut reports = Vec::new();
    add_reports(view, &spec.workflow.nodes, "", &mut reports);
    reports
}

fn add_reports(view: &WorkflowRunView, nodes: &[Node], group: &str, reports: &mut Vec<NodeReport>) {
    for node in nodes {
        let key = if group.is_empty() { node.id.to_string() } else { format!("{group}/{}", node.id) };
        reports.push(report_node(view, node, &key));
        if let NodeKind::LoopGroup(inner) = &node.kind {
            add_reports(view, &inner.nodes, &key, reports);
        }
    }
}

fn report_node(view: &WorkflowRunView, node: &Node, key: &str) -> NodeReport {
    let mut rows: Vec<&WorkflowNodeRow> =
        view.nodes.iter().filter(|row| row.node == key && row.item.is_none()).collect();
    rows.sort_by_key(|row| row.generation);
    let newest = rows.last().copied();
    let state = newest.and_then(|row| serde_json::from_str::<NodeRow>(&row.state).ok()).map(|row| row.state);
    let runs: Vec<&RunRow> = view.passes.iter().filter(|(of, _)| of == key).map(|(_, run)| run).collect();
    let costs: Vec<i64> = runs.iter().filter_map(|run| run.cost_micros).collect();
    let (iteration, max_iterations) = iterations_of(node, state.as_ref(), &runs);
    let iteration = iteration.or_else(|| repetitions_of_group(view, key).filter(|_| max_iterations.is_some()));
    let skipped =
        matches!(state, Some(NodeState::Settled { outcome: NodeOutcome::Skipped(SkipReason::ConditionFalse { .. }) }));
    NodeReport {
        key: key.to_owned(),
        status: newest.map_or_else(|| "pending".to_owned(), |row| row.status.clone()),
        started_at: newest.and_then(|row| row.started_at),
        ended_at: newest.and_then(|row| row.ended_at),
        iteration,
        max_iterations,
        cost_micros: (!costs.is_empty()).then(|| costs.iter().sum()),
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        note: state.as_ref().and_then(note_of),
        condition_values: if skipped { condition_values(view, node, key) } else { Vec::new() },
        output: state.as_ref().and_then(output_text),
        history: rows.iter().map(|row| row.status.clone()).collect(),
    }
}

/// Returns the iteration and the limit of a loop or a loop group.
fn iterations_of(node: &Node, state: Option<&NodeState>, runs: &[&RunRow]) -> (Option<i64>, Option<i64>) {
    match &node.kind {
        NodeKind::Loop(looping) => {
            let present = runs.last().map(|run| run.iterations);
            (present, Some(i64::from(looping.control.max_iterations)))
        }
        NodeKind::LoopGroup(group) => {
            let present = match state {
                Some(NodeState::Repeating(progress)) => Some(i64::from(progress.iteration)),
                Some(_) | None => None,
            };
            (present, Some(i64::from(group.control.max_iterations)))
        }
        NodeKind::Agent(_)
        | NodeKind::Bash(_)
        | NodeKind::Script(_)
        | NodeKind::Approval(_)
        | NodeKind::Cancel { .. }
        | NodeKind::Workflow(_)
        | NodeKind::Checks(_) => (None, None),
    }
}

/// Returns how often the nodes of a loop group have run. A group that has ended does not have its own number.
fn repetitions_of_group(view: &WorkflowRunView, group: &str) -> Option<i64> {
    let inside = view.nodes.iter().filter(|row| row.item.is_none() && is_inside(&row.node, group));
    let most = inside.fold(BTreeMap::<&str, i64>::new(), |mut counts, row| {
        *counts.entry(&row.node).or_default() += 1;
        counts
    });
    most.into_values().max()
}

fn is_inside(key: &str, group: &str) -> bool {
    key.rsplit_once('/').is_some_and(|(around, _)| around == group)
}

/// Returns why a node failed, was skipped, or is repeated.
pub(crate) fn note_of(state: &NodeState) -> Option<String> {
    if let NodeState::AwaitingRetry { failure, .. } = state {
        return Some(failure.reason.clone());
    }
    match state.outcome()? {
        NodeOutcome::Failed(failure) => Some(failure.reason.clone()),
        NodeOutcome::Skipped(reason) => Some(describe_skip(reason)),
        NodeOutcome::Completed { .. } => None,
    }
}

fn output_text(state: &NodeState) -> Option<String> {
    state.outcome()?.output().read(None).ok().map(std::borrow::Cow::into_owned)
}

/// Returns the values that the condition of a node compared, each once.
fn condition_values(view: &WorkflowRunView, node: &Node, key: &str) -> Vec<ConditionValue> {
    let group = key.rsplit_once('/').map_or("", |(group, _)| group);
    let mut values: Vec<ConditionValue> = Vec::new();
    for comparison in node.when.iter().flat_map(|condition| condition.any_of.iter().flatten()) {
        let reference = comparison.left.to_string();
        if values.iter().all(|known| known.reference != reference) {
            let value = value_of(view, &comparison.left, group);
            values.push(ConditionValue { reference, value });
        }
    }
    values
}

fn value_of(view: &WorkflowRunView, reference: &ValueReference, group: &str) -> Option<String> {
    match reference {
        ValueReference::Input { name } => view.spec.as_ref()?.inputs.get(name).cloned(),
        ValueReference::Output { node, field } => {
            // A node of a group can read the nodes around the group, too.
            let scopes = std::iter::successors(Some(group), |group| {
                (!group.is_empty()).then(|| group.rsplit_once('/').map_or("", |(outer, _)| outer))
            });
            let key = |scope: &str| if scope.is_empty() { node.to_string() } else { format!("{scope}/{node}") };
            let row = scopes.map(key).find_map(|key| newest_row(view, &key))?;
            let NodeState::Settled { outcome } = row.state else { return None };
            outcome.output().read(field.as_deref()).ok().map(std::borrow::Cow::into_owned)
        }
        ValueReference::PreviousOutput { .. } => None,
    }
}

fn newest_row(view: &WorkflowRunView, key: &str) -> Option<NodeRow> {
    let rows = view.nodes.iter().filter(|row| row.node == key && row.item.is_none());
    serde_json::from_str(&rows.max_by_key(|row| row.generation)?.state).ok()
}
