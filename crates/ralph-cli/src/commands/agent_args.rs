//! Which agent, and how: the flags that every command with a loop shares.
use clap::{Args, ValueHint};

use super::completion_values;
use ralph_agents::{OutputFormat, PermissionLevel};
use ralph_app::config::Settings;

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

    /// Returns the additional arguments for the chosen agent.
    pub fn extra_args(&self) -> Vec<String> {
        self.agent_arg.clone()
    }
}
