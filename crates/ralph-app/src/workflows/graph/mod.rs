//! Pictures of a workflow's graph: a table for terminals, and SVG.
mod drawing;
mod levels;
mod svg;
mod table;

use ralph_core::workflow::{LoopControl, Node, NodeKind, PromptText, ScriptSource};

pub use drawing::{DrawnEdge, DrawnNode, GraphDrawing};
pub use svg::draw_svg;
pub use table::{GraphRow, list_rows};

/// Returns the kind of a node, as it is written in files.
#[must_use]
pub fn kind_name(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Agent(agent) => match &agent.prompt {
            PromptText::Inline(_) => "prompt",
            PromptText::Command { .. } => "command",
        },
        NodeKind::Bash(_) => "bash",
        NodeKind::Script(_) => "script",
        NodeKind::Loop(_) => "loop",
        NodeKind::LoopGroup(_) => "loop_group",
        NodeKind::Approval(_) => "approval",
        NodeKind::Cancel { .. } => "cancel",
        NodeKind::Workflow(_) => "workflow",
        NodeKind::Checks(_) => "checks",
    }
}

/// Returns what identifies the work of a node, in a few words; empty if the kind says enough.
#[must_use]
pub fn node_detail(node: &Node) -> String {
    match &node.kind {
        NodeKind::Agent(agent) => command_name(&agent.prompt),
        NodeKind::Loop(looping) => join_words(&command_name(&looping.prompt), &loop_limit(&looping.control)),
        NodeKind::LoopGroup(group) => join_words(&count_words(group.nodes.len(), "node"), &loop_limit(&group.control)),
        NodeKind::Script(script) => match &script.source {
            ScriptSource::Named(name) => name.clone(),
            ScriptSource::Code(_) => String::new(),
        },
        NodeKind::Workflow(child) => match &child.fan_out {
            Some(fan_out) => format!("{} for each item, {} at a time", child.workflow, fan_out.max_parallel),
            None => child.workflow.clone(),
        },
        NodeKind::Checks(checks) => count_words(checks.criteria.len(), "check"),
        NodeKind::Bash(_) | NodeKind::Approval(_) | NodeKind::Cancel { .. } => String::new(),
    }
}

fn command_name(prompt: &PromptText) -> String {
    match prompt {
        PromptText::Inline(_) => String::new(),
        PromptText::Command { name, .. } => name.clone(),
    }
}

fn loop_limit(control: &LoopControl) -> String {
    format!("at most {} iterations", control.max_iterations)
}

fn count_words(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn join_words(first: &str, second: &str) -> String {
    if first.is_empty() { second.to_owned() } else { format!("{first}, {second}") }
}
