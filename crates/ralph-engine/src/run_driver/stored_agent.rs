//! An agent of a run, as it is stored with the run.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::run_plan::AgentChoice;
use ralph_agents as agent;
use ralph_agents::{OutputFormat, PermissionLevel, PresetOverrides, UnknownAgent};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredAgent {
    /// The name in the configuration.
    #[serde(rename = "agent")]
    pub name: String,
    adapter: String,
    /// The names of its environment variables. Their values are not stored, because they may be secrets.
    pub env: Vec<String>,
    cli: Option<String>,
    args: Option<Vec<String>>,
    output_format: Option<OutputFormat>,
    response_filter: Option<String>,
    display_filter: Option<String>,
    model: Option<String>,
    #[serde(default)]
    permission: Option<PermissionLevel>,
    extra_args: Vec<String>,
}

impl StoredAgent {
    #[must_use]
    pub fn from_choice(choice: &AgentChoice) -> Self {
        let overrides = choice.overrides.clone();
        Self {
            name: choice.name.clone(),
            adapter: choice.adapter.name().to_owned(),
            env: choice.env.iter().map(|(name, _)| name.clone()).collect(),
            cli: overrides.cli.map(absolute_program),
            args: overrides.args,
            output_format: overrides.output_format,
            response_filter: overrides.response_filter,
            display_filter: overrides.display_filter,
            model: choice.model.clone(),
            permission: choice.permission,
            extra_args: choice.extra_args.clone(),
        }
    }

    /// Restores the agent. `env` has the values of its variables.
    pub fn into_choice(self, env: Vec<(String, String)>) -> Result<AgentChoice, UnknownAgent> {
        Ok(AgentChoice {
            name: self.name,
            adapter: agent::find_agent(&self.adapter)?,
            overrides: PresetOverrides {
                cli: self.cli,
                args: self.args,
                output_format: self.output_format,
                response_filter: self.response_filter,
                display_filter: self.display_filter,
            },
            model: self.model,
            permission: self.permission,
            extra_args: self.extra_args,
            env,
        })
    }
}

/// Makes a program path with a slash absolute, because it is relative to the directory in which the run was started.
fn absolute_program(program: String) -> String {
    if !program.contains('/') {
        return program;
    }
    let absolute = std::path::absolute(&program).ok().and_then(|path: PathBuf| path.to_str().map(str::to_owned));
    absolute.unwrap_or(program)
}
