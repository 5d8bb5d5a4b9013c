//! Reads the top of a workflow file: names, defaults, and exactly one of the three forms.
use std::collections::BTreeMap;

use ralph_core::workflow::{AgentDefaults, InputDefinition, NodeId, WorkflowForm, WorktreeUse};
use ralph_util::yaml::{DocumentNode, NodeContent};
use serde_json::Value;

use super::{DraftNode, ParserContext, WorkflowDraft, loops, node, steps};
use crate::workflows::keys::{INPUT_KEYS, TOP_KEYS, WORKTREE_KEYS};
use crate::workflows::problem::Position;
use crate::workflows::table::{Table, to_json};

/// Reads a workflow. `None` if the document is not a table at all; other problems are reported and leave gaps.
pub(in crate::workflows) fn read_workflow<'a>(
    root: &'a DocumentNode,
    context: &ParserContext<'a>,
) -> Option<WorkflowDraft<'a>> {
    let table = Table::open(root, "", context.problems)?;
    // `x-*` is for anchors.
    table.check_keys_except(TOP_KEYS, |key| key.starts_with("x-"));
    refuse_isolation(&table);
    let name = table.require_text("name", "the name by which it is started");
    let description = table.require_text("description", "what the workflow does and when to use it");
    let (form, nodes) = read_form(&table, context)?;
    Some(WorkflowDraft {
        name: name.unwrap_or_default().trim().to_owned(),
        description: description.unwrap_or_default(),
        form,
        agent: read_agent_defaults(&table),
        worktree: read_worktree(&table),
        is_interactive: table.read_flag("interactive").unwrap_or(false),
        mutates_checkout: table.read_flag("mutates_checkout").unwrap_or(true),
        requires_evidence: table
            .open_child("evidence_policy")
            .and_then(|policy| policy.read_flag("required"))
            .unwrap_or(false),
        inputs: read_inputs(&table),
        returns: table.read_filled_text("returns").map(NodeId),
        outcome_field: table.read_filled_text("outcome_field"),
        nodes,
    })
}

fn refuse_isolation(table: &Table<'_>) {
    for key in ["sandbox", "container"] {
        refuse_enabled_isolation(table, key);
    }
    if table.read_flag("persist_sessions") == Some(true) {
        let hint = "remove it: each run of ralph has its own sessions";
        table.report_key("persist_sessions", "sessions that outlive a run are not supported", hint);
    }
}

/// Refuses isolation that the author relies on and that ralph does not provide.
pub(super) fn refuse_enabled_isolation(table: &Table<'_>, key: &str) {
    let Some(value) = table.get(key).map(to_json) else { return };
    let is_off = value == Value::Bool(false) || value.get("enabled") == Some(&Value::Bool(false));
    if !is_off {
        let hint = "remove it if the workflow may run without isolation";
        table.report_key(key, "isolation is not available, and ignoring it would be unsafe", hint);
    }
}

fn read_agent_defaults(table: &Table<'_>) -> AgentDefaults {
    AgentDefaults {
        provider: table.read_filled_text("provider"),
        model: table.read_filled_text("model"),
        effort: read_effort(table),
    }
}

/// Reads `effort`, or its old name.
pub(super) fn read_effort(table: &Table<'_>) -> Option<String> {
    if table.has("modelReasoningEffort") {
        let at = table.key_position("modelReasoningEffort");
        let message = "`modelReasoningEffort` is the old name of `effort`; agents without this setting ignore it";
        table.problems().add_note_once(at, "modelReasoningEffort", message);
    }
    table.read_filled_text("effort").or_else(|| table.read_filled_text("modelReasoningEffort"))
}

fn read_worktree(table: &Table<'_>) -> WorktreeUse {
    let Some(worktree) = table.open_child("worktree") else { return WorktreeUse::Default };
    worktree.check_keys(WORKTREE_KEYS);
    match worktree.read_flag("enabled") {
        None => WorktreeUse::Default,
        Some(true) => WorktreeUse::Required,
        Some(false) => WorktreeUse::Checkout,
    }
}

fn read_inputs(table: &Table<'_>) -> BTreeMap<String, InputDefinition> {
    let Some(inputs) = table.open_child("inputs") else { return BTreeMap::new() };
    let mut read = BTreeMap::new();
    for entry in inputs.entries() {
        if !is_input_name(&entry.key) {
            let hint = "use letters, digits and `_`, and do not begin with a digit";
            inputs.report_key(&entry.key, "not a valid input name", hint);
        }
        read.insert(entry.key.clone(), read_input(&entry.node, &inputs.child_scope(&entry.key), table));
    }
    read
}

fn read_input(node: &DocumentNode, scope: &str, parent: &Table<'_>) -> InputDefinition {
    if matches!(node.content, NodeContent::Null) {
        return InputDefinition::default();
    }
    let Some(table) = Table::open(node, scope, parent.problems()) else { return InputDefinition::default() };
    table.check_keys(INPUT_KEYS);
    InputDefinition {
        required: table.read_flag("required").unwrap_or(false),
        default: table.read_text("default"),
        description: table.read_text("description"),
    }
}

/// Returns whether `$INPUTS.NAME` can have this name.
fn is_input_name(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The nodes of a file and the form in which they are written.
type FormNodes<'a> = (WorkflowForm, Vec<DraftNode<'a>>);

/// Reads the one form that the file has.
fn read_form<'a>(table: &Table<'a>, context: &ParserContext<'a>) -> Option<FormNodes<'a>> {
    let (has_loop, has_prompt) = (table.has("loop"), table.has("prompt"));
    let written = ["steps", "loop", "nodes"].into_iter().filter(|key| table.has(key)).collect::<Vec<_>>();
    match written.as_slice() {
        [] => report_missing_form(table, has_prompt),
        [_] if has_prompt && !has_loop => {
            let hint = "move the prompt into a node or a command file, or use `loop:`";
            table.report_key(
                "prompt",
                "a top-level prompt belongs to `loop:`, which this workflow does not have",
                hint,
            );
            None
        }
        [form] => read_nodes_of_form(form, table, context),
        [first, .., last] => {
            let message = format!(
                "a workflow has exactly one of steps, loop and nodes, but this one has {}",
                written.join(" and ")
            );
            table.report_key(last, &message, &format!("keep {first} or {last}; write two workflows for both"));
            None
        }
    }
}

fn report_missing_form<'a>(table: &Table<'_>, has_prompt: bool) -> Option<FormNodes<'a>> {
    let empty =
        ["nodes", "steps", "loop"].into_iter().find(|key| table.entries().iter().any(|entry| entry.key == *key));
    match empty {
        Some(key) => table.report_key(key, "is empty", "add at least one node, or remove the key"),
        None if has_prompt => table.report_key(
            "prompt",
            "a top-level prompt needs `loop:`",
            "add `loop:` with `until` and `max_iterations`",
        ),
        None => table.problems().add_error(
            Position::START,
            "a workflow needs one of nodes, steps, or loop with prompt",
            Some("add `nodes:` with a list of nodes".to_owned()),
        ),
    }
    None
}

fn read_nodes_of_form<'a>(form: &str, table: &Table<'a>, context: &ParserContext<'a>) -> Option<FormNodes<'a>> {
    match form {
        "steps" => Some((WorkflowForm::Steps, steps::read_steps(table)?)),
        "loop" => Some((WorkflowForm::Loop, vec![loops::read_loop_form(table, context)?])),
        _ => Some((WorkflowForm::Nodes, node::read_nodes(table, "nodes", context)?)),
    }
}
