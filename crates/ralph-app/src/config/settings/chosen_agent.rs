//! Resolves the agent that a run uses: its adapter and its settings.
use std::path::Path;

use crate::advice::Advice;
use crate::config::error::{ConfigError, ValueError};
use crate::config::settings::all_settings::{AgentSettings, Settings};
use crate::config::settings::origin::{Setting, SettingOrigin};
use ralph_agents as agent;
use ralph_agents::{Agent, FileAccess, LaunchRequest, OutputFormat, PermissionLevel, PresetOverrides};
use ralph_util::suggest;

/// The agent that judges if neither the settings name one nor the agent of the run can judge.
const DEFAULT_JUDGE: &str = "claude";

/// An agent with its effective settings.
pub struct ChosenAgent {
    pub name: String,
    pub adapter: &'static dyn Agent,
    pub overrides: PresetOverrides,
    pub model: Option<String>,
    pub permission: Option<PermissionLevel>,
    pub env: Vec<(String, String)>,
}

impl Settings {
    /// Returns the chosen agent. Relative program paths from configuration files are resolved against `root`.
    pub fn chosen_agent(&self, root: &Path) -> Result<ChosenAgent, ConfigError> {
        let Setting { value: name, origin } = &self.agent;
        let defaults = AgentSettings::default();
        let written = self.agents.get(name).unwrap_or(&defaults);
        self.resolve_agent(name, origin, self.effective_model(written), root)
    }

    /// Returns the agents that take over, in order, while the chosen one is rate limited.
    pub fn fallback_agents(&self, root: &Path) -> Result<Vec<ChosenAgent>, ConfigError> {
        let Setting { value: names, origin } = &self.fallback;
        for (at, name) in names.iter().enumerate() {
            let earlier = names.iter().take(at).chain([&self.agent.value]);
            if earlier.into_iter().any(|earlier| earlier == name) {
                let refusal = ValueError::new(format!("fallback: the agent {name} is listed twice"));
                return Err(refusal.with_hint("name each agent once").at_place(origin.to_string()));
            }
        }
        let defaults = AgentSettings::default();
        let fallback = |name: &String| {
            // The general model applies only to the chosen agent.
            let written = self.agents.get(name).unwrap_or(&defaults);
            self.resolve_agent(name, origin, &written.model, root)
        };
        names.iter().map(fallback).collect()
    }

    /// Returns the name of the agent that judges: the configured one, else the agent of the run if it can run without its
    /// tools.
    #[must_use]
    pub fn judge_agent_name(&self) -> &str {
        if let Some(name) = &self.judge.agent.value {
            return name;
        }
        let name = &self.agent.value;
        let defaults = AgentSettings::default();
        let written = self.agents.get(name).unwrap_or(&defaults);
        let can_judge = find_adapter(name, written).is_some_and(Agent::can_disable_tools)
            && written.response_filter.value.is_none();
        if can_judge { name } else { DEFAULT_JUDGE }
    }

    /// Returns the agent that judges.
    pub fn judge_agent(&self, root: &Path) -> Result<ChosenAgent, ConfigError> {
        let (name, origin) = (self.judge_agent_name(), &self.judge.agent.origin);
        let defaults = AgentSettings::default();
        let has_own_model = AgentSettings::is_explicit(&self.judge.model);
        let model = if has_own_model { &self.judge.model } else { &defaults.model };
        let chosen = ChosenAgent { permission: None, ..self.resolve_agent(name, origin, model, root)? };
        let refused = |message: String| ValueError::new(message).at_place(origin.to_string());
        if chosen.adapter.build_one_shot(&LaunchRequest::default()).is_none() {
            let able = agent::AGENTS.iter().filter(|agent| agent.build_one_shot(&LaunchRequest::default()).is_some());
            let able: Vec<&str> = able.map(|agent| agent.name()).collect();
            let mut error = refused(format!("the agent {name} cannot judge: it cannot run without its tools"));
            let hint = format!("choose one of {}, or an entry of `agents` with one of these types", able.join(", "));
            error.hint = Some(hint.into());
            return Err(error);
        }
        match &chosen.overrides.response_filter {
            Some(_) => Err(refused(format!("the agent {name} cannot judge: it has a response filter"))),
            None => Ok(chosen),
        }
    }

    fn resolve_agent(
        &self,
        name: &str,
        origin: &SettingOrigin,
        model: &Setting<Option<String>>,
        root: &Path,
    ) -> Result<ChosenAgent, ConfigError> {
        let defaults = AgentSettings::default();
        let written = self.agents.get(name).unwrap_or(&defaults);
        let adapter = find_adapter(name, written).ok_or_else(|| self.unknown_agent_error(name, origin))?;
        require_response_filter(adapter, written)?;
        ensure_model_supported(adapter, model)?;
        self.ensure_permission_supported(adapter)?;
        let cli = written.cli.value.as_ref().map(|cli| resolve_program(cli, &written.cli.origin, root));
        Ok(ChosenAgent {
            name: name.to_owned(),
            adapter,
            overrides: PresetOverrides {
                cli,
                args: written.args.value.clone(),
                output_format: written.output_format.value,
                response_filter: written.response_filter.value.clone(),
                display_filter: written.display_filter.value.clone(),
            },
            model: model.value.clone(),
            permission: self.permission.value,
            env: written.env.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
        })
    }

    /// Returns the agent's own model, unless a higher layer sets the general one.
    pub(in crate::config) fn effective_model<'a>(&'a self, written: &'a AgentSettings) -> &'a Setting<Option<String>> {
        let has_own_model = AgentSettings::is_explicit(&written.model);
        if has_own_model && written.model.origin.layer_rank() >= self.model.origin.layer_rank() {
            &written.model
        } else {
            &self.model
        }
    }

    /// Refuses a permission that the agent does not support: a similar level might allow more than intended.
    fn ensure_permission_supported(&self, adapter: &'static dyn Agent) -> Result<(), ConfigError> {
        let Some(permission) = self.permission.value else { return Ok(()) };
        adapter.grants().level_description(permission, FileAccess::Edit).map(drop).map_err(|hint| {
            let message = format!("the agent {} does not support the permission {permission}", adapter.name());
            ValueError::new(message).with_hint(hint).at_place(self.permission.origin.to_string())
        })
    }

    /// Checks that every agent has a known type: its own, or the one that its name implies.
    pub(in crate::config) fn validate_agents(&self) -> Result<(), ConfigError> {
        self.agents.iter().try_for_each(|(name, written)| match &written.kind.value {
            Some(kind) => agent::find_agent(kind).map(drop).map_err(|error| {
                let hint = error.hint();
                let refusal = ValueError::new(format!("agents.{name}.type: {error}")).with_hint(hint);
                refusal.at_place(written.kind.origin.to_string())
            }),
            None if agent::find_agent(name).is_ok() => Ok(()),
            None => Err(self.missing_type_error(name, written)),
        })
    }

    /// Checks that the agents of all roles exist, so that an unattended worker does not fail hours later.
    pub(in crate::config) fn validate_roles(&self) -> Result<(), ConfigError> {
        let defaults = AgentSettings::default();
        self.roles.known_roles().into_iter().try_for_each(|role| match &role.agent.value {
            Some(name) if find_adapter(name, self.agents.get(name).unwrap_or(&defaults)).is_none() => {
                Err(self.unknown_agent_error(name, &role.agent.origin))
            }
            Some(_) | None => Ok(()),
        })
    }

    fn missing_type_error(&self, name: &str, written: &AgentSettings) -> ConfigError {
        let place = match &written.mentioned_at {
            // A classic file configures the agent that it chooses without repeating its name.
            SettingOrigin::BuiltIn => &self.agent.origin,
            mentioned => mentioned,
        };
        let hint = match suggest::nearest_name(name, &adapter_names()) {
            Some(near) => format!("did you mean {near}? A custom agent needs a `type:`"),
            None => format!("add `type:`, one of {}", adapter_names().join(", ")),
        };
        let message = format!("there is no agent named {name:?}, and it has no type");
        ValueError::new(message).with_hint(hint).at_place(place.to_string())
    }

    fn unknown_agent_error(&self, name: &str, origin: &SettingOrigin) -> ConfigError {
        let own = self.agents.keys().map(String::as_str).filter(|own| *own != name);
        let mut names = adapter_names();
        names.extend(own.filter(|own| agent::find_agent(own).is_err()));
        ValueError::new(format!("there is no agent named {name:?}"))
            .with_hint(suggest::suggestion_hint(name, &names))
            .at_place(origin.to_string())
    }
}

fn adapter_names() -> Vec<&'static str> {
    agent::AGENTS.iter().map(|agent| agent.name()).collect()
}

fn find_adapter(name: &str, written: &AgentSettings) -> Option<&'static dyn Agent> {
    agent::find_agent(written.kind.value.as_deref().unwrap_or(name)).ok()
}

/// Refuses `json` without an adapter or filter that knows which field contains the agent's text.
fn require_response_filter(adapter: &'static dyn Agent, written: &AgentSettings) -> Result<(), ConfigError> {
    let format = &written.output_format;
    let is_generic_json = AgentSettings::is_explicit(format) && format.value.is_none();
    if !is_generic_json || adapter.output_format() != OutputFormat::Text || written.response_filter.value.is_some() {
        return Ok(());
    }
    Err(ValueError::new("output format json: no response filter says which field contains the agent's text")
        .with_hint("set a response filter, or name a format, such as claude or codex")
        .at_place(format.origin.to_string()))
}

/// Refuses a model that has no effect on the command line of the agent.
fn ensure_model_supported(adapter: &'static dyn Agent, model: &Setting<Option<String>>) -> Result<(), ConfigError> {
    if let Some(name) = model.value.as_deref().filter(|name| name.starts_with('-')) {
        // Some agents would parse it as a flag, which could grant them any permission.
        return Err(ValueError::new(format!("{name:?} is not a valid model: it begins with a hyphen"))
            .with_hint("write the model name as the agent expects it, such as opus")
            .at_place(model.origin.to_string()));
    }
    let start = |model| adapter.build_invocation(&LaunchRequest { model, ..LaunchRequest::default() });
    match model.value.as_deref() {
        Some(name) if !adapter.output_format().is_conversation() && start(Some(name)) == start(None) => {
            let message = format!("an agent of type {} takes no model ({name:?})", adapter.name());
            Err(ValueError::new(message).with_hint(Advice::PassModelAsArgument).at_place(model.origin.to_string()))
        }
        Some(_) | None => Ok(()),
    }
}

/// Resolves a relative program path from a configuration file against the project's root.
fn resolve_program(cli: &str, origin: &SettingOrigin, root: &Path) -> String {
    match origin {
        SettingOrigin::File { .. } if cli.contains('/') && Path::new(cli).is_relative() => {
            match root.join(cli).to_str() {
                Some(path) => path.to_owned(),
                None => relative_to_current_dir(root, cli),
            }
        }
        SettingOrigin::File { .. }
        | SettingOrigin::BuiltIn
        | SettingOrigin::Environment { .. }
        | SettingOrigin::Flag { .. } => cli.to_owned(),
    }
}

/// Returns the program relative to the current directory, which is in or below `root`. Used if `root` is not valid
/// UTF-8.
fn relative_to_current_dir(root: &Path, cli: &str) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let depth = here.strip_prefix(root).map_or(0, |below| below.components().count());
    format!("./{}{cli}", "../".repeat(depth))
}
