//! `ralph task`: what is to be done, and what done means.
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
mod task_checks;

use clap::{Args, Subcommand};
use ralph_core::task::{Task, TaskAuthor, TaskStatus};

pub use create::TaskCreateArgs;
pub use delete::ensure_not_running;
pub use followup::TaskFollowupArgs;
pub use import_generated::{finish_generation, finish_generation_in};

use super::run_lookup;
use crate::error::CommandError;
use ralph_agents::is_inside_agent_session;
use ralph_app::run::find_enclosing_run;
use ralph_engine::project::Project;
use ralph_store::{OpenMode, Store, TaskRow};
use ralph_util::suggest;

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

/// Opens the store of the project, and makes it where there is none.
async fn open_or_create_store() -> Result<Store, CommandError> {
    let project = Project::find_here()?;
    let store = Store::open(&project.state_folder(), OpenMode::Create).await?;
    store.ok_or_else(|| CommandError::preflight_error("the database was not created"))
}

/// Opens the store of a project that has one.
pub async fn open_task_store() -> Result<Store, CommandError> {
    run_lookup::open_existing_store().await?.ok_or_else(|| {
        CommandError::preflight_error("this project has no tasks yet")
            .with_hint("make one with `ralph task create`, or read some in with `ralph task import`")
    })
}

/// Tells who is at work: an agent of a run on this project or of a session, or a person.
fn current_author(project: &Project) -> TaskAuthor {
    let in_session = || is_inside_agent_session(|name| std::env::var_os(name).is_some());
    if find_enclosing_run(project).is_some() || in_session() { TaskAuthor::Agent } else { TaskAuthor::Person }
}

/// Refuses an agent that says how far a task is.
fn ensure_may_set_status(author: TaskAuthor, was: TaskStatus, task: &Task) -> Result<(), CommandError> {
    if author.can_set_status(was, task.status) {
        return Ok(());
    }
    Err(CommandError::preflight_error(format!(
        "task {}: an agent cannot say that it is {}",
        task.id,
        task.status.as_str()
    ))
    .with_hint("claim that the work is done: what is verified moves the task"))
}

/// Says that a task waits for approval.
fn approval_notice(id: &str) -> String {
    format!("an agent wrote what decides about task {id}: look at it, and approve it with `ralph task approve {id}`")
}

/// Returns the store and a task of it.
async fn find_task(id: &str) -> Result<(Store, TaskRow), CommandError> {
    let store = open_task_store().await?;
    match store.get_task(id).await? {
        Some(task) => Ok((store, task)),
        None => Err(unknown_task_error(
            id,
            &store.list_tasks().await?.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(),
        )),
    }
}

/// There is no task of that id.
pub fn unknown_task_error(id: &str, ids: &[&str]) -> CommandError {
    let failure = CommandError::usage_error(format!("there is no task {id:?} here"));
    match suggest::nearest_name(id, ids) {
        Some(near) => failure.with_hint(format!("did you mean {near}?")),
        None => failure.with_hint("`ralph task list` lists them"),
    }
}
