//! Changes a task.
use ralph_core::task::{Approval, Task, TaskAuthor, TaskStatus};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{Store, TaskChange, TaskListItem, TaskRow};
use ralph_util::failpoints::{self, FailPoint};

use super::checks::{OriginalTask, check_task};
use super::{TaskAdvice, TaskFields, ensure_may_set_status};
use crate::error::{AppError, AppResult};
use crate::task_files::{FoundTask, TaskOrigin, find_task};
use crate::worktrees::{WorktreeOwner, WorktreeReservation};

/// Fields of a task to replace.
#[derive(Debug)]
pub struct TaskEditRequest {
    pub id: String,
    pub title: Option<String>,
    pub spec: Option<String>,
    pub status: Option<TaskStatus>,
    pub fields: TaskFields,
    /// The name of this request in errors, such as the command.
    pub source: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedTask {
    pub id: String,
    /// Whether a person must approve the criteria before the task can run.
    pub approval: Approval,
}

/// Changes a task, unless another process changes it at the same time.
pub async fn edit_task(project: &Project, request: &TaskEditRequest, author: TaskAuthor) -> AppResult<EditedTask> {
    let FoundTask { store, row } = find_task(project, &request.id).await?;
    let task = build_edited_task(project, request, &row)?;
    ensure_may_set_status(author, row.task.status, &task)?;
    let reservation = reserve_for_status(&store, project, &row, &task).await?;
    failpoints::reach_fail_point(FailPoint::EditLocked);
    let approval = Approval::after_change(row.approval, Some(&row.task), &task, author);
    let decide = |stored: &[TaskListItem]| {
        ensure_unchanged(stored, &row)?;
        request.fields.ensure_valid_dependencies(&task, stored)?;
        Ok(vec![TaskChange::Replace { task: task.clone(), approval }])
    };
    let changed: AppResult<()> = store.change_tasks(Clock::wall_now(), decide).await;
    if let Some(reservation) = reservation {
        reservation.release(&store).await?;
    }
    store.close().await;
    changed.map(|()| EditedTask { id: request.id.clone(), approval })
}

/// Reserves the task if its status changes: a worker that has the task sets the status itself.
async fn reserve_for_status(
    store: &Store,
    project: &Project,
    row: &TaskRow,
    changed: &Task,
) -> AppResult<Option<WorktreeReservation>> {
    if changed.status == row.task.status {
        return Ok(None);
    }
    WorktreeOwner::find(store, &row.task.id).await?.reserve_worktree(store, project).await.map(Some)
}

fn build_edited_task(project: &Project, request: &TaskEditRequest, row: &TaskRow) -> AppResult<Task> {
    let mut task = row.task.clone();
    if let Some(title) = &request.title {
        task.title.clone_from(title);
    }
    task.spec_id = request.spec.clone().or(task.spec_id);
    task.status = request.status.unwrap_or(task.status);
    request.fields.apply_to(&mut task);
    if task == row.task {
        return Err(AppError::invalid_request("nothing would change").with_advice(TaskAdvice::ChangeField));
    }
    let origin = TaskOrigin::Command(request.source);
    check_task(project, &task, &OriginalTask { task: &row.task, origin: &origin })?;
    Ok(task)
}

/// Refuses to overwrite a change of another process.
fn ensure_unchanged(stored: &[TaskListItem], row: &TaskRow) -> AppResult<()> {
    let now = stored.iter().find(|task| task.id == row.task.id);
    if now.is_some_and(|task| task.updated_at == row.updated_at) {
        return Ok(());
    }
    Err(AppError::preflight(format!("another process has just changed task {}", row.task.id)).with_advice("try again"))
}
