//! `ralph task` and its subcommands.
mod approve;
pub(crate) mod args;
mod create;
mod delete;
mod edit;
mod export;
mod followup;
mod generate;
mod import;
mod list;
mod run;
mod show;

use clap::{Args, Subcommand};

pub use create::TaskCreateArgs;
pub use followup::TaskFollowupArgs;

use crate::error::CommandError;

/// Manages tasks: units of work with completion criteria
///
/// A task has an outcome and acceptance criteria, and for each role (coder, reviewer, tester, qa) a promise and a method
/// to verify it. `ralph task run` runs an agent on one stage of a task until the stage is verified.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task create TASK-001 auth 'Add a login' --outcome 'People can log in' \\
      --acceptance 'a bad password gives 401' --coder-verify-cmd 'make test'
  ralph task import tasks.yaml                     also prd.json and Markdown checklists
  ralph task generate docs/auth.md                 an agent writes tasks from a spec
  ralph task list --ready                          tasks that can start now
  ralph task run TASK-001                          the coder's stage, in this work tree
  ralph task show TASK-001                         its criteria, claims and verdicts")]
pub struct TaskCommand {
    #[command(subcommand)]
    command: TaskSubcommand,
}

#[derive(Debug, Subcommand)]
enum TaskSubcommand {
    List(list::TaskListArgs),
    Show(show::TaskShowArgs),
    Create(Box<TaskCreateArgs>),
    Edit(Box<edit::TaskEditArgs>),
    Followup(Box<TaskFollowupArgs>),
    Delete(delete::TaskDeleteArgs),
    Import(import::TaskImportArgs),
    Export(export::TaskExportArgs),
    Generate(Box<args::generate_args::TaskGenerateArgs>),
    Approve(approve::TaskApproveArgs),
    Run(Box<args::run_args::TaskRunArgs>),
}

pub fn run(args: &TaskCommand) -> Result<u8, CommandError> {
    match &args.command {
        TaskSubcommand::List(args) => list::run(args),
        TaskSubcommand::Show(args) => show::run(args),
        TaskSubcommand::Create(args) => create_task(args),
        TaskSubcommand::Edit(args) => edit::run(args),
        TaskSubcommand::Followup(args) => create_followup_task(args),
        TaskSubcommand::Delete(args) => delete::run(args),
        TaskSubcommand::Import(args) => import::run(args),
        TaskSubcommand::Export(args) => export::run(args),
        TaskSubcommand::Generate(args) => generate::run(args),
        TaskSubcommand::Approve(args) => approve::run(args),
        TaskSubcommand::Run(args) => run::run(args),
    }
}

pub fn create_task(args: &TaskCreateArgs) -> Result<u8, CommandError> {
    create::run(args)
}

pub fn create_followup_task(args: &TaskFollowupArgs) -> Result<u8, CommandError> {
    followup::run(args)
}
