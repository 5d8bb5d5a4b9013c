//! The agent of a node: which one, with which model, and how it takes the options of the node.
use ralph_agents::{Agent, NodeOptionArgs};
use ralph_core::workflow::{AgentDefaults, AgentOptions};

use crate::config::{Setting, SettingOrigin, Settings};
use crate::error::{AppError, AppResult};

/// Words for models that an installation maps. ralph has no map yet, so the default of the agent is used.
const MODEL_TIERS: [&str; 3] = ["small", "medium", "large"];

/// The settings of a node, with its agent and model on top.
pub struct NodeSettings {
    pub settings: Settings,
    /// Notes for the user about the choice.
    pub notes: Vec<String>,
}

/// Returns the settings of a node. An agent or model of the request replaces those of the file.
#[must_use]
pub fn settings_for_node(settings: &Settings, defaults: &AgentDefaults, options: &AgentOptions) -> NodeSettings {
    let mut settings = settings.clone();
    let mut notes = Vec::new();
    let is_chosen_by_request = is_flag(&settings.agent);
    let written = options.provider.as_ref().or(defaults.provider.as_ref());
    let provider = written.filter(|_| !is_chosen_by_request);
    if let Some(provider) = provider.filter(|provider| **provider != settings.agent.value) {
        // The configured model belongs to the configured agent.
        settings.model = Setting::default();
        settings.agent.set_from_flag(Some(provider.clone()), "provider");
    }
    let has_model_flag = is_flag(&settings.model) && provider.is_none();
    // A model of the file is one of its agent.
    let written = options.model.as_ref().or(defaults.model.as_ref());
    let model = written.filter(|_| !is_chosen_by_request && !has_model_flag);
    match model {
        Some(tier) if MODEL_TIERS.contains(&tier.as_str()) || tier.starts_with('@') => {
            notes.push(format!("the model {tier} is not mapped here: the default of the agent is used"));
        }
        Some(model) => settings.model.set_from_flag(Some(Some(model.clone())), "model"),
        None => {}
    }
    NodeSettings { settings, notes }
}

fn is_flag<T>(setting: &Setting<T>) -> bool {
    matches!(setting.origin, SettingOrigin::Flag { .. })
}

/// Returns the arguments for the options of a node. Fails if its agent cannot honour one that protects.
pub fn option_args(adapter: &dyn Agent, options: &AgentOptions) -> AppResult<NodeOptionArgs> {
    adapter.node_option_args(options).map_err(|error| {
        AppError::preflight(&error)
            .with_cause("without it the node could do what its author has excluded, or would do another task")
            .with_advice("choose an agent that can, such as claude, or remove the key from the node")
    })
}

pub fn cannot_fork_error(agent: &str) -> AppError {
    AppError::preflight(format!("the agent {agent} cannot fork a session, but `context: {{resume: …}}` asks for it"))
        .with_advice("use `context: shared` or `context: fresh`, or the agent claude")
}

/// Returns whether the options of a node need an agent that honours them.
#[must_use]
pub fn has_agent_options(options: &AgentOptions) -> bool {
    options.allowed_tools.is_some()
        || !options.denied_tools.is_empty()
        || !options.hooks.is_empty()
        || options.mcp.is_some()
        || options.sub_agents.is_some()
        || options.system_prompt.is_some()
}
