//! Reads the nodes of a graph.
use std::collections::{BTreeMap, BTreeSet};

use ralph_core::workflow::condition::Condition;
use ralph_core::workflow::{
    AgentNode, BashNode, ChecksNode, Node, NodeId, NodeKind, NodeRetry, PromptText, RetryScope, ScriptNode,
    ScriptRuntime, ScriptSource, TriggerRule,
};
use ralph_util::yaml::{DocumentNode, NodeContent};

use super::{DraftContent, DraftNode, IncludeNode, ParserContext, agent_options, interaction, loops, top};
use crate::workflows::file_name::command_name_problem;
use crate::workflows::keys::{KeyEffect, KindKey, NODE_KEYS, RETRY_KEYS};
use crate::workflows::table::Table;

/// Reads a list of nodes. Reports all problems of all nodes.
pub(super) fn read_nodes<'a>(table: &Table<'a>, key: &str, context: &ParserContext<'a>) -> Option<Vec<DraftNode<'a>>> {
    if let Some(NodeContent::Map(_)) = table.get(key).map(|node| &node.content) {
        let hint = "write a list: one `- id: NAME` per node; the order of nodes and their ids are then unambiguous";
        table.report_value(key, "expected a list of nodes, found a table", hint);
        return None;
    }
    let items = table.read_list(key)?;
    if items.is_empty() {
        table.report_value(key, "has no nodes", "add at least one node");
        return None;
    }
    Some(items.iter().filter_map(|item| read_node(item, context)).collect())
}

fn read_node<'a>(source: &'a DocumentNode, context: &ParserContext<'a>) -> Option<DraftNode<'a>> {
    let table = Table::open(source, "node", context.problems)?;
    let id = read_node_id(&table)?;
    let table = table.with_scope(format!("node {id}"));
    table.check_keys(NODE_KEYS);
    let kind = find_kind(&table)?;
    check_key_effects(&table, kind);
    top::refuse_enabled_isolation(&table, "sandbox");
    if table.read_flag("persist_session") == Some(true) {
        table.report_key("persist_session", "a session that outlives the run is not supported", "remove it");
    }
    let content = read_content(&table, kind, id, context)?;
    Some(DraftNode { content, source })
}

fn read_node_id(table: &Table<'_>) -> Option<NodeId> {
    let id = table.require_text("id", "the name of the node, unique in the file")?;
    if !is_node_id(&id) {
        let hint = "use letters, digits, `_` and `-`, and begin with a letter or `_`, so that `$ID.output` can name it";
        table.report_value("id", &format!("{id:?} is not a valid id"), hint);
        return None;
    }
    if !is_reference_id(&id) {
        let message = format!("node {id}: `$ID.output` cannot name this node");
        let hint = "begin the id with a letter or `_`, and use no dots".to_owned();
        table.problems().add_note(table.value_position("id"), &message, Some(hint));
    }
    Some(NodeId(id))
}

/// Returns whether the text can be an id. Ids are also names of files.
fn is_node_id(id: &str) -> bool {
    const MAX_ID_BYTES: usize = 128;
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    is_plain && id.len() <= MAX_ID_BYTES && !id.starts_with(['.', '-']) && !id.contains("..")
}

/// Returns whether `$ID.output` can name the node.
fn is_reference_id(id: &str) -> bool {
    id.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && !id.contains('.')
}

/// Finds the one kind of the node.
fn find_kind(table: &Table<'_>) -> Option<KindKey> {
    let written: Vec<KindKey> = KindKey::ALL.into_iter().filter(|kind| table.has(kind.name())).collect();
    match written.as_slice() {
        [kind] => Some(*kind),
        [] => {
            report_missing_kind(table);
            None
        }
        [KindKey::Command, KindKey::Prompt] => {
            let message = "a node has either a command or a prompt: it could mean that the prompt replaces the command \
                           file, or that the command file is used and the prompt is ignored";
            table.report_key("prompt", message, "remove one of them, or move the prompt into the command file");
            None
        }
        [first, second, ..] => {
            let message =
                format!("a node has exactly one kind, but this one has {} and {}", first.name(), second.name());
            table.report_key(second.name(), &message, "write two nodes");
            None
        }
    }
}

fn report_missing_kind(table: &Table<'_>) {
    let empty = KindKey::ALL.into_iter().find(|kind| table.entries().iter().any(|entry| entry.key == kind.name()));
    let names: Vec<&str> = KindKey::ALL.into_iter().map(KindKey::name).collect();
    match empty {
        Some(kind) => table.report_key(kind.name(), "is empty", "write its value"),
        None => table.problems().add_error(
            table.position(),
            &format!("{}: has no kind", table.scope()),
            Some(format!("add one of {}", names.join(", "))),
        ),
    }
}

/// Reports keys that have no effect on this kind of node, and refuses those that would be missed.
fn check_key_effects(table: &Table<'_>, kind: KindKey) {
    for entry in table.entries() {
        match kind.effect_of(&entry.key) {
            KeyEffect::Used => {}
            KeyEffect::None => {
                let subject = format!("{} on {}", entry.key, kind.name());
                let message = format!("`{}` has no effect on a {} node", entry.key, kind.name());
                table.problems().add_note_once(table.key_position(&entry.key), &subject, &message);
            }
            KeyEffect::Refused(hint) => {
                table.report_key(&entry.key, &format!("does not apply to a {} node", kind.name()), hint);
            }
        }
    }
}

fn read_content<'a>(
    table: &Table<'a>,
    kind: KindKey,
    id: NodeId,
    context: &ParserContext<'a>,
) -> Option<DraftContent<'a>> {
    match kind {
        KindKey::Include => read_include(table, id).map(Box::new).map(DraftContent::Include),
        KindKey::LoopGroup => loops::read_loop_group(table, id, context),
        KindKey::Command
        | KindKey::Prompt
        | KindKey::Bash
        | KindKey::Script
        | KindKey::Loop
        | KindKey::Approval
        | KindKey::Cancel
        | KindKey::Workflow
        | KindKey::Checks => {
            let kind = read_kind(table, kind, context)?;
            Some(DraftContent::Node(Box::new(read_common(table, id, kind))))
        }
    }
}

fn read_kind(table: &Table<'_>, kind: KindKey, context: &ParserContext<'_>) -> Option<NodeKind> {
    match kind {
        KindKey::Command | KindKey::Prompt => {
            let prompt = read_prompt(table)?;
            Some(NodeKind::Agent(Box::new(AgentNode { prompt, options: agent_options::read_options(table) })))
        }
        KindKey::Bash => Some(NodeKind::Bash(BashNode {
            script: table.read_filled_text("bash")?,
            timeout_ms: table.read_milliseconds("timeout").unwrap_or(BashNode::DEFAULT_TIMEOUT_MS),
        })),
        KindKey::Script => read_script(table).map(NodeKind::Script),
        KindKey::Loop => loops::read_loop_node(table, context).map(Box::new).map(NodeKind::Loop),
        KindKey::Approval => interaction::read_approval(table).map(NodeKind::Approval),
        KindKey::Cancel => Some(NodeKind::Cancel { reason: table.read_filled_text("cancel")? }),
        KindKey::Workflow => interaction::read_child_workflow(table).map(NodeKind::Workflow),
        KindKey::Checks => read_checks_node(table, context).map(NodeKind::Checks),
        KindKey::Include | KindKey::LoopGroup => None,
    }
}

/// Reads the keys that all kinds have.
pub(super) fn read_common(table: &Table<'_>, id: NodeId, kind: NodeKind) -> Node {
    Node {
        id,
        description: table.read_text("description").or_else(|| table.read_text("label")),
        depends_on: read_dependencies(table),
        when: read_when(table),
        trigger_rule: read_trigger_rule(table),
        retry: read_retry(table),
        always_run: table.read_flag("always_run").unwrap_or(false),
        output_type: table.read_filled_text("output_type"),
        output_format: agent_options::read_output_format(table),
        inputs: BTreeMap::new(),
        kind,
    }
}

/// Reads the dependencies, each once.
fn read_dependencies(table: &Table<'_>) -> Vec<NodeId> {
    let mut seen = BTreeSet::new();
    let mut dependencies = Vec::new();
    for (name, _) in table.read_names("depends_on").unwrap_or_default() {
        if seen.insert(name.clone()) {
            dependencies.push(NodeId(name));
        }
    }
    dependencies
}

fn read_when(table: &Table<'_>) -> Option<Condition> {
    let text = table.read_filled_text("when")?;
    match Condition::parse(&text) {
        Ok(condition) => Some(condition),
        Err(error) => {
            let at = table.position_in_value("when", error.offset);
            let hint = "compare values with == != < > <= >=, joined by && and ||: $id.output.field == 'text'";
            table.report_at(at, "when", &format!("cannot read the condition: {error}"), hint);
            None
        }
    }
}

fn read_trigger_rule(table: &Table<'_>) -> TriggerRule {
    let rules = [
        ("all_success", TriggerRule::AllSuccess),
        ("one_success", TriggerRule::OneSuccess),
        ("none_failed_min_one_success", TriggerRule::NoneFailedMinOneSuccess),
        ("all_done", TriggerRule::AllDone),
    ];
    table.read_choice("trigger_rule", &rules).unwrap_or_default()
}

fn read_retry(table: &Table<'_>) -> Option<NodeRetry> {
    let retry = table.open_child("retry")?;
    retry.check_keys(RETRY_KEYS);
    if !retry.has("max_attempts") {
        retry.report_key("max_attempts", "required key is missing", "write the number of additional attempts, 1 to 5");
    }
    let scopes = [("transient", RetryScope::Transient), ("all", RetryScope::All)];
    Some(NodeRetry {
        max_attempts: retry.read_count("max_attempts", 0..=5)?,
        delay_ms: retry.read_number("delay_ms", 1_000..=60_000).unwrap_or(DEFAULT_RETRY_DELAY_MS),
        on_error: retry.read_choice("on_error", &scopes).unwrap_or_default(),
    })
}

const DEFAULT_RETRY_DELAY_MS: u64 = 3_000;

/// Reads `prompt`, or `command` and `with`.
pub(super) fn read_prompt(table: &Table<'_>) -> Option<PromptText> {
    if table.has("prompt") {
        return table.read_filled_text("prompt").map(PromptText::Inline);
    }
    let name = read_command_name(table)?;
    Some(PromptText::Command { name, with: table.read_values("with").unwrap_or_default() })
}

pub(super) fn read_command_name(table: &Table<'_>) -> Option<String> {
    let name = table.read_filled_text("command")?.trim().to_owned();
    match command_name_problem(&name) {
        None => Some(name),
        Some(problem) => {
            table.report_value("command", &format!("{name:?} is not the name of a command: {problem}"), NAME_HINT);
            None
        }
    }
}

pub(super) const NAME_HINT: &str = "write the file name without folder and ending";

fn read_script(table: &Table<'_>) -> Option<ScriptNode> {
    let text = table.read_filled_text("script")?;
    let runtimes = [("bun", ScriptRuntime::Bun), ("uv", ScriptRuntime::Uv)];
    if !table.has("runtime") {
        let hint = "add `runtime: bun` for JavaScript and TypeScript, `runtime: uv` for Python";
        table.report_key("runtime", "required key is missing", hint);
    }
    Some(ScriptNode {
        source: read_script_source(table, text)?,
        runtime: table.read_choice("runtime", &runtimes)?,
        dependencies: table.read_texts("deps").unwrap_or_default(),
        with: table.read_values("with").unwrap_or_default(),
        timeout_ms: table.read_milliseconds("timeout").unwrap_or(BashNode::DEFAULT_TIMEOUT_MS),
    })
}

/// A single word is the name of a file, anything else is code.
fn read_script_source(table: &Table<'_>, text: String) -> Option<ScriptSource> {
    let is_path = text.trim().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./\\".contains(&byte));
    if !is_path {
        return Some(ScriptSource::Code(text));
    }
    let name = text.trim();
    match command_name_problem(name) {
        None => Some(ScriptSource::Named(name.to_owned())),
        Some(problem) => {
            table.report_value("script", &format!("{name:?} is not the name of a script: {problem}"), NAME_HINT);
            None
        }
    }
}

fn read_checks_node(table: &Table<'_>, context: &ParserContext<'_>) -> Option<ChecksNode> {
    let criteria = context.read_checks(table, "checks")?;
    if criteria.is_empty() {
        table.report_value("checks", "has no checks", "write one `- COMMAND` per line");
        return None;
    }
    Some(ChecksNode { criteria })
}

fn read_include(table: &Table<'_>, id: NodeId) -> Option<IncludeNode> {
    let workflow = table.read_filled_text("include")?.trim().to_owned();
    Some(IncludeNode {
        id,
        workflow,
        with: table.read_values("with").unwrap_or_default(),
        depends_on: read_dependencies(table),
        when: read_when(table),
        trigger_rule: read_trigger_rule(table),
    })
}
