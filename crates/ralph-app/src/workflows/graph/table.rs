//! The graph as rows in an order in which the nodes can run.
use ralph_core::workflow::{Node, NodeKind, TriggerRule, Workflow};
use serde::Serialize;

use super::levels::node_levels;
use super::{kind_name, node_detail};

/// One node in the picture of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphRow {
    /// How many loop groups are around it.
    pub depth: usize,
    /// The longest way from a node without dependencies, from 1.
    pub level: usize,
    pub id: String,
    pub kind: &'static str,
    pub detail: String,
    pub depends_on: Vec<String>,
    /// `None`: all dependencies must complete.
    pub trigger_rule: Option<&'static str>,
    pub when: Option<String>,
}

/// Returns the nodes by level, those of loop groups below their group.
#[must_use]
pub fn list_rows(workflow: &Workflow) -> Vec<GraphRow> {
    let mut rows = Vec::new();
    add_rows(&workflow.nodes, 0, &mut rows);
    rows
}

fn add_rows(nodes: &[Node], depth: usize, rows: &mut Vec<GraphRow>) {
    let levels = node_levels(nodes);
    let mut sorted: Vec<(usize, &Node)> = levels.into_iter().zip(nodes).collect();
    sorted.sort_by_key(|(level, _)| *level);
    for (level, node) in sorted {
        rows.push(build_row(node, depth, level + 1));
        if let NodeKind::LoopGroup(group) = &node.kind {
            add_rows(&group.nodes, depth + 1, rows);
        }
    }
}

fn build_row(node: &Node, depth: usize, level: usize) -> GraphRow {
    GraphRow {
        depth,
        level,
        id: node.id.to_string(),
        kind: kind_name(&node.kind),
        detail: node_detail(node),
        depends_on: node.depends_on.iter().map(ToString::to_string).collect(),
        trigger_rule: trigger_rule_name(node.trigger_rule),
        when: node.when.as_ref().map(|condition| condition.source.clone()),
    }
}

fn trigger_rule_name(rule: TriggerRule) -> Option<&'static str> {
    match rule {
        TriggerRule::AllSuccess => None,
        TriggerRule::OneSuccess => Some("one_success"),
        TriggerRule::NoneFailedMinOneSuccess => Some("none_failed_min_one_success"),
        TriggerRule::AllDone => Some("all_done"),
    }
}
