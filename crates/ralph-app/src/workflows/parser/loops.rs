//! Reads loops: the form `loop:` and `prompt:`, loop nodes, and loop groups.
use ralph_core::workflow::{
    AgentOptions, LoopControl, LoopGroupNode, LoopNode, Node, NodeId, NodeKind, PromptText, TriggerRule,
};

use super::{DraftContent, DraftNode, ParserContext, agent_options, node};
use crate::workflows::keys::{LOOP_GROUP_KEYS, LOOP_KEYS, MAX_ITERATIONS};
use crate::workflows::table::Table;

/// The id of the node of a workflow that is one loop.
const LOOP_NODE_ID: &str = "loop";

/// Reads the form `loop:` and `prompt:`.
pub(super) fn read_loop_form<'a>(table: &Table<'a>, context: &ParserContext<'a>) -> Option<DraftNode<'a>> {
    let control_table = table.open_child("loop")?;
    control_table.check_keys(LOOP_KEYS);
    for key in ["prompt", "command", "with"] {
        if control_table.has(key) {
            let hint = "write `prompt:` beside `loop:`, or use `nodes:` with a loop node";
            control_table.report_key(key, "the prompt of this form stands at the top of the file", hint);
        }
    }
    let prompt = table.require_text("prompt", "the prompt of each iteration");
    let control = read_control(&control_table, context);
    let kind = NodeKind::Loop(Box::new(LoopNode {
        prompt: PromptText::Inline(prompt?),
        control: control?,
        until_field: control_table.read_filled_text("until_field"),
        options: AgentOptions::default(),
    }));
    let node = Node {
        id: NodeId(LOOP_NODE_ID.to_owned()),
        description: None,
        depends_on: Vec::new(),
        when: None,
        trigger_rule: TriggerRule::AllSuccess,
        retry: None,
        always_run: false,
        output_type: None,
        output_format: None,
        inputs: std::collections::BTreeMap::new(),
        kind,
    };
    Some(DraftNode { content: DraftContent::Node(Box::new(node)), source: table.source() })
}

pub(super) fn read_loop_node(table: &Table<'_>, context: &ParserContext<'_>) -> Option<LoopNode> {
    let looping = table.open_child("loop")?;
    looping.check_keys(LOOP_KEYS);
    let prompt = read_loop_prompt(&looping);
    let control = read_control(&looping, context);
    Some(LoopNode {
        prompt: prompt?,
        control: control?,
        until_field: looping.read_filled_text("until_field"),
        options: agent_options::read_options(table),
    })
}

fn read_loop_prompt(looping: &Table<'_>) -> Option<PromptText> {
    match (looping.has("prompt"), looping.has("command")) {
        (true, true) => {
            let message = "a loop has either a command or a prompt: it could mean that the prompt replaces the command \
                           file, or that the command file is used and the prompt is ignored";
            looping.report_key("prompt", message, "remove one of them");
            None
        }
        (false, false) => {
            looping.require_text("prompt", "the prompt of each iteration, or `command:`");
            None
        }
        (true, false) | (false, true) => node::read_prompt(looping),
    }
}

/// Reads the keys that say when a loop ends. Reports all problems before it gives up.
fn read_control(table: &Table<'_>, context: &ParserContext<'_>) -> Option<LoopControl> {
    let until = read_until(table);
    let max_iterations = read_max_iterations(table);
    let control = LoopControl {
        until,
        max_iterations: 1,
        fresh_context: table.read_flag("fresh_context").unwrap_or(false),
        until_bash: table.read_filled_text("until_bash"),
        checks: context.read_checks(table, "checks").unwrap_or_default(),
        interactive: table.read_flag("interactive").unwrap_or(false),
        gate_message: table.read_filled_text("gate_message"),
        signal_completes: table.read_flag("signal_completes").unwrap_or(false),
    };
    if control.gate_message.is_some() && !control.interactive {
        let at = table.key_position("gate_message");
        table.problems().add_note_once(at, "gate_message", "`gate_message` has no effect without `interactive: true`");
    }
    Some(LoopControl { max_iterations: max_iterations?, ..control })
}

/// Reads the promise. It is compared with one line, so that it cannot have several.
fn read_until(table: &Table<'_>) -> Option<String> {
    let is_written = table.entries().iter().any(|entry| entry.key == "until");
    if is_written && !table.has("until") {
        table.report_key("until", "is empty", "write the promise that completes the loop, such as COMPLETE");
    }
    let until = table.read_filled_text("until")?.trim().to_owned();
    if until.contains('\n') {
        table.report_value("until", "must be a single line", "write a word such as COMPLETE");
    }
    Some(until)
}

fn read_max_iterations(table: &Table<'_>) -> Option<u32> {
    if !table.has("max_iterations") {
        table.report_key("max_iterations", "required key is missing", "add the limit, such as `max_iterations: 10`");
        return None;
    }
    table.read_count("max_iterations", 1..=MAX_ITERATIONS)
}

pub(super) fn read_loop_group<'a>(
    table: &Table<'a>,
    id: NodeId,
    context: &ParserContext<'a>,
) -> Option<DraftContent<'a>> {
    let group = table.open_child("loop_group")?;
    for key in ["prompt", "command", "until_field"] {
        if group.has(key) {
            group.report_key(key, "belongs to a `loop:` node", "write a node with it below `nodes:`");
        }
    }
    group.check_keys(LOOP_GROUP_KEYS);
    let control = read_control(&group, context);
    let nodes = read_group_nodes(&group, context);
    let kind = NodeKind::LoopGroup(Box::new(LoopGroupNode { control: control?, nodes: Vec::new() }));
    Some(DraftContent::Group { node: Box::new(node::read_common(table, id, kind)), nodes: nodes? })
}

fn read_group_nodes<'a>(group: &Table<'a>, context: &ParserContext<'a>) -> Option<Vec<DraftNode<'a>>> {
    if !group.has("nodes") {
        group.report_key("nodes", "required key is missing", "add the nodes of each iteration");
        return None;
    }
    node::read_nodes(group, "nodes", context)
}
