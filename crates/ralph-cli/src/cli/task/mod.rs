//! `ralph task`: what is to be done, and what done means.
mod approve;
mod create;
mod delete;
mod edit;
mod export;
mod field_args;
mod followup;
mod generate;
mod generate_args;
mod held;
mod import;
mod list;
mod role_args;
mod run;
mod run_args;
mod seen_since;
mod show;
mod stage_plan;
mod take_in;
pub mod templates;

use clap::{Args, Subcommand};
use ralph_core::task::{Author, Status, Task};

pub use create::CreateArgs;
pub use delete::at_rest;
pub use followup::FollowupArgs;
pub use stage_plan::{StagePlan, StageWanted, approved, stage_plan};
pub use take_in::{finish, finish_in};

use super::around::run_around;
use super::pick;
use crate::error::Failure;
use ralph_agents::is_session_shell;
use ralph_engine::project::Project;
use ralph_store::{Opening, Store, TaskRow};
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
    List(list::ListArgs),
    Show(show::ShowArgs),
    Create(Box<CreateArgs>),
    Edit(Box<edit::EditArgs>),
    Followup(Box<FollowupArgs>),
    Delete(delete::DeleteArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
    Generate(Box<generate_args::GenerateArgs>),
    Approve(approve::ApproveArgs),
    Run(Box<run_args::RunArgs>),
}

pub fn run(args: &TaskCommand) -> Result<u8, Failure> {
    match &args.command {
        TaskSubcommand::List(args) => list::run(args),
        TaskSubcommand::Show(args) => show::run(args),
        TaskSubcommand::Create(args) => create(args),
        TaskSubcommand::Edit(args) => edit::run(args),
        TaskSubcommand::Followup(args) => followup(args),
        TaskSubcommand::Delete(args) => delete::run(args),
        TaskSubcommand::Import(args) => import::run(args),
        TaskSubcommand::Export(args) => export::run(args),
        TaskSubcommand::Generate(args) => generate::run(args),
        TaskSubcommand::Approve(args) => approve::run(args),
        TaskSubcommand::Run(args) => run::run(args),
    }
}

pub fn create(args: &CreateArgs) -> Result<u8, Failure> {
    create::run(args)
}

pub fn followup(args: &FollowupArgs) -> Result<u8, Failure> {
    followup::run(args)
}

/// Opens the store of the project, and makes it where there is none.
async fn made_store() -> Result<Store, Failure> {
    let project = Project::here()?;
    let store = Store::open(&project.state(), Opening::Create).await?;
    store.ok_or_else(|| Failure::preflight("the database was not created"))
}

/// Opens the store of a project that has one.
pub async fn opened() -> Result<Store, Failure> {
    pick::store().await?.ok_or_else(|| {
        Failure::preflight("this project has no tasks yet")
            .hint("make one with `ralph task create`, or read some in with `ralph task import`")
    })
}

/// Tells who is at work: an agent of a run on this project or of a session, or a person.
fn author(project: &Project) -> Author {
    let in_session = || is_session_shell(|name| std::env::var_os(name).is_some());
    if run_around(project).is_some() || in_session() { Author::Agent } else { Author::Person }
}

/// Refuses an agent that says how far a task is.
fn moved_by(author: Author, was: Status, task: &Task) -> Result<(), Failure> {
    if author.may_set(was, task.status) {
        return Ok(());
    }
    Err(Failure::preflight(format!(
        "task {}: an agent cannot say that it is {}",
        task.id,
        task.status.as_str()
    ))
    .hint("claim that the work is done: what is verified moves the task"))
}

/// Says that a task waits for approval.
fn awaits(id: &str) -> String {
    format!(
        "an agent wrote what decides about task {id}: look at it, and approve it with `ralph task approve {id}`"
    )
}

/// Returns the store and a task of it.
async fn picked(id: &str) -> Result<(Store, TaskRow), Failure> {
    let store = opened().await?;
    match store.task(id).await? {
        Some(task) => Ok((store, task)),
        None => {
            Err(unknown(id, &store.tasks().await?.iter().map(|task| task.id.as_str()).collect::<Vec<_>>()))
        }
    }
}

/// There is no task of that id.
pub fn unknown(id: &str, ids: &[&str]) -> Failure {
    let failure = Failure::usage(format!("there is no task {id:?} here"));
    match suggest::near(id, ids) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint("`ralph task list` lists them"),
    }
}
