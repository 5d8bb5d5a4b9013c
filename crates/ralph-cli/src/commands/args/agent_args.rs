//! Flags that choose and configure the agent; shared by every command that runs a loop.
use clap::{Args, ValueHint};

use crate::commands::args::completion_values;
use ralph_agents::{OutputFormat, PermissionLevel};
use ralph_app::config::Settings;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Agent")]
pub struct AgentArgs {
    /// Agent to run: a name from `ralph agents`, text (any program), or an agent of your configuration [built-in:
    /// claude]
    #[arg(long, value_parser = completion_values::agent_name_parser(), hide_possible_values = true)]
    agent: Option<String>,
    /// Program to start instead of the agent's default; required for --agent text and acp
    #[arg(long, value_name = "PATH", value_hint = ValueHint::CommandName)]
    agent_cmd: Option<String>,
    /// Extra argument for the agent; repeat for more
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    agent_arg: Vec<String>,
    /// Agent that takes over, with fresh context, while the agents before it are rate limited; repeat for more
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    fallback: Vec<String>,
    /// Model to use, as the agent names it
    #[arg(long)]
    model: Option<String>,
    /// Actions that need no approval: ask (only what the agent's settings allow), edits (edit project files), work (also
    /// run checks, usual builds and tests, and commit) or full (everything); `ralph agents` shows the defaults
    #[arg(long, value_name = "PERMISSION", value_parser = completion_values::permission_parser(), hide_possible_values = true)]
    permission: Option<PermissionLevel>,
    /// Format of the agent's output, instead of the agent's default
    #[arg(long, value_name = "FORMAT", value_parser = completion_values::format_parser(), hide_possible_values = true)]
    output_format: Option<OutputFormat>,
    /// jq expression that extracts the agent's text; the last value is its final message
    #[arg(long, value_name = "JQ")]
    response_filter: Option<String>,
    /// jq expression that selects which output of the agent is shown
    #[arg(long, value_name = "JQ")]
    display_filter: Option<String>,
}

impl AgentArgs {
    /// Applies the flags as the highest configuration layer.
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

    /// Returns whether the flags choose an agent or a model.
    pub fn names_agent(&self) -> bool {
        self.agent.is_some() || self.model.is_some() || self.agent_cmd.is_some()
    }

    /// Returns the additional arguments for the chosen agent.
    pub fn extra_args(&self) -> Vec<String> {
        self.agent_arg.clone()
    }
}
