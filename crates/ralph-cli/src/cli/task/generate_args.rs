//! What `ralph task generate` can be told.
use std::path::PathBuf;

use clap::Args;
use ralph_core::task::{is_name, slug};

use crate::cli::agent_args::AgentArgs;
use crate::cli::config_args::ConfigArgs;
use crate::cli::limit_args::LimitArgs;
use crate::cli::output_args::OutputArgs;
use crate::cli::values::iterations;
use crate::error::Failure;
use ralph_app::config::Settings;
use ralph_engine::project::Project;

/// Lets an agent make tasks of a spec
///
/// The agent reads the spec and the repository and writes tasks, each with an outcome and acceptance criteria. They are
/// held against everything that `ralph task import` looks at; what is wrong goes back to the agent, a few times at most.
/// Then all of them are stored, or none. Checks that the agent wrote are not started before `ralph task approve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task generate docs/auth.md
  ralph task generate spec.md --spec auth --agent codex
  ralph task generate docs/auth.md --dry-run      the prompt; nothing is started

Exit codes: as for `ralph run`; 3: the agent wrote nothing that could be imported")]
pub struct GenerateArgs {
    /// The file with the spec; - is standard input
    pub file: PathBuf,
    /// The spec that the tasks belong to [usual: by the name of the file]
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// Prints the prompt, and starts nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How often the agent may try
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = iterations, default_value = "3",
        help_heading = "Limits")]
    pub max_iterations: u32,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl GenerateArgs {
    /// Returns the settings of all layers, these flags on top.
    pub fn settings(&self, project: &Project) -> Result<Settings, Failure> {
        let mut settings = self.config.settings(Some(project))?;
        self.agent.apply(&mut settings);
        self.limits.apply(&mut settings);
        Ok(settings)
    }

    /// Returns the id of the spec.
    pub fn spec_id(&self) -> Result<String, Failure> {
        let stem = self.file.file_stem().unwrap_or_default().to_string_lossy();
        let id = self.spec.clone().unwrap_or_else(|| slug(&stem));
        match is_name(&id) {
            true => Ok(id),
            false => Err(Failure::usage(format!("{id:?} is no id of a spec"))
                .hint("name it with --spec: letters, digits, `-`, `_` and `.`, such as auth-feature")),
        }
    }
}
