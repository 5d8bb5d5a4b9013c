//! `ralph task edit`.
use clap::Args;
use ralph_app::tasks::{TaskEditRequest, detect_author, edit_task};
use ralph_core::task::{Approval, TaskStatus};
use ralph_engine::project::Project;

use super::args::field_args::{TaskFieldArgs, parse_status};
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Edits a task: each flag replaces one field
///
/// An active run keeps the criteria that it started with. A task that waits for approval keeps waiting: only `ralph task
/// approve` approves. If an agent in a run changes the criteria, they need approval; an agent cannot set the status.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task edit TASK-001 --priority 1 --depends TASK-000
  ralph task edit TASK-001 --status todo
  ralph task edit TASK-001 --tester-verify-cmd 'make test' --tester-max-iterations 3")]
pub struct TaskEditArgs {
    /// The task id
    id: String,
    /// Title: what to do, in one line
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Spec that the task belongs to
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// todo, coding, reviewing, testing, qa, done, blocked or cancelled
    #[arg(long, value_parser = parse_status)]
    status: Option<TaskStatus>,
    #[command(flatten)]
    fields: TaskFieldArgs,
}

pub fn run(args: &TaskEditArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let request = TaskEditRequest {
        id: args.id.clone(),
        title: args.title.clone(),
        spec: args.spec.clone(),
        status: args.status,
        fields: args.fields.to_fields()?,
        source: "ralph task edit",
    };
    let author = detect_author(&project);
    let edited = block_on(async { Ok(edit_task(&project, &request, author).await?) })?;
    out::print_line(&format!("changed task {}", edited.id));
    if edited.approval == Approval::Pending {
        out::print_note(&format!(
            "an agent wrote the criteria of task {0}: review them, then approve them with `ralph task approve {0}`",
            edited.id
        ));
    }
    Ok(0)
}
