//! The arguments of `ralph task run`.
use clap::Args;
use ralph_core::policy::ContextMode;
use ralph_core::task::Role;

use crate::commands::args::agent_args::AgentArgs;
use crate::commands::args::check_args::ProofArgs;
use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::limit_args::LimitArgs;
use crate::commands::args::output_args::OutputArgs;
use crate::commands::args::value_parsers::parse_iterations;
use crate::commands::run::detach::DetachArgs;
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_engine::project::Project;

/// Runs an agent on one stage of a task, in this work tree, until the stage is verified
///
/// The prompt contains the task, its completion criteria and how to claim completion. The criteria of the role decide.
/// Settings that the task does not contain come from the configuration (`ralph.coder.…`), then from the defaults of the
/// role. A judging role may answer <reject>reason</reject>: the task returns to the coder, and the next coder gets the reason.
#[derive(Debug, Args)]
#[command(mut_arg("guard", |arg| arg.help("Files that must not change before a claim, as in a .gitignore; replaces the configured ones and adds to those of the task; repeat for more")))]
#[command(mut_arg("require_criteria", |arg| arg.help("Refuses a task without completion criteria, or a stage that only the agent's claim would decide")))]
#[command(after_help = "Examples:
  ralph task run TASK-001
  ralph task run TASK-001 --role reviewer --agent codex
  ralph task run TASK-001 --require-criteria --max-iterations 5 --json")]
pub struct TaskRunArgs {
    /// The task id
    pub id: String,
    /// Role: coder, reviewer, tester, qa, or a custom role
    #[arg(long, default_value = "coder", value_parser = parse_role)]
    pub role: Role,
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Continues the agent's session from the second iteration on, if the agent supports it
    #[arg(long = "continue", help_heading = "Agent")]
    continued: bool,
    #[command(flatten)]
    proof: ProofArgs,
    /// Stops after N iterations; overrides the limit of the task
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_iterations, help_heading = "Limits")]
    pub max_iterations: Option<u32>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub background: DetachArgs,
}

impl TaskRunArgs {
    /// Returns the settings of all configuration layers, overridden by those of the role and by these flags.
    pub fn load_settings(&self, project: &Project) -> Result<Settings, CommandError> {
        let mut settings = self.config.load_settings(Some(project))?;
        settings.apply_role(&self.role);
        self.agent.apply(&mut settings);
        self.limits.apply(&mut settings);
        self.proof.apply(&mut settings);
        Ok(settings)
    }

    pub fn context(&self) -> ContextMode {
        if self.continued { ContextMode::Continue } else { ContextMode::Fresh }
    }
}

fn parse_role(text: &str) -> Result<Role, String> {
    Role::parse(text).map_err(|error| error.to_string())
}
