//! The tasks that wait for a person: finished work that is not merged, and blocked tasks. Changes nothing.
use ralph_core::task::TaskStatus;
use ralph_engine::project::Project;
use ralph_engine::worktree::{self, WorktreeLayout};
use ralph_store::{TaskListItem, TaskPageFilter};

use super::{TaskListFilter, list_tasks};
use crate::advice::Advice;
use crate::error::{AppError, AppResult};
use crate::run::{open_existing_store, several_candidates_error};

/// The tasks that wait for a person.
#[derive(Debug, Clone, Default)]
pub struct WaitingTasks {
    /// Their work is not merged into the user's branch. A task follows those that it depends on.
    pub unmerged: Vec<TaskListItem>,
    pub blocked: Vec<TaskListItem>,
}

/// Finds the tasks that wait for a person.
pub async fn find_waiting_tasks(project: &Project) -> AppResult<WaitingTasks> {
    let Some(store) = open_existing_store(project).await? else { return Ok(WaitingTasks::default()) };
    let counts = store.count_tasks_by_status().await?;
    let has = |status| counts.iter().any(|count| count.status == status);
    let blocked = match has(TaskStatus::Blocked) {
        true => store.page_of_tasks(&every_task_with(TaskStatus::Blocked)).await?,
        false => Vec::new(),
    };
    if !has(TaskStatus::Done) {
        return Ok(WaitingTasks { unmerged: Vec::new(), blocked });
    }
    let layout = WorktreeLayout::for_project(project)?;
    let branches = tokio::task::spawn_blocking(move || worktree::list_unmerged_branches(&layout))
        .await
        .map_err(|error| AppError::internal(&error))??;
    let branches: Vec<String> = branches.into_iter().collect();
    let mut unmerged = if branches.is_empty() { Vec::new() } else { store.list_tasks_among(&branches).await? };
    unmerged.retain(|task| task.status == TaskStatus::Done);
    Ok(WaitingTasks { unmerged: order_by_dependencies(unmerged), blocked })
}

fn every_task_with(status: TaskStatus) -> TaskPageFilter {
    TaskPageFilter { statuses: vec![status], limit: u32::MAX, ..TaskPageFilter::default() }
}

/// Returns the only finished task whose work is not merged.
pub async fn find_only_unmerged_task(project: &Project) -> AppResult<String> {
    let mut waiting = find_waiting_tasks(project).await?.unmerged;
    match waiting.len() {
        0 => Err(AppError::preflight("no finished task waits to be merged").with_advice(Advice::ListTasks)),
        1 => Ok(waiting.swap_remove(0).id),
        _ => {
            Err(several_candidates_error("several finished tasks wait to be merged", waiting.iter().map(describe_task)))
        }
    }
}

/// Returns the only task that is blocked or cancelled, so that it can be made ready again.
pub async fn find_only_retryable_task(project: &Project) -> AppResult<String> {
    let listed = list_tasks(project, &TaskListFilter::default()).await?.tasks.into_iter().map(|task| task.item);
    let is_ended = |task: &TaskListItem| matches!(task.status, TaskStatus::Blocked | TaskStatus::Cancelled);
    let mut ended: Vec<TaskListItem> = listed.filter(is_ended).collect();
    match ended.len() {
        0 => Err(AppError::preflight("no task is blocked or cancelled").with_advice(Advice::ListTasks)),
        1 => Ok(ended.swap_remove(0).id),
        _ => Err(several_candidates_error("several tasks are blocked or cancelled", ended.iter().map(describe_task))),
    }
}

fn describe_task(task: &TaskListItem) -> String {
    format!("{}  {}", task.id, task.title)
}

/// Moves each task behind those that it depends on, and keeps the order otherwise.
fn order_by_dependencies(mut waiting: Vec<TaskListItem>) -> Vec<TaskListItem> {
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let is_next = |task: &TaskListItem| !waiting.iter().any(|other| task.dependencies.contains(&other.id));
        // A circle cannot be stored; the first task keeps this loop finite.
        let next = waiting.iter().position(is_next).unwrap_or(0);
        ordered.push(waiting.remove(next));
    }
    ordered
}
