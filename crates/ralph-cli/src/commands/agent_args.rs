//! Which agent, and how: the flags that every command with a loop shares.
use clap::{Args, ValueHint};
use ralph_core::outcome::exit_code;

use super::completion_values;
use crate::error::CommandError;
use ralph_agents::{FilterError, OutputFormat, PermissionLevel};
use ralph_app::config::{ChosenAgent, ConfigError, Setting, SettingOrigin, Settings};
use ralph_engine::project::Project;
use ralph_engine::run_driver::AgentChoice;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Agent")]
pub struct AgentArgs {
    /// The agent: one that `ralph agents` lists, text (any program), or one of your configuration [built-in:
    /// claude]
    #[arg(long, value_parser = completion_values::agent_name_parser(), hide_possible_values = true)]
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
    #[arg(long, value_name = "PERMISSION", value_parser = completion_values::permission_parser(), hide_possible_values = true)]
    permission: Option<PermissionLevel>,
    /// How to read the agent's output, instead of its own format
    #[arg(long, value_name = "FORMAT", value_parser = completion_values::format_parser(), hide_possible_values = true)]
    output_format: Option<OutputFormat>,
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
        let done: Result<(), std::convert::Infallible> = settings.apply_layer(|settings| {
            settings.agent.set_from_flag(self.agent.clone(), "--agent");
            let fallback = (!self.fallback.is_empty()).then(|| self.fallback.clone());
            settings.fallback.set_from_flag(fallback, "--fallback");
            settings.model.set_from_flag(self.model.clone().map(Some), "--model");
            settings.permission.set_from_flag(self.permission.map(Some), "--permission");
            let agent = settings.current_agent_mut();
            agent.cli.set_from_flag(self.agent_cmd.clone().map(Some), "--agent-cmd");
            agent.output_format.set_from_flag(self.output_format.map(Some), "--output-format");
            agent.response_filter.set_from_flag(self.response_filter.clone().map(Some), "--response-filter");
            agent.display_filter.set_from_flag(self.display_filter.clone().map(Some), "--display-filter");
            Ok(())
        });
        done.unwrap_or_else(|never| match never {});
    }

    /// Returns the agent that the settings choose. Filters are tried, so that a mistake shows at once.
    pub fn choose_agent(&self, settings: &Settings, project: &Project) -> Result<AgentChoice, CommandError> {
        let flags = [&settings.agent.origin, &settings.model.origin, &settings.permission.origin];
        let chosen = settings.chosen_agent(&project.root).map_err(|error| flag_or_config_error(&flags, error))?;
        build_agent_choice(settings, chosen, self.agent_arg.clone())
    }

    /// Returns the agents that take over while that one is limited. Arguments on the command line are not theirs.
    pub fn choose_fallbacks(settings: &Settings, project: &Project) -> Result<Vec<AgentChoice>, CommandError> {
        let flags = [&settings.fallback.origin, &settings.permission.origin];
        let chosen = settings.fallback_agents(&project.root).map_err(|error| flag_or_config_error(&flags, error))?;
        chosen.into_iter().map(|chosen| build_agent_choice(settings, chosen, Vec::new())).collect()
    }
}

pub fn build_agent_choice(
    settings: &Settings,
    chosen: ChosenAgent,
    extra_args: Vec<String>,
) -> Result<AgentChoice, CommandError> {
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
    choice.response_filter().map(drop).map_err(|error| filter_error(&error, &written.response_filter))?;
    choice.display_filter().map(drop).map_err(|error| filter_error(&error, &written.display_filter))?;
    Ok(choice)
}

/// What a flag got wrong is an error of usage, and the flag needs no place.
fn flag_or_config_error(flags: &[&SettingOrigin], error: ConfigError) -> CommandError {
    let is_wrong = |origin: &SettingOrigin| match origin {
        SettingOrigin::Flag { name } => error.place == *name,
        SettingOrigin::File { .. } | SettingOrigin::Environment { .. } | SettingOrigin::BuiltIn => false,
    };
    if flags.iter().any(|origin| is_wrong(origin)) {
        return error.hint.into_iter().fold(CommandError::usage_error(error.message), CommandError::with_hint);
    }
    error.into()
}

fn filter_error(error: &FilterError, filter: &Setting<Option<String>>) -> CommandError {
    let failure = match &filter.origin {
        SettingOrigin::Flag { .. } | SettingOrigin::BuiltIn => CommandError::from_error(exit_code::USAGE_ERROR, error),
        origin @ (SettingOrigin::File { .. } | SettingOrigin::Environment { .. }) => {
            CommandError::preflight_error(format!("{origin}: {error}"))
        }
    };
    failure.with_hint(error.hint())
}
