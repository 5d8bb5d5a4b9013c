//! The arguments of `ralph task generate`.
use std::path::PathBuf;

use clap::Args;
use ralph_core::task::{is_valid_id, to_slug};

use crate::commands::args::agent_args::AgentArgs;
use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::limit_args::LimitArgs;
use crate::commands::args::output_args::OutputArgs;
use crate::commands::args::value_parsers::parse_iterations;
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_engine::project::Project;

/// Generates tasks from a spec with an agent
///
/// The agent reads the spec and the repository and writes tasks, each with an outcome and acceptance criteria. ralph
/// validates them as `ralph task import` does, and returns errors to the agent up to --max-iterations times. Then it stores
/// all tasks or none. Checks that the agent wrote do not run until you approve them with `ralph task approve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task generate docs/auth.md
  ralph task generate spec.md --spec auth --agent codex
  ralph task generate docs/auth.md --dry-run      only prints the prompt

Exit codes: as for `ralph run`; 3 the agent wrote no tasks that can be imported")]
pub struct TaskGenerateArgs {
    /// The file with the spec; - for standard input
    pub file: PathBuf,
    /// Id of the spec [default: from the file name]
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// Prints the prompt without starting the agent
    #[arg(long)]
    pub dry_run: bool,
    /// Stops after N attempts of the agent
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_iterations, default_value = "3",
        help_heading = "Limits")]
    pub max_iterations: u32,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub(in crate::commands::tasks::task) config: ConfigArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl TaskGenerateArgs {
    /// Returns the settings of all configuration layers, overridden by these flags.
    pub fn load_settings(&self, project: &Project) -> Result<Settings, CommandError> {
        let mut settings = self.config.load_settings(Some(project))?;
        self.agent.apply(&mut settings);
        self.limits.apply(&mut settings);
        Ok(settings)
    }

    /// Returns the id of the spec.
    pub fn spec_id(&self) -> Result<String, CommandError> {
        let stem = self.file.file_stem().unwrap_or_default().to_string_lossy();
        let id = self.spec.clone().unwrap_or_else(|| to_slug(&stem));
        match is_valid_id(&id) {
            true => Ok(id),
            false => Err(CommandError::usage_error(format!("{id:?} is not a valid spec id"))
                .with_hint("set one with --spec: letters, digits, `-`, `_` and `.`, such as auth-feature")),
        }
    }
}
