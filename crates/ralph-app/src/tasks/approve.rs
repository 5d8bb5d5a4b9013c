//! A person approves what an agent wrote about when a task is done.
use ralph_core::task::{Approval, TaskAuthor};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{TaskChange, TaskListItem, TaskRow};

use crate::error::{AppError, AppResult};
use crate::task_files::{FoundTask, find_task, open_task_store, unknown_id_error};

/// The tasks that a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskSelection {
    All,
    Ids(Vec<String>),
    Spec(String),
}

impl TaskSelection {
    fn contains(&self, row: &TaskRow) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => ids.contains(&row.task.id),
            Self::Spec(spec) => row.task.spec_id.as_ref() == Some(spec),
        }
    }

    /// Refuses ids that no task has.
    fn ensure_known_ids(&self, rows: &[TaskRow]) -> AppResult<()> {
        let Self::Ids(ids) = self else { return Ok(()) };
        let known: Vec<&str> = rows.iter().map(|row| row.task.id.as_str()).collect();
        match ids.iter().find(|id| !known.contains(&id.as_str())) {
            Some(id) => Err(unknown_id_error(id, &known)),
            None => Ok(()),
        }
    }
}

/// Returns the selected tasks that wait for approval, to show them before [`approve_tasks`].
pub async fn find_pending_tasks(
    project: &Project,
    selection: &TaskSelection,
    author: TaskAuthor,
) -> AppResult<Vec<TaskRow>> {
    refuse_agent(author)?;
    let store = open_task_store(project).await?;
    let rows = store.list_full_tasks().await?;
    store.close().await;
    selection.ensure_known_ids(&rows)?;
    Ok(rows.into_iter().filter(|row| row.approval == Approval::Pending && selection.contains(row)).collect())
}

/// Returns one task that waits for approval. Reads no other task.
pub async fn find_pending_task(project: &Project, id: &str, author: TaskAuthor) -> AppResult<TaskRow> {
    refuse_agent(author)?;
    let FoundTask { store, row } = find_task(project, id).await?;
    store.close().await;
    match row.approval {
        Approval::Pending => Ok(row),
        Approval::Granted => Err(AppError::preflight(format!("{id} does not wait for approval"))),
    }
}

/// Approves tasks as they were shown, all or none. Fails if one of them has changed since.
pub async fn approve_tasks(project: &Project, shown: &[TaskRow], author: TaskAuthor) -> AppResult<()> {
    refuse_agent(author)?;
    let store = open_task_store(project).await?;
    let approved = store.change_tasks(Clock::wall_now(), |stored| plan_approvals(shown, stored)).await;
    store.close().await;
    approved
}

fn refuse_agent(author: TaskAuthor) -> AppResult<()> {
    match author {
        TaskAuthor::Person => Ok(()),
        TaskAuthor::Agent => Err(AppError::preflight("an agent cannot approve what agents wrote")
            .with_advice("a person approves, in a terminal outside of the run or session")),
    }
}

fn plan_approvals(shown: &[TaskRow], stored: &[TaskListItem]) -> AppResult<Vec<TaskChange>> {
    let approve = |row: &TaskRow| {
        let id = &row.task.id;
        match stored.iter().any(|task| task.id == *id && task.updated_at == row.updated_at) {
            true => Ok(TaskChange::Approve { id: id.clone() }),
            false => Err(AppError::preflight(format!("task {id} has changed meanwhile"))
                .with_advice("review it again: nothing was approved")),
        }
    };
    shown.iter().map(approve).collect()
}
