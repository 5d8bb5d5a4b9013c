//! Which agent, and how: the flags that every command with a loop shares.
use clap::{Args, ValueHint};
use ralph_core::outcome::exit_code;

use super::offer;
use crate::error::Failure;
use ralph_agents::{FilterError, Format, Permission};
use ralph_app::config::{Chosen, ConfigError, Origin, Setting, Settings};
use ralph_engine::engine::AgentChoice;
use ralph_engine::project::Project;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Agent")]
pub struct AgentArgs {
    /// The agent: one that `ralph agents` lists, text (any program), or one of your configuration [built-in:
    /// claude]
    #[arg(long, value_parser = offer::agents(), hide_possible_values = true)]
    agent: Option<String>,
    /// The program to start instead of the agent's own; required for --agent text and acp
    #[arg(long, value_name = "PATH", value_hint = ValueHint::CommandName)]
    agent_cmd: Option<String>,
    /// An argument for the agent; repeat for more
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    agent_arg: Vec<String>,
    /// An agent that takes over, with fresh context, while those before it are rate limited; repeat for more
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    fallback: Vec<String>,
    /// The model, in the agent's own words
    #[arg(long)]
    model: Option<String>,
    /// What the agent may do unasked: ask (what its own settings allow), edits (files of the project) or full
    /// (everything); `ralph agents` says what is usual
    #[arg(long, value_name = "PERMISSION", value_parser = offer::permissions(), hide_possible_values = true)]
    permission: Option<Permission>,
    /// How to read the agent's output, instead of its own format
    #[arg(long, value_name = "FORMAT", value_parser = offer::formats(), hide_possible_values = true)]
    output_format: Option<Format>,
    /// A jq expression whose values are the agent's own text; the last value is its final message
    #[arg(long, value_name = "JQ")]
    response_filter: Option<String>,
    /// A jq expression for what is shown of the agent's output
    #[arg(long, value_name = "JQ")]
    display_filter: Option<String>,
}

impl AgentArgs {
    /// Applies the flags as the highest layer.
    pub fn apply(&self, settings: &mut Settings) {
        let done: Result<(), std::convert::Infallible> = settings.layer(|settings| {
            settings.agent.flag(self.agent.clone(), "--agent");
            let fallback = (!self.fallback.is_empty()).then(|| self.fallback.clone());
            settings.fallback.flag(fallback, "--fallback");
            settings.model.flag(self.model.clone().map(Some), "--model");
            settings.permission.flag(self.permission.map(Some), "--permission");
            let agent = settings.agent_now();
            agent.cli.flag(self.agent_cmd.clone().map(Some), "--agent-cmd");
            agent.output_format.flag(self.output_format.map(Some), "--output-format");
            agent.response_filter.flag(self.response_filter.clone().map(Some), "--response-filter");
            agent.display_filter.flag(self.display_filter.clone().map(Some), "--display-filter");
            Ok(())
        });
        done.unwrap_or_else(|never| match never {});
    }

    /// Returns the agent that the settings choose. Filters are tried, so that a mistake shows at once.
    pub fn choice(&self, settings: &Settings, project: &Project) -> Result<AgentChoice, Failure> {
        let flags = [&settings.agent.origin, &settings.model.origin, &settings.permission.origin];
        let chosen = settings.chosen(&project.root).map_err(|error| refused(&flags, error))?;
        tried(settings, chosen, self.agent_arg.clone())
    }

    /// Returns the agents that take over while that one is limited. Arguments on the command line are not theirs.
    pub fn fallback(settings: &Settings, project: &Project) -> Result<Vec<AgentChoice>, Failure> {
        let flags = [&settings.fallback.origin, &settings.permission.origin];
        let chosen = settings.fallbacks(&project.root).map_err(|error| refused(&flags, error))?;
        chosen.into_iter().map(|chosen| tried(settings, chosen, Vec::new())).collect()
    }
}

pub fn tried(settings: &Settings, chosen: Chosen, extra_args: Vec<String>) -> Result<AgentChoice, Failure> {
    let written = settings.agents.get(&chosen.name).cloned().unwrap_or_default();
    let choice = AgentChoice {
        name: chosen.name,
        adapter: chosen.adapter,
        overrides: chosen.overrides,
        model: chosen.model,
        permission: chosen.permission,
        extra_args,
        env: chosen.env,
    };
    choice.response_filter().map(drop).map_err(|error| bad_filter(&error, &written.response_filter))?;
    choice.display_filter().map(drop).map_err(|error| bad_filter(&error, &written.display_filter))?;
    Ok(choice)
}

/// What a flag got wrong is an error of usage, and the flag needs no place.
fn refused(flags: &[&Origin], error: ConfigError) -> Failure {
    let is_wrong = |origin: &Origin| match origin {
        Origin::Flag { name } => error.place == *name,
        Origin::File { .. } | Origin::Environment { .. } | Origin::BuiltIn => false,
    };
    if flags.iter().any(|origin| is_wrong(origin)) {
        return error.hint.into_iter().fold(Failure::usage(error.what), Failure::hint);
    }
    error.into()
}

fn bad_filter(error: &FilterError, filter: &Setting<Option<String>>) -> Failure {
    let failure = match &filter.origin {
        Origin::Flag { .. } | Origin::BuiltIn => Failure::new(exit_code::USAGE, error),
        origin @ (Origin::File { .. } | Origin::Environment { .. }) => {
            Failure::preflight(format!("{origin}: {error}"))
        }
    };
    failure.hint(error.hint())
}
