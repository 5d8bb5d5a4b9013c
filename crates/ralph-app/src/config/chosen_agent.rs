//! The agent that a run uses: its adapter, and what was written about it.
use std::path::Path;

use super::error::{ConfigError, ValueError};
use super::origin::{Setting, SettingOrigin};
use super::settings::{AgentSettings, Settings};
use ralph_agents as agent;
use ralph_agents::{Agent, LaunchRequest, OutputFormat, PermissionLevel, PresetOverrides};
use ralph_util::suggest;

/// An agent with everything that was set for it.
pub struct ChosenAgent {
    pub name: String,
    pub adapter: &'static dyn Agent,
    pub overrides: PresetOverrides,
    pub model: Option<String>,
    pub permission: Option<PermissionLevel>,
    pub env: Vec<(String, String)>,
}

impl Settings {
    /// Returns the chosen agent. Relative programs of files are meant from `root`.
    pub fn chosen_agent(&self, root: &Path) -> Result<ChosenAgent, ConfigError> {
        let Setting { value: name, origin } = &self.agent;
        let nothing = AgentSettings::default();
        let written = self.agents.get(name).unwrap_or(&nothing);
        self.resolve_agent((name, origin), written, self.effective_model(written), root)
    }

    /// Returns the agents that take over when the chosen one is limited, in their order.
    pub fn fallback_agents(&self, root: &Path) -> Result<Vec<ChosenAgent>, ConfigError> {
        let Setting { value: names, origin } = &self.fallback;
        for (at, name) in names.iter().enumerate() {
            let earlier = names.iter().take(at).chain([&self.agent.value]);
            if earlier.into_iter().any(|earlier| earlier == name) {
                let refusal = ValueError::new(format!("fallback: the agent {name} is there already"));
                return Err(refusal.with_hint("name each agent once").at_place(origin.to_string()));
            }
        }
        let nothing = AgentSettings::default();
        let fallback = |name: &String| {
            // The general model is meant for the chosen agent.
            let written = self.agents.get(name).unwrap_or(&nothing);
            self.resolve_agent((name, origin), written, &written.model, root)
        };
        names.iter().map(fallback).collect()
    }

    /// Returns the agent that judges.
    pub fn judge_agent(&self, root: &Path) -> Result<ChosenAgent, ConfigError> {
        let Setting { value: name, origin } = &self.judge.agent;
        let nothing = AgentSettings::default();
        let written = self.agents.get(name).unwrap_or(&nothing);
        let own = AgentSettings::is_explicit(&self.judge.model);
        let model = if own { &self.judge.model } else { &nothing.model };
        let chosen = ChosenAgent { permission: None, ..self.resolve_agent((name, origin), written, model, root)? };
        let refused = |what: String| ValueError::new(what).at_place(origin.to_string());
        if chosen.adapter.build_one_shot(&LaunchRequest::default()).is_none() {
            let able = agent::AGENTS.iter().filter(|agent| agent.build_one_shot(&LaunchRequest::default()).is_some());
            let able: Vec<&str> = able.map(|agent| agent.name()).collect();
            let mut error = refused(format!("the agent {name} cannot judge: it cannot be asked without its tools"));
            error.hint = Some(format!("choose one of {}, or one of `agents` of such a type", able.join(", ")));
            return Err(error);
        }
        match &chosen.overrides.response_filter {
            Some(_) => Err(refused(format!("the agent {name} cannot judge: it has a response filter"))),
            None => Ok(chosen),
        }
    }

    fn resolve_agent(
        &self,
        (name, origin): (&str, &SettingOrigin),
        written: &AgentSettings,
        model: &Setting<Option<String>>,
        root: &Path,
    ) -> Result<ChosenAgent, ConfigError> {
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

    /// The model of the agent itself is nearer than the general one, unless a higher layer sets that.
    pub(super) fn effective_model<'a>(&'a self, written: &'a AgentSettings) -> &'a Setting<Option<String>> {
        let own = AgentSettings::is_explicit(&written.model);
        if own && written.model.origin.layer_rank() >= self.model.origin.layer_rank() {
            &written.model
        } else {
            &self.model
        }
    }

    /// A permission that the agent does not know is refused: the nearest might allow more than was meant.
    fn ensure_permission_supported(&self, adapter: &'static dyn Agent) -> Result<(), ConfigError> {
        let Some(permission) = self.permission.value else { return Ok(()) };
        adapter.grants().grant_for(permission).map(drop).map_err(|why| {
            let what = format!("the agent {} cannot be given the permission {permission}", adapter.name());
            ValueError::new(what).with_hint(why).at_place(self.permission.origin.to_string())
        })
    }

    /// Every agent that was added must say what it is.
    pub(super) fn validate_agents(&self) -> Result<(), ConfigError> {
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

    /// Every agent of a role must be there, before one of them is wanted in the middle of the night.
    pub(super) fn validate_roles(&self) -> Result<(), ConfigError> {
        let nothing = AgentSettings::default();
        self.roles.known_roles().into_iter().try_for_each(|role| match &role.agent.value {
            Some(name) if find_adapter(name, self.agents.get(name).unwrap_or(&nothing)).is_none() => {
                Err(self.unknown_agent_error(name, &role.agent.origin))
            }
            Some(_) | None => Ok(()),
        })
    }

    fn missing_type_error(&self, name: &str, written: &AgentSettings) -> ConfigError {
        let place = match &written.mentioned_at {
            // A classic file changes the agent that it chooses without writing its name again.
            SettingOrigin::BuiltIn => &self.agent.origin,
            mentioned => mentioned,
        };
        let hint = match suggest::nearest_name(name, &adapter_names()) {
            Some(near) => format!("did you mean {near}? An agent of your own needs a `type:`"),
            None => format!("add `type:`, one of {}", adapter_names().join(", ")),
        };
        let what = format!("there is no agent named {name:?}, and it has no type");
        ValueError::new(what).with_hint(hint).at_place(place.to_string())
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

/// `json` says that the output is JSON, but not which: the adapter or a filter must know.
fn require_response_filter(adapter: &'static dyn Agent, written: &AgentSettings) -> Result<(), ConfigError> {
    let format = &written.output_format;
    let says_json = AgentSettings::is_explicit(format) && format.value.is_none();
    if !says_json || adapter.output_format() != OutputFormat::Text || written.response_filter.value.is_some() {
        return Ok(());
    }
    Err(ValueError::new("output format json: nothing says where in the JSON the agent's own text is")
        .with_hint("set a response filter, or name a format, such as claude or codex")
        .at_place(format.origin.to_string()))
}

/// A model that would change nothing about how the agent is started was meant to change something.
fn ensure_model_supported(adapter: &'static dyn Agent, model: &Setting<Option<String>>) -> Result<(), ConfigError> {
    if let Some(name) = model.value.as_deref().filter(|name| name.starts_with('-')) {
        // Some agents would read it as a flag of their own, which may allow them anything.
        return Err(ValueError::new(format!("{name:?} is no model: it begins with a hyphen"))
            .with_hint("name the model in the agent's own words, such as opus")
            .at_place(model.origin.to_string()));
    }
    let start = |model| adapter.build_invocation(&LaunchRequest { model, ..LaunchRequest::default() });
    match model.value.as_deref() {
        Some(name) if !adapter.output_format().is_conversation() && start(Some(name)) == start(None) => {
            let what = format!("an agent of type {} takes no model ({name:?})", adapter.name());
            let hint = "ralph does not know how this program is told: leave the model out, and say it in the \
                        program's own words by --agent-arg, or `args:` of the agent in the configuration";
            Err(ValueError::new(what).with_hint(hint).at_place(model.origin.to_string()))
        }
        Some(_) | None => Ok(()),
    }
}

/// A program with a slash that a file names is meant from the project's root.
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

/// Names a program of a root whose path is no text from where the user stands, which is in or below it.
fn relative_to_current_dir(root: &Path, cli: &str) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let depth = here.strip_prefix(root).map_or(0, |below| below.components().count());
    format!("./{}{cli}", "../".repeat(depth))
}
