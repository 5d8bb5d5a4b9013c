//! `ralph task delete`.
use clap::Args;
use ralph_app::tasks::{DeletedTask, UnmergedWork, delete_tasks, detect_author};
use ralph_app::view::pluralize;
use ralph_engine::project::Project;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Deletes tasks, all or none
///
/// ralph also deletes the work tree of a task and its branch ralph/TASK if no work is lost. It refuses a task that others
/// depend on, and a task with unmerged work unless you pass --leave-work. Runs of a deleted task are kept; `ralph runs`
/// lists them. Agents in a run cannot delete tasks.
#[derive(Debug, Args)]
pub struct TaskDeleteArgs {
    /// The task ids
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Keeps work trees and branches; a new task with the same id continues in them
    #[arg(long)]
    leave_work: bool,
}

pub fn run(args: &TaskDeleteArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let unmerged = if args.leave_work { UnmergedWork::Keep } else { UnmergedWork::Refuse };
    let author = detect_author(&project);
    let deleted = block_on(async { Ok(delete_tasks(&project, &args.ids, unmerged, author).await?) })?;
    deleted.iter().for_each(print_deleted_task);
    Ok(0)
}

fn print_deleted_task(task: &DeletedTask) {
    out::print_line(&format!("deleted task {}", task.id));
    task.kept_work.iter().for_each(|work| out::print_line(&format!("kept {work}")));
    if let Some(path) = &task.removed_worktree {
        out::print_line(&format!("removed the work tree {}", path.display()));
    }
    if let Some(first) = task.kept_refs.first() {
        let count = i64::try_from(task.kept_refs.len()).unwrap_or(i64::MAX);
        out::print_line(&format!(
            "kept the work of its attempts: {}, starting with {first}",
            pluralize(count, "reference")
        ));
    }
}
