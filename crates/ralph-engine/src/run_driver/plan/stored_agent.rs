//! An agent of a run, as it is stored with the run: by names instead of values, because values may be secrets.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::agent_choice::AgentChoice;
use ralph_agents as agent;
use ralph_agents::{OutputFormat, PermissionLevel, PresetOverrides, UnknownAgent, WorkScope};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredAgent {
    /// The name in the configuration.
    #[serde(rename = "agent")]
    pub name: String,
    pub adapter: String,
    /// The names of its environment variables. Their values are not stored, because they may be secrets.
    pub env: Vec<String>,
    pub cli: Option<String>,
    pub args: Option<Vec<String>>,
    pub output_format: Option<OutputFormat>,
    pub response_filter: Option<String>,
    pub display_filter: Option<String>,
    pub model: Option<String>,
    #[serde(default)]
    pub permission: Option<PermissionLevel>,
    /// The scope of permission `work`. Runs of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<WorkScope>,
    pub extra_args: Vec<String>,
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
            work_scope: choice.work_scope.clone(),
            extra_args: choice.extra_args.clone(),
        }
    }

    /// Restores the agent. `env` has the values of its variables.
    pub fn to_choice(&self, env: Vec<(String, String)>) -> Result<AgentChoice, UnknownAgent> {
        Ok(AgentChoice {
            name: self.name.clone(),
            adapter: agent::find_agent(&self.adapter)?,
            overrides: PresetOverrides {
                cli: self.cli.clone(),
                args: self.args.clone(),
                output_format: self.output_format,
                response_filter: self.response_filter.clone(),
                display_filter: self.display_filter.clone(),
            },
            model: self.model.clone(),
            permission: self.permission,
            work_scope: self.work_scope.clone(),
            extra_args: self.extra_args.clone(),
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
