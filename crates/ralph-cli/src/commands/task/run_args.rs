//! What `ralph task run` can be told.
use clap::Args;
use ralph_core::policy::ContextMode;
use ralph_core::task::Role;

use crate::commands::agent_args::AgentArgs;
use crate::commands::check_args::ProofArgs;
use crate::commands::config_args::ConfigArgs;
use crate::commands::detach::DetachArgs;
use crate::commands::limit_args::LimitArgs;
use crate::commands::output_args::OutputArgs;
use crate::commands::value_parsers::parse_iterations;
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_engine::project::Project;

/// Lets an agent work on one stage of a task, in this work tree, until it is proven done
///
/// The prompt says what the task is, what done means and how to claim it. The criteria of the role decide; what the task
/// does not say comes from the configuration (`ralph.coder.…`), and else is usual for the role. A role that judges may
/// answer <reject>reason</reject>: the task is the coder's again, and the next coder hears why.
#[derive(Debug, Args)]
#[command(mut_arg("guard", |arg| arg.help("Files that must not change before a claim, as in a .gitignore, in place of the configured ones and beside the task's; repeat for more")))]
#[command(mut_arg("require_criteria", |arg| arg.help("Refuses a task that does not say when it is done, or where nothing more than the agent's own word would decide it")))]
#[command(after_help = "Examples:
  ralph task run TASK-001
  ralph task run TASK-001 --role reviewer --agent codex
  ralph task run TASK-001 --require-criteria --max-iterations 5 --json")]
pub struct TaskRunArgs {
    pub id: String,
    /// Who works: coder, reviewer, tester, qa, or a role of your own
    #[arg(long, default_value = "coder", value_parser = parse_role)]
    pub role: Role,
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Goes on in the agent's own session from the second iteration on, where it can
    #[arg(long = "continue", help_heading = "Agent")]
    continued: bool,
    #[command(flatten)]
    proof: ProofArgs,
    /// Stops after so many iterations, whatever the task says
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
    /// Returns the settings of all layers, those of the role and these flags on top.
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
