//! The graph of a workflow as SVG, with the state of a run if there is one.
use ralph_app::view::format_elapsed;
use ralph_app::workflow_runs::{CriticalPath, NodeReport};
use ralph_app::workflows::graph::{DrawnEdge, DrawnNode, GraphDrawing};
use ralph_core::workflow::Workflow;

use crate::pages::display::{DisplayText, StatusMark, short_cost};

/// A node with its state.
pub(in crate::pages) struct GraphNode {
    pub(in crate::pages) key: DisplayText,
    pub(in crate::pages) label: DisplayText,
    pub(in crate::pages) glyph: &'static str,
    pub(in crate::pages) class: &'static str,
    pub(in crate::pages) detail: DisplayText,
    pub(in crate::pages) title: DisplayText,
    pub(in crate::pages) is_group: bool,
    pub(in crate::pages) is_critical: bool,
    pub(in crate::pages) x: usize,
    pub(in crate::pages) y: usize,
    pub(in crate::pages) width: usize,
    pub(in crate::pages) height: usize,
}

/// The graph.
pub(in crate::pages) struct GraphView {
    pub(in crate::pages) width: usize,
    pub(in crate::pages) height: usize,
    pub(in crate::pages) nodes: Vec<GraphNode>,
    pub(in crate::pages) edges: Vec<DrawnEdge>,
    path: CriticalPath,
    /// The nodes that decided how long the run took; empty before the second of them has started.
    pub(in crate::pages) critical_path: DisplayText,
}

impl GraphView {
    pub(in crate::pages) fn new(workflow: &Workflow, reports: &[NodeReport], now: i64) -> Self {
        let GraphDrawing { width, height, nodes, edges } = GraphDrawing::new(workflow);
        let report = |key: &str| reports.iter().find(|report| report.key == key);
        let found = CriticalPath::find(workflow, reports);
        // A single node is not a path.
        let path = if found.nodes.len() > 1 { found } else { CriticalPath::default() };
        let node = |node: &DrawnNode| {
            let is_critical = path.contains_node(&node.key);
            GraphNode { is_critical, ..GraphNode::new(node, report(&node.key), now) }
        };
        let nodes = nodes.iter().map(node).collect();
        let critical_path = DisplayText::new(describe_path(&path, reports, now));
        Self { width, height, edges, nodes, path, critical_path }
    }

    pub(in crate::pages) fn is_critical_edge(&self, edge: &DrawnEdge) -> bool {
        self.path.contains_edge(&edge.from, &edge.to)
    }
}

impl GraphNode {
    fn new(node: &DrawnNode, report: Option<&NodeReport>, now: i64) -> Self {
        let mark = report.map(|report| StatusMark::new(&report.status));
        let about = match node.detail.as_str() {
            "" => node.kind.to_owned(),
            detail => format!("{}: {detail}", node.kind),
        };
        let detail = report.map_or_else(|| about.clone(), |report| state_text(report, now));
        let condition = node.when.as_ref().map(|when| format!("\nwhen {when}")).unwrap_or_default();
        Self {
            key: DisplayText::new(&node.key),
            label: DisplayText::new(&node.label),
            glyph: mark.as_ref().map_or("", |mark| mark.glyph),
            class: mark.as_ref().map_or("", |mark| mark.class),
            detail: DisplayText::first_line(detail, 30),
            title: DisplayText::new(format!("{} ({about}){condition}", node.key)),
            is_group: node.is_group,
            is_critical: false,
            x: node.x,
            y: node.y,
            width: node.width,
            height: node.height,
        }
    }

    pub(in crate::pages) fn text_x(&self) -> usize {
        self.x + 10
    }

    pub(in crate::pages) fn label_y(&self) -> usize {
        self.y + 22
    }

    pub(in crate::pages) fn detail_y(&self) -> usize {
        self.y + 41
    }
}

/// Returns the nodes of the path with the time of each.
fn describe_path(path: &CriticalPath, reports: &[NodeReport], now: i64) -> String {
    let describe = |key: &String| {
        let report = reports.iter().find(|report| report.key == *key);
        let started = report.and_then(|report| report.started_at);
        let ended = report.and_then(|report| report.ended_at).unwrap_or(now);
        started.map_or_else(|| key.clone(), |started| format!("{key} ({})", format_elapsed(ended - started)))
    };
    path.nodes.iter().map(describe).collect::<Vec<_>>().join(" → ")
}

/// Returns state, iteration, time and cost in a few words.
fn state_text(report: &NodeReport, now: i64) -> String {
    let iteration = match (report.iteration, report.max_iterations) {
        (Some(iteration), Some(most)) => Some(format!("{iteration}/{most}")),
        (_, _) => None,
    };
    let time = report.started_at.map(|started| format_elapsed(report.ended_at.unwrap_or(now) - started));
    let cost = report.cost_micros.map(|micros| short_cost(Some(micros)));
    let parts = [Some(report.status.clone()), iteration, time, cost];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
