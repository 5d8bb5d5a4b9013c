//! The agent that a run uses: its adapter, and what was written about it.
use std::path::Path;

use super::error::{ConfigError, Refusal};
use super::origin::{Origin, Setting};
use super::settings::{AgentSettings, Settings};
use ralph_agents as agent;
use ralph_agents::{Agent, Format, Job, Overrides, Permission};
use ralph_util::suggest;

/// An agent with everything that was set for it.
pub struct Chosen {
    pub name: String,
    pub adapter: &'static dyn Agent,
    pub overrides: Overrides,
    pub model: Option<String>,
    pub permission: Option<Permission>,
    pub env: Vec<(String, String)>,
}

impl Settings {
    /// Returns the chosen agent. Relative programs of files are meant from `root`.
    pub fn chosen(&self, root: &Path) -> Result<Chosen, ConfigError> {
        let Setting { value: name, origin } = &self.agent;
        let nothing = AgentSettings::default();
        let written = self.agents.get(name).unwrap_or(&nothing);
        self.agent_named((name, origin), written, self.model_of(written), root)
    }

    /// Returns the agents that take over when the chosen one is limited, in their order.
    pub fn fallbacks(&self, root: &Path) -> Result<Vec<Chosen>, ConfigError> {
        let Setting { value: names, origin } = &self.fallback;
        for (at, name) in names.iter().enumerate() {
            let earlier = names.iter().take(at).chain([&self.agent.value]);
            if earlier.into_iter().any(|earlier| earlier == name) {
                let refusal = Refusal::new(format!("fallback: the agent {name} is there already"));
                return Err(refusal.hint("name each agent once").at(origin.to_string()));
            }
        }
        let nothing = AgentSettings::default();
        let fallback = |name: &String| {
            // The general model is meant for the chosen agent.
            let written = self.agents.get(name).unwrap_or(&nothing);
            self.agent_named((name, origin), written, &written.model, root)
        };
        names.iter().map(fallback).collect()
    }

    /// Returns the agent that judges.
    pub fn judging(&self, root: &Path) -> Result<Chosen, ConfigError> {
        let Setting { value: name, origin } = &self.judge.agent;
        let nothing = AgentSettings::default();
        let written = self.agents.get(name).unwrap_or(&nothing);
        let own = AgentSettings::is_written(&self.judge.model);
        let model = if own { &self.judge.model } else { &nothing.model };
        let chosen = Chosen { permission: None, ..self.agent_named((name, origin), written, model, root)? };
        let refused = |what: String| Refusal::new(what).at(origin.to_string());
        if chosen.adapter.one_shot(&Job::default()).is_none() {
            let able = agent::AGENTS.iter().filter(|agent| agent.one_shot(&Job::default()).is_some());
            let able: Vec<&str> = able.map(|agent| agent.name()).collect();
            let mut error =
                refused(format!("the agent {name} cannot judge: it cannot be asked without its tools"));
            error.hint =
                Some(format!("choose one of {}, or one of `agents` of such a type", able.join(", ")));
            return Err(error);
        }
        match &chosen.overrides.response_filter {
            Some(_) => Err(refused(format!("the agent {name} cannot judge: it has a response filter"))),
            None => Ok(chosen),
        }
    }

    fn agent_named(
        &self,
        (name, origin): (&str, &Origin),
        written: &AgentSettings,
        model: &Setting<Option<String>>,
        root: &Path,
    ) -> Result<Chosen, ConfigError> {
        let adapter = adapter(name, written).ok_or_else(|| self.unknown_agent(name, origin))?;
        needs_a_filter(adapter, written)?;
        takes_a_model(adapter, model)?;
        self.can_be_granted(adapter)?;
        let cli = written.cli.value.as_ref().map(|cli| program(cli, &written.cli.origin, root));
        Ok(Chosen {
            name: name.to_owned(),
            adapter,
            overrides: Overrides {
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
    pub(super) fn model_of<'a>(&'a self, written: &'a AgentSettings) -> &'a Setting<Option<String>> {
        let own = AgentSettings::is_written(&written.model);
        if own && written.model.origin.rank() >= self.model.origin.rank() {
            &written.model
        } else {
            &self.model
        }
    }

    /// A permission that the agent does not know is refused: the nearest might allow more than was meant.
    fn can_be_granted(&self, adapter: &'static dyn Agent) -> Result<(), ConfigError> {
        let Some(permission) = self.permission.value else { return Ok(()) };
        adapter.grants().of(permission).map(drop).map_err(|why| {
            let what = format!("the agent {} cannot be given the permission {permission}", adapter.name());
            Refusal::new(what).hint(why).at(self.permission.origin.to_string())
        })
    }

    /// Every agent that was added must say what it is.
    pub(super) fn check_agents(&self) -> Result<(), ConfigError> {
        self.agents.iter().try_for_each(|(name, written)| match &written.kind.value {
            Some(kind) => agent::find(kind).map(drop).map_err(|error| {
                let hint = error.hint();
                let refusal = Refusal::new(format!("agents.{name}.type: {error}")).hint(hint);
                refusal.at(written.kind.origin.to_string())
            }),
            None if agent::find(name).is_ok() => Ok(()),
            None => Err(self.without_type(name, written)),
        })
    }

    /// Every agent of a role must be there, before one of them is wanted in the middle of the night.
    pub(super) fn check_roles(&self) -> Result<(), ConfigError> {
        let nothing = AgentSettings::default();
        self.roles.all().into_iter().try_for_each(|role| match &role.agent.value {
            Some(name) if adapter(name, self.agents.get(name).unwrap_or(&nothing)).is_none() => {
                Err(self.unknown_agent(name, &role.agent.origin))
            }
            Some(_) | None => Ok(()),
        })
    }

    fn without_type(&self, name: &str, written: &AgentSettings) -> ConfigError {
        let place = match &written.mentioned {
            // A classic file changes the agent that it chooses without writing its name again.
            Origin::BuiltIn => &self.agent.origin,
            mentioned => mentioned,
        };
        let hint = match suggest::near(name, &adapters()) {
            Some(near) => format!("did you mean {near}? An agent of your own needs a `type:`"),
            None => format!("add `type:`, one of {}", adapters().join(", ")),
        };
        let what = format!("there is no agent named {name:?}, and it has no type");
        Refusal::new(what).hint(hint).at(place.to_string())
    }

    fn unknown_agent(&self, name: &str, origin: &Origin) -> ConfigError {
        let own = self.agents.keys().map(String::as_str).filter(|own| *own != name);
        let mut names = adapters();
        names.extend(own.filter(|own| agent::find(own).is_err()));
        Refusal::new(format!("there is no agent named {name:?}"))
            .hint(suggest::hint(name, &names))
            .at(origin.to_string())
    }
}

fn adapters() -> Vec<&'static str> {
    agent::AGENTS.iter().map(|agent| agent.name()).collect()
}

fn adapter(name: &str, written: &AgentSettings) -> Option<&'static dyn Agent> {
    agent::find(written.kind.value.as_deref().unwrap_or(name)).ok()
}

/// `json` says that the output is JSON, but not which: the adapter or a filter must know.
fn needs_a_filter(adapter: &'static dyn Agent, written: &AgentSettings) -> Result<(), ConfigError> {
    let format = &written.output_format;
    let says_json = AgentSettings::is_written(format) && format.value.is_none();
    if !says_json || adapter.format() != Format::Text || written.response_filter.value.is_some() {
        return Ok(());
    }
    Err(Refusal::new("output format json: nothing says where in the JSON the agent's own text is")
        .hint("set a response filter, or name a format, such as claude or codex")
        .at(format.origin.to_string()))
}

/// A model that would change nothing about how the agent is started was meant to change something.
fn takes_a_model(adapter: &'static dyn Agent, model: &Setting<Option<String>>) -> Result<(), ConfigError> {
    if let Some(name) = model.value.as_deref().filter(|name| name.starts_with('-')) {
        // Some agents would read it as a flag of their own, which may allow them anything.
        return Err(Refusal::new(format!("{name:?} is no model: it begins with a hyphen"))
            .hint("name the model in the agent's own words, such as opus")
            .at(model.origin.to_string()));
    }
    let start = |model| adapter.invocation(&Job { model, ..Job::default() });
    match model.value.as_deref() {
        Some(name) if !adapter.format().is_talk() && start(Some(name)) == start(None) => {
            let what = format!("an agent of type {} takes no model ({name:?})", adapter.name());
            let hint = "ralph does not know how this program is told: leave the model out, and say it in the \
                        program's own words by --agent-arg, or `args:` of the agent in the configuration";
            Err(Refusal::new(what).hint(hint).at(model.origin.to_string()))
        }
        Some(_) | None => Ok(()),
    }
}

/// A program with a slash that a file names is meant from the project's root.
fn program(cli: &str, origin: &Origin, root: &Path) -> String {
    match origin {
        Origin::File { .. } if cli.contains('/') && Path::new(cli).is_relative() => {
            match root.join(cli).to_str() {
                Some(path) => path.to_owned(),
                None => from_here(root, cli),
            }
        }
        Origin::File { .. } | Origin::BuiltIn | Origin::Environment { .. } | Origin::Flag { .. } => {
            cli.to_owned()
        }
    }
}

/// Names a program of a root whose path is no text from where the user stands, which is in or below it.
fn from_here(root: &Path, cli: &str) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let depth = here.strip_prefix(root).map_or(0, |below| below.components().count());
    format!("./{}{cli}", "../".repeat(depth))
}
