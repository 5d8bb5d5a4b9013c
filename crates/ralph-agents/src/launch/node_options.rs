//! The options of a workflow node for its agent: which of them become arguments, and which the agent cannot honour.
use ralph_core::workflow::{AgentOptions, ToolHook};
use serde_json::Value;

/// The arguments for the options of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeOptionArgs {
    pub args: Vec<String>,
    /// Options without effect on this agent, which do not change what the node may do.
    pub notes: Vec<String>,
}

/// An option that the agent cannot honour, and whose neglect would change what the node may do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agent {agent} cannot honour `{key}`")]
pub struct UnsupportedOption {
    pub agent: &'static str,
    /// The key in the workflow file.
    pub key: &'static str,
}

/// Returns whether a hook forbids something, so that it protects.
#[must_use]
pub fn is_deny_hook(hook: &ToolHook) -> bool {
    let decision = |path: &str| hook.response.pointer(path).and_then(Value::as_str);
    let denies = decision("/hookSpecificOutput/permissionDecision") == Some("deny");
    denies || decision("/decision") == Some("block") || hook.response.get("continue") == Some(&Value::Bool(false))
}

/// Refuses the options that protect or that change the task, and notes the others. For an agent that has no flags for
/// them.
pub(crate) fn refuse_protections(
    agent: &'static str,
    options: &AgentOptions,
) -> Result<NodeOptionArgs, UnsupportedOption> {
    let protections = [
        ("allowed_tools", options.allowed_tools.is_some()),
        ("denied_tools", !options.denied_tools.is_empty()),
        ("hooks", options.hooks.iter().any(is_deny_hook)),
        ("mcp", options.mcp.is_some()),
        ("agents", options.sub_agents.is_some()),
        ("systemPrompt", options.system_prompt.is_some()),
    ];
    if let Some((key, _)) = protections.into_iter().find(|(_, is_set)| *is_set) {
        return Err(UnsupportedOption { agent, key });
    }
    let tuning = [
        ("hooks", !options.hooks.is_empty()),
        ("skills", !options.skills.is_empty()),
        ("effort", options.effort.is_some()),
        ("fallbackModel", options.fallback_model.is_some()),
    ];
    let ignored = tuning.into_iter().filter(|(_, is_set)| *is_set);
    let notes = ignored.map(|(key, _)| format!("`{key}` has no effect on the agent {agent}")).collect();
    Ok(NodeOptionArgs { args: Vec::new(), notes })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::find_agent;

    fn deny_hook() -> ToolHook {
        let response = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}});
        ToolHook { event: "PreToolUse".to_owned(), matcher: Some("Bash".to_owned()), response }
    }

    // spec: W3
    #[test]
    fn an_agent_without_flags_refuses_every_option_that_protects_or_changes_the_task() {
        let text = find_agent("text").unwrap();
        let base = AgentOptions::default;
        let refused = [
            (AgentOptions { allowed_tools: Some(Vec::new()), ..base() }, "allowed_tools"),
            (AgentOptions { denied_tools: vec!["Bash".to_owned()], ..base() }, "denied_tools"),
            (AgentOptions { hooks: vec![deny_hook()], ..base() }, "hooks"),
            (AgentOptions { mcp: Some("m.json".to_owned()), ..base() }, "mcp"),
            (AgentOptions { sub_agents: Some(json!({})), ..base() }, "agents"),
            (AgentOptions { system_prompt: Some("x".to_owned()), ..base() }, "systemPrompt"),
        ];
        for (options, key) in refused {
            assert_eq!(text.node_option_args(&options).unwrap_err().key, key);
        }
    }

    // spec: W3
    #[test]
    fn an_agent_without_flags_notes_options_that_only_tune() {
        let text = find_agent("text").unwrap();
        let context_hook = ToolHook { response: json!({"systemMessage": "hi"}), ..deny_hook() };
        let options = AgentOptions {
            effort: Some("high".to_owned()),
            skills: vec!["review".to_owned()],
            hooks: vec![context_hook],
            ..AgentOptions::default()
        };
        let args = text.node_option_args(&options).unwrap();
        assert_eq!(args.notes.len(), 3, "{:?}", args.notes);
        assert!(args.args.is_empty());
    }
}
