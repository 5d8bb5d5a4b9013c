//! `ralph task edit`.
use clap::Args;
use ralph_core::task::{Approval, Task, TaskStatus};

use super::field_args::{TaskFieldArgs, parse_status};
use super::task_checks::{OriginalTask, check_task};
use super::{approval_notice, current_author, ensure_may_set_status, find_task};
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::task::TaskOrigin;
use ralph_app::worktrees::WorktreeOwner;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{TaskChange, TaskListItem, TaskRow};
use ralph_util::failpoints::{self, FailPoint};

/// Changes a task: what a flag says replaces what was there
///
/// A run that is going on keeps the criteria with which it began. What waits for approval goes on waiting: only `ralph
/// task approve` approves. Where an agent of a run changes what done means, that waits for approval; the status of a task
/// is not an agent's to set.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task edit TASK-001 --priority 1 --depends TASK-000
  ralph task edit TASK-001 --status todo
  ralph task edit TASK-001 --tester-verify-cmd 'make test' --tester-max-iterations 3")]
pub struct TaskEditArgs {
    id: String,
    /// What is to be done, in one line
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The spec that it belongs to
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// todo, coding, reviewing, testing, qa, done, blocked or cancelled
    #[arg(long, value_parser = parse_status)]
    status: Option<TaskStatus>,
    #[command(flatten)]
    fields: TaskFieldArgs,
}

pub fn run(args: &TaskEditArgs) -> Result<u8, CommandError> {
    block_on(async {
        let (store, row) = find_task(&args.id).await?;
        let task = args.build_edited_task(&row)?;
        let project = Project::find_here()?;
        let author = current_author(&project);
        ensure_may_set_status(author, row.task.status, &task)?;
        // Whoever works on a task says itself what becomes of it.
        let reservation = match task.status == row.task.status {
            true => None,
            false => Some(WorktreeOwner::find(&store, &args.id).await?.reserve_worktree(&store, &project).await?),
        };
        failpoints::reach_fail_point(FailPoint::EditLocked);
        let approval = Approval::after_change(row.approval, Some(&row.task), &task, author);
        let decide = |there: &[TaskListItem]| {
            ensure_unchanged(there, &row)?;
            args.fields.ensure_valid_dependencies(&task, there)?;
            Ok(vec![TaskChange::Replace { task: task.clone(), approval }])
        };
        let changed: Result<(), CommandError> = store.change_tasks(Clock::wall_now(), decide).await;
        if let Some(hold) = reservation {
            hold.release(&store).await?;
        }
        store.close().await;
        changed?;
        out::print_line(&format!("task {} is changed", args.id));
        if approval == Approval::Pending {
            out::print_note(&approval_notice(&args.id));
        }
        Ok(0)
    })
}

impl TaskEditArgs {
    fn build_edited_task(&self, row: &TaskRow) -> Result<Task, CommandError> {
        let mut task = row.task.clone();
        if let Some(title) = &self.title {
            task.title.clone_from(title);
        }
        task.spec_id = self.spec.clone().or(task.spec_id);
        task.status = self.status.unwrap_or(task.status);
        self.fields.apply(&mut task)?;
        if task == row.task {
            return Err(
                CommandError::usage_error("nothing would change").with_hint("`ralph task edit --help` lists the flags")
            );
        }
        check_task(&task, &OriginalTask { task: &row.task, origin: &TaskOrigin::Command("ralph task edit") })?;
        Ok(task)
    }
}

/// What somebody else wrote meanwhile is not lost.
fn ensure_unchanged(there: &[TaskListItem], row: &TaskRow) -> Result<(), CommandError> {
    let now = there.iter().find(|head| head.id == row.task.id);
    if now.is_some_and(|head| head.updated_at == row.updated_at) {
        return Ok(());
    }
    Err(CommandError::preflight_error(format!("task {} was changed by somebody else just now", row.task.id))
        .with_hint("try again"))
}
