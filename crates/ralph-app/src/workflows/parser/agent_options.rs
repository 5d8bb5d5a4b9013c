//! Reads how the agent of a node works: its tools, session, hooks and limits.
use ralph_core::workflow::{AgentOptions, NodeContext, NodeId, ToolHook};
use ralph_util::yaml::{DocumentNode, NodeContent};
use serde_json::Value;

use super::top::read_effort;
use crate::workflows::keys::HOOK_KEYS;
use crate::workflows::table::{Table, to_json};

pub(super) fn read_options(table: &Table<'_>) -> AgentOptions {
    AgentOptions {
        provider: table.read_filled_text("provider"),
        model: table.read_filled_text("model"),
        fallback_model: table.read_filled_text("fallbackModel"),
        effort: read_effort(table),
        context: read_context(table),
        idle_timeout_ms: table.read_milliseconds("idle_timeout"),
        allowed_tools: table.read_texts("allowed_tools"),
        denied_tools: table.read_texts("denied_tools").unwrap_or_default(),
        hooks: read_hooks(table),
        skills: table.read_texts("skills").unwrap_or_default(),
        mcp: table.read_filled_text("mcp"),
        sub_agents: read_sub_agents(table),
        system_prompt: table.read_filled_text("systemPrompt"),
        max_budget_usd: table.read_amount("maxBudgetUsd"),
    }
}

fn read_context(table: &Table<'_>) -> Option<NodeContext> {
    const HINT: &str = "write fresh, shared, or {resume: ID}";
    match &table.get("context")?.content {
        NodeContent::Text(text) => match text.as_str() {
            "fresh" => Some(NodeContext::Fresh),
            "shared" => Some(NodeContext::Shared),
            other => {
                table.report_value("context", &format!("{other:?} is not a valid value"), HINT);
                None
            }
        },
        NodeContent::Map(entries) if entries.len() == 1 && entries.iter().all(|entry| entry.key == "resume") => {
            let id = table.open_child("context")?.read_filled_text("resume")?;
            Some(NodeContext::Resume(NodeId(id)))
        }
        NodeContent::Map(_) | NodeContent::List(_) | NodeContent::Null => {
            table.report_value("context", "not a valid value", HINT);
            None
        }
    }
}

/// Reads the schema of the output. Only objects have fields that others can read.
pub(super) fn read_output_format(table: &Table<'_>) -> Option<Value> {
    let format = table.open_child("output_format")?;
    let schema = to_json(table.get("output_format")?);
    if schema.get("type").is_some_and(|kind| kind != "object") {
        let message = format!("{}: the node fails: an output is accepted only if it is an object", format.scope());
        let hint = "write `type: object` and `properties:`".to_owned();
        format.problems().add_note(format.value_position("type"), &message, Some(hint));
    }
    if let Some(properties) = format.get("properties") {
        Table::open(properties, &format.child_scope("properties"), table.problems())?;
    }
    check_required_fields(&format, &schema);
    Some(schema)
}

fn check_required_fields(format: &Table<'_>, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, at) in format.read_names("required").unwrap_or_default() {
        if properties.is_some_and(|properties| !properties.contains_key(&name)) {
            let message = format!("{}: {name} is required, but not in `properties`", format.scope());
            format.problems().add_note(at, &message, None);
        }
    }
}

/// Reads hooks: for each event of the agent, a list of matchers with fixed answers.
fn read_hooks(table: &Table<'_>) -> Vec<ToolHook> {
    let Some(events) = table.open_child("hooks") else { return Vec::new() };
    let mut hooks = Vec::new();
    for event in events.entries() {
        for item in events.read_list(&event.key).unwrap_or_default() {
            hooks.extend(read_hook(item, &event.key, &events));
        }
    }
    hooks
}

fn read_hook(item: &DocumentNode, event: &str, events: &Table<'_>) -> Option<ToolHook> {
    let hook = Table::open(item, &events.child_scope(event), events.problems())?;
    if !hook.has("response") {
        let message = format!("{}: the hook has no response", hook.scope());
        let hint = "add `response:` with the answer, or remove the hook; commands as hooks are not supported";
        hook.problems().add_error(hook.position(), &message, Some(hint.to_owned()));
        return None;
    }
    hook.check_keys(HOOK_KEYS);
    let response = hook.open_child("response").map(|_| hook.get("response").map(to_json))??;
    Some(ToolHook { event: event.to_owned(), matcher: hook.read_text("matcher"), response })
}

fn read_sub_agents(table: &Table<'_>) -> Option<Value> {
    let agents = table.open_child("agents")?;
    for entry in agents.entries() {
        let Some(agent) = agents.open_child(&entry.key) else { continue };
        for key in ["description", "prompt"] {
            agent.require_text(key, "as the sub-agent needs it");
        }
    }
    table.get("agents").map(to_json)
}
