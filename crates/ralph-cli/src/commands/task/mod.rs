//! `ralph task`: the tasks of a project.
mod approve;
mod create;
mod delete;
mod diff_base;
mod edit;
mod export;
mod field_args;
mod followup;
mod generate;
mod generate_args;
mod import;
mod import_generated;
mod list;
mod role_args;
mod run;
mod run_args;
mod show;

use clap::{Args, Subcommand};

pub use create::TaskCreateArgs;
pub use followup::TaskFollowupArgs;
pub use import_generated::{finish_generation, finish_generation_in};

use crate::error::CommandError;
use ralph_app::task::{self as app_task, FoundTask};
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};

/// Manages tasks: pieces of work that say when they are done
///
/// A task has an outcome and acceptance criteria, and for each role (coder, reviewer, tester, qa) a promise and a way to
/// verify it. `ralph task run` lets an agent work on it until that is proven.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task create TASK-001 auth 'Add a login' --outcome 'People can log in' \\
      --acceptance 'a bad password gives 401' --coder-verify-cmd 'make test'
  ralph task import tasks.yaml                     also prd.json and Markdown check lists
  ralph task generate docs/auth.md                 an agent makes tasks of a spec
  ralph task list --ready                          what can be worked on now
  ralph task run TASK-001                          the coder's stage, in this work tree
  ralph task show TASK-001                         what was claimed, and what was proven")]
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
    Generate(Box<generate_args::TaskGenerateArgs>),
    Approve(approve::TaskApproveArgs),
    Run(Box<run_args::TaskRunArgs>),
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

/// Opens the store of the project here, and creates it if there is none.
async fn open_or_create_store() -> Result<Store, CommandError> {
    Ok(app_task::open_or_create_store(&Project::find_here()?).await?)
}

/// Returns a task of the project here, with its store.
async fn find_task(id: &str) -> Result<(Store, TaskRow), CommandError> {
    let FoundTask { store, row } = app_task::find_task(&Project::find_here()?, id).await?;
    Ok((store, row))
}
