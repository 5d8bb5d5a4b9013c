//! A workflow run as text: its nodes by layer with their states, and the nodes that wait.
use std::fmt::Write;

use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::WorkflowNodeRow;
use ralph_util::sanitize::sanitize_text;

use crate::error::AppResult;
use crate::view::{format_age, format_cost, short_id};
use crate::workflow_runs::{FoundWorkflowRun, WorkflowRunView, find_workflow_run};
use crate::workflows::graph::{GraphRow, list_rows};

use super::critical_path::{CriticalPath, TimedNode};

/// Returns the graph of a workflow run with the state of each node.
pub async fn load_workflow_text(project: &Project, id: &str) -> AppResult<String> {
    let FoundWorkflowRun { store, run } = find_workflow_run(project, Some(id)).await?;
    let view = WorkflowRunView::load(project, &store, run).await?;
    store.close().await;
    Ok(sanitize_text(&graph_text(&view, Clock::wall_now())))
}

fn graph_text(view: &WorkflowRunView, now: UnixMillis) -> String {
    let run = &view.run;
    let reason = run.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let mut text = format!("workflow {} · run {} · {}{reason}\n", run.workflow, short_id(&run.id), run.status);
    if let Some(cost) = view.cost_micros {
        let _ = writeln!(text, "spent {}", format_cost(Some(cost)));
    }
    for open in &view.open_questions {
        let _ = writeln!(text, "waiting: node {} asks: {}", open.node, open.text);
    }
    let rows = view.spec.as_ref().map(|spec| list_rows(&spec.workflow)).unwrap_or_default();
    let width = rows.iter().map(|row| row.id.chars().count() + 2 * row.depth).max().unwrap_or(0).min(40);
    let critical = critical_path(&rows, &view.nodes, now);
    if let Some(path) = &critical {
        let _ = writeln!(text, "critical path: {}", path.describe());
    }
    let mut layer = 0;
    for row in &rows {
        if row.depth == 0 && row.level != layer {
            layer = row.level;
            let _ = writeln!(text, "\nlayer {layer}");
        }
        let asks = view.open_questions.iter().any(|open| open.node == row.id);
        let is_critical = row.depth == 0 && critical.as_ref().is_some_and(|path| path.contains(&row.id));
        text.push_str(&node_line(row, &view.nodes, asks, NodeColumns { width, now, is_critical }));
    }
    text
}

#[derive(Clone, Copy)]
struct NodeColumns {
    width: usize,
    now: UnixMillis,
    is_critical: bool,
}

fn node_line(row: &GraphRow, nodes: &[WorkflowNodeRow], asks: bool, columns: NodeColumns) -> String {
    let NodeColumns { width, now, is_critical } = columns;
    let state = nodes.iter().rfind(|node| node.node == row.id && node.item.is_none());
    let status = match state {
        _ if asks => "waits for you",
        Some(node) => node.status.as_str(),
        None => "pending",
    };
    let mark = match status {
        "completed" => "✓",
        "failed" | "cancelled" | "interrupted" => "✗",
        "running" => "▶",
        "skipped" => "-",
        "pending" => "·",
        _ => "?",
    };
    let took = state.and_then(|node| duration_of(node, now)).map(|took| format!(" {}", format_age(took)));
    let critical = if is_critical { "*" } else { " " };
    let name = format!("{}{}", "  ".repeat(row.depth), row.id);
    let needs = if row.depends_on.is_empty() { String::new() } else { format!("  <- {}", row.depends_on.join(", ")) };
    format!(" {critical}{mark} {name:width$}  {}  {status}{}{needs}\n", row.kind, took.unwrap_or_default())
}

/// Returns for how long a node has been working, or had worked; `None` before it starts.
fn duration_of(node: &WorkflowNodeRow, now: UnixMillis) -> Option<u64> {
    let until = node.ended_at.map_or(now, UnixMillis);
    Some(until.elapsed_since(UnixMillis(node.started_at?)))
}

fn critical_path(rows: &[GraphRow], nodes: &[WorkflowNodeRow], now: UnixMillis) -> Option<CriticalPath> {
    let timed = |row: &GraphRow| {
        let newest = nodes.iter().rfind(|node| node.node == row.id && node.item.is_none());
        let millis = newest.and_then(|node| duration_of(node, now)).unwrap_or(0);
        TimedNode { id: row.id.clone(), depends_on: row.depends_on.clone(), millis }
    };
    let nodes: Vec<TimedNode> = rows.iter().filter(|row| row.depth == 0).map(timed).collect();
    CriticalPath::find(&nodes)
}
