//! The agent of a node: which one, with which model, and how it takes the options of the node.
use ralph_agents::{Agent, NodeOptionArgs};
use ralph_core::workflow::{AgentDefaults, AgentOptions};

use crate::config::{Setting, SettingOrigin, Settings};
use crate::error::{AppError, AppResult};

/// Words for models that the configuration maps, with every word that begins with `@`.
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
    let configured_agent = settings.agent.value.clone();
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
        Some(tier) if is_tier(tier) => match mapped_model(&settings, &configured_agent, tier) {
            Some(mapped) => settings.model.set_from_flag(Some(Some(mapped)), "model"),
            None => notes.push(unmapped_note(&settings.agent.value, &configured_agent, tier)),
        },
        Some(model) => settings.model.set_from_flag(Some(Some(model.clone())), "model"),
        None => {}
    }
    NodeSettings { settings, notes }
}

fn is_tier(model: &str) -> bool {
    MODEL_TIERS.contains(&model) || model.starts_with('@')
}

/// Returns the model of the agent for a word. The general map belongs to the configured agent.
fn mapped_model(settings: &Settings, configured_agent: &str, tier: &str) -> Option<String> {
    let agent = &settings.agent.value;
    let word = tier.trim_start_matches('@');
    let own = settings.agents.get(agent).and_then(|own| own.models.get(word));
    let general = settings.models.get(word).filter(|_| agent == configured_agent);
    own.or(general).map(|model| model.value.clone())
}

fn unmapped_note(agent: &str, configured_agent: &str, tier: &str) -> String {
    let word = tier.trim_start_matches('@');
    let key = match agent == configured_agent {
        true => format!("models.{word}"),
        false => format!("agents.{agent}.models.{word}"),
    };
    format!("the model {tier} is not mapped here ({key}): the default of the agent is used")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn model_of(settings: &Settings, provider: Option<&str>, model: &str) -> (Option<String>, Vec<String>) {
        let options = AgentOptions {
            provider: provider.map(str::to_owned),
            model: Some(model.to_owned()),
            ..AgentOptions::default()
        };
        let NodeSettings { settings, notes } = settings_for_node(settings, &AgentDefaults::default(), &options);
        (settings.model.value, notes)
    }

    // spec: W3
    #[test]
    fn a_model_word_is_the_configured_model_of_the_agent() {
        let mut settings = Settings::default();
        settings.models.insert("small".to_owned(), Setting::built_in("haiku".to_owned()));
        settings.models.insert("fast".to_owned(), Setting::built_in("flash".to_owned()));
        let codex = settings.agents.entry("codex".to_owned()).or_default();
        codex.models.insert("small".to_owned(), Setting::built_in("mini".to_owned()));
        assert_eq!(model_of(&settings, None, "small"), (Some("haiku".to_owned()), vec![]));
        assert_eq!(model_of(&settings, None, "@fast"), (Some("flash".to_owned()), vec![]));
        assert_eq!(model_of(&settings, Some("codex"), "small"), (Some("mini".to_owned()), vec![]));
        assert_eq!(model_of(&settings, None, "opus-4"), (Some("opus-4".to_owned()), vec![]));
    }

    // spec: W3
    #[test]
    fn a_model_word_without_a_model_is_the_default_of_the_agent_with_a_note_that_names_the_key() {
        let mut settings = Settings::default();
        settings.models.insert("small".to_owned(), Setting::built_in("haiku".to_owned()));
        let (model, notes) = model_of(&settings, None, "large");
        assert_eq!(model, None);
        assert!(notes[0].contains("(models.large)"), "{notes:?}");
        let (model, notes) = model_of(&settings, Some("codex"), "small");
        assert_eq!(model, None, "the model of one agent is not passed to another");
        assert!(notes[0].contains("(agents.codex.models.small)"), "{notes:?}");
    }
}
