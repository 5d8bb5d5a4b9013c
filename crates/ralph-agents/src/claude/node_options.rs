//! The flags of Claude Code for the options of a workflow node.
use ralph_core::workflow::{AgentOptions, ToolHook};
use serde_json::{Map, Value, json};

use crate::launch::node_options::NodeOptionArgs;

/// Names of tools and sub-agents are comma separated.
const NAME_SEPARATOR: &str = ",";

/// Returns the flags for the options of a node. Claude honours all of them but `skills`, which it finds by itself.
pub(super) fn option_args(options: &AgentOptions) -> NodeOptionArgs {
    let mut args = Vec::new();
    let mut push = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
    // `--tools` limits which tools exist. `--allowedTools` would approve them, which is the user's decision.
    if let Some(allowed) = &options.allowed_tools {
        push("--tools", allowed.join(NAME_SEPARATOR));
    }
    if !options.denied_tools.is_empty() {
        push("--disallowedTools", options.denied_tools.join(NAME_SEPARATOR));
    }
    if !options.hooks.is_empty() {
        push("--settings", hook_settings(&options.hooks).to_string());
    }
    if let Some(path) = &options.mcp {
        push("--mcp-config", path.clone());
    }
    if let Some(agents) = &options.sub_agents {
        push("--agents", agents.to_string());
    }
    if let Some(prompt) = &options.system_prompt {
        push("--system-prompt", prompt.clone());
    }
    if let Some(model) = &options.fallback_model {
        push("--fallback-model", model.clone());
    }
    let mut notes = Vec::new();
    match options.effort.as_deref() {
        None => {}
        // Older name of the lowest level.
        Some("minimal") => push("--effort", "low".to_owned()),
        Some(level @ ("low" | "medium" | "high" | "xhigh" | "max")) => push("--effort", level.to_owned()),
        Some(other) => notes.push(format!("claude has no effort level {other:?}")),
    }
    if !options.skills.is_empty() {
        notes.push("`skills` has no effect: claude finds the skills of the project by itself".to_owned());
    }
    NodeOptionArgs { args, notes }
}

/// Returns settings with hooks that print fixed answers.
fn hook_settings(hooks: &[ToolHook]) -> Value {
    let mut events: Map<String, Value> = Map::new();
    for hook in hooks {
        let command = format!("printf '%s' {}", quote_for_shell(&hook.response.to_string()));
        let mut entry = json!({ "hooks": [{ "type": "command", "command": command }] });
        if let Some(matcher) = &hook.matcher {
            entry["matcher"] = json!(matcher);
        }
        if let Value::Array(entries) = events.entry(hook.event.clone()).or_insert_with(|| json!([])) {
            entries.push(entry);
        }
    }
    json!({ "hooks": events })
}

fn quote_for_shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W3
    #[test]
    fn tool_lists_become_flags_and_an_empty_list_is_no_tools() {
        let options = AgentOptions {
            allowed_tools: Some(vec!["Read".to_owned(), "Grep".to_owned()]),
            denied_tools: vec!["Bash".to_owned()],
            ..AgentOptions::default()
        };
        assert_eq!(option_args(&options).args, ["--tools", "Read,Grep", "--disallowedTools", "Bash"]);
        let none = AgentOptions { allowed_tools: Some(Vec::new()), ..AgentOptions::default() };
        assert_eq!(option_args(&none).args, ["--tools", ""]);
    }

    // spec: W3
    #[test]
    fn a_hook_becomes_a_settings_hook_that_prints_its_answer() {
        let response =
            json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "don't"}});
        let hook = ToolHook {
            event: "PreToolUse".to_owned(),
            matcher: Some("Bash|Write".to_owned()),
            response: response.clone(),
        };
        let args = option_args(&AgentOptions { hooks: vec![hook], ..AgentOptions::default() }).args;
        assert_eq!(args[0], "--settings");
        let settings: Value = serde_json::from_str(&args[1]).unwrap();
        assert_eq!(settings["hooks"]["PreToolUse"][0]["matcher"], "Bash|Write");
        let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
        let printed = std::process::Command::new("sh").args(["-c", command]).output().unwrap().stdout;
        assert_eq!(serde_json::from_slice::<Value>(&printed).unwrap(), response);
    }
}
