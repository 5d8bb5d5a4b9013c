//! Deletes tasks with their work trees and branches.
use std::path::PathBuf;

use ralph_core::task::TaskAuthor;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_engine::worktree::{self, WorktreeLayout};
use ralph_store::{Store, TaskChange, TaskListItem};

use super::{TaskAdvice, ensure_not_running};
use crate::error::{AppError, AppResult};
use crate::task_files::{open_or_create_store, unknown_id_error};
use crate::worktrees::{WorktreeOwner, WorktreeReservation};

/// Whether unmerged work is kept or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmergedWork {
    /// Refuse to delete the task; remove its work tree and branch otherwise.
    Refuse,
    /// Leave work trees and branches as they are.
    Keep,
}

/// A deleted task, and what remains of it in the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeletedTask {
    pub id: String,
    /// Descriptions of unmerged work that stays.
    pub kept_work: Vec<String>,
    pub removed_worktree: Option<PathBuf>,
    /// References to attempts that stay.
    pub kept_refs: Vec<String>,
}

/// Deletes tasks, all or none. Fails if another task depends on one of them, or if a run is working on one.
pub async fn delete_tasks(
    project: &Project,
    ids: &[String],
    unmerged: UnmergedWork,
    author: TaskAuthor,
) -> AppResult<Vec<DeletedTask>> {
    if author == TaskAuthor::Agent {
        return Err(AppError::preflight("an agent cannot delete tasks").with_advice("a person can, outside of the run"));
    }
    let store = open_or_create_store(project).await?;
    let deletion = TaskDeletion { project, store: &store, ids };
    let mut reservations = Vec::new();
    let deleted = deletion.delete_tasks(unmerged, &mut reservations).await;
    for reservation in reservations {
        reservation.release(&store).await?;
    }
    store.close().await;
    deleted
}

struct TaskDeletion<'a> {
    project: &'a Project,
    store: &'a Store,
    ids: &'a [String],
}

impl TaskDeletion<'_> {
    /// Deletes the tasks while no worker can lease one.
    async fn delete_tasks(
        &self,
        unmerged: UnmergedWork,
        reservations: &mut Vec<WorktreeReservation>,
    ) -> AppResult<Vec<DeletedTask>> {
        self.plan_deletions(&self.store.list_tasks().await?)?;
        for id in self.ids {
            let owner = WorktreeOwner::find(self.store, id).await?;
            reservations.push(owner.reserve_worktree(self.store, self.project).await?);
        }
        let deleted = match unmerged {
            UnmergedWork::Keep => self.describe_kept_work(),
            UnmergedWork::Refuse => self.remove_work()?,
        };
        let decide = |stored: &[TaskListItem]| self.plan_deletions(stored);
        self.store.change_tasks(Clock::wall_now(), decide).await.map(|()| deleted)
    }

    fn plan_deletions(&self, stored: &[TaskListItem]) -> AppResult<Vec<TaskChange>> {
        let known: Vec<&str> = stored.iter().map(|task| task.id.as_str()).collect();
        for id in self.ids {
            let task = stored.iter().find(|task| task.id == *id).ok_or_else(|| unknown_id_error(id, &known))?;
            self.ensure_no_dependents(task, stored)?;
            ensure_not_running(task, self.project)?;
        }
        Ok(self.ids.iter().map(|id| TaskChange::Delete { id: id.clone() }).collect())
    }

    /// Refuses to delete a task that a remaining task depends on.
    fn ensure_no_dependents(&self, task: &TaskListItem, stored: &[TaskListItem]) -> AppResult<()> {
        let depends = |other: &&TaskListItem| other.dependencies.contains(&task.id) && !self.ids.contains(&other.id);
        let dependents: Vec<&str> = stored.iter().filter(depends).map(|other| other.id.as_str()).collect();
        let Some(first) = dependents.first() else { return Ok(()) };
        let message = format!("task {} cannot be deleted: {} depends on it", task.id, dependents.join(", "));
        Err(AppError::preflight(message).with_advice(TaskAdvice::ReplaceDependencies { task: (*first).to_owned() }))
    }

    fn describe_kept_work(&self) -> Vec<DeletedTask> {
        let layout = WorktreeLayout::for_project(self.project).ok();
        let describe = |id: &String| {
            let kept = layout.as_ref().and_then(|layout| worktree::describe_unmerged_work(layout, id).ok());
            DeletedTask { id: id.clone(), kept_work: kept.unwrap_or_default(), ..DeletedTask::default() }
        };
        self.ids.iter().map(describe).collect()
    }

    /// Removes work trees and branches of the tasks. If one of them has unmerged work, removes nothing.
    fn remove_work(&self) -> AppResult<Vec<DeletedTask>> {
        let layout = WorktreeLayout::for_project(self.project)?;
        for id in self.ids {
            let unmerged = worktree::describe_unmerged_work(&layout, id)?;
            if !unmerged.is_empty() {
                return Err(unmerged_work_error(id, &unmerged));
            }
        }
        let mut deleted = Vec::new();
        for id in self.ids {
            let forgotten = worktree::forget_task(&layout, id)?;
            deleted.push(DeletedTask {
                id: id.clone(),
                kept_work: Vec::new(),
                removed_worktree: forgotten.worktree_path,
                kept_refs: forgotten.kept_refs,
            });
        }
        Ok(deleted)
    }
}

fn unmerged_work_error(id: &str, unmerged: &[String]) -> AppError {
    let failure = AppError::preflight(format!("task {id} has work that is not merged"));
    let failure = unmerged.iter().fold(failure, AppError::with_cause);
    failure.with_advice(TaskAdvice::LandOrLeaveWork { task: id.to_owned() })
}
