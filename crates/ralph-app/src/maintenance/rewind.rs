//! Resets the work tree of a task or run to the files after an earlier attempt.
use std::path::PathBuf;

use ralph_core::pipeline::TaskProgress;
use ralph_core::task::{Role, TaskStatus};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_engine::worktree::{
    self, AttemptSnapshot, RewindResult, SnapshotKey, TaskWorktree, WorktreeError, WorktreeLayout,
};
use ralph_store::{Store, TaskLease, TaskListItem};

use crate::control::{end_orphaned_run, find_resumable_run};
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::run::{refuse_command_by_agent, refuse_recursion};
use crate::task_files::open_task_store;
use crate::tasks::TaskAdvice;
use crate::worktrees::{WorktreeOwner, WorktreeReservation};

/// The iteration to return to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindTarget {
    /// Default: the newest stage.
    pub stage: Option<Role>,
    pub iteration: u32,
    /// An earlier round of the stage.
    pub earlier_round: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindReport {
    pub worktree_path: PathBuf,
    /// The attempt whose files the work tree has now.
    pub snapshot: AttemptSnapshot,
    /// The reference to the files before the rewind.
    pub backup_ref: String,
    /// The reference to accepted work that was reset too.
    pub accepted_backup_ref: Option<String>,
}

/// Returns the stored attempts of a task or run.
pub async fn list_attempts(project: &Project, name: &str) -> AppResult<Vec<AttemptSnapshot>> {
    let snapshots = worktree::list_snapshots(&WorktreeLayout::for_project(project)?, name)?;
    if snapshots.is_empty() {
        let store = open_task_store(project).await?;
        let owner = WorktreeOwner::find(&store, name).await;
        store.close().await;
        owner?;
    }
    Ok(snapshots)
}

/// Resets the work tree, and the task to the stage of the attempt. The current files stay under a reference.
pub async fn rewind_worktree(
    project: &Project,
    name: &str,
    target: &RewindTarget,
    person: &dyn Interaction,
) -> AppResult<RewindReport> {
    let layout = WorktreeLayout::for_project(project)?;
    let snapshots = worktree::list_snapshots(&layout, name)?;
    refuse_recursion(project)?;
    refuse_command_by_agent(project, "rewind a task of the project that it works on")?;
    let store = open_task_store(project).await?;
    let rewind = WorktreeRewind { project, store: &store, layout, person };
    let rewound = rewind.rewind_to(name, target, &snapshots).await;
    store.close().await;
    rewound
}

struct WorktreeRewind<'a> {
    project: &'a Project,
    store: &'a Store,
    layout: WorktreeLayout,
    person: &'a dyn Interaction,
}

impl WorktreeRewind<'_> {
    async fn rewind_to(
        &self,
        name: &str,
        target: &RewindTarget,
        snapshots: &[AttemptSnapshot],
    ) -> AppResult<RewindReport> {
        let owner = WorktreeOwner::find(self.store, name).await?;
        refuse_closed_task(&owner)?;
        let reservation = owner.reserve_worktree(self.store, self.project).await?;
        let rewound = self.rewind_reserved(&owner, &reservation, target, snapshots).await;
        reservation.release(self.store).await?;
        rewound
    }

    /// Resets the work tree while it is reserved.
    async fn rewind_reserved(
        &self,
        owner: &WorktreeOwner,
        reservation: &WorktreeReservation,
        target: &RewindTarget,
        snapshots: &[AttemptSnapshot],
    ) -> AppResult<RewindReport> {
        let name = owner.tree_name();
        let tree = worktree::find_worktree(&self.layout, &name)?;
        let tree = tree.ok_or_else(|| WorktreeError::NoWorktree { name: name.clone() })?;
        let snapshot = target.select_snapshot(snapshots);
        let snapshot = snapshot.ok_or_else(|| WorktreeError::NoSnapshot { name, wanted: target.describe_target() })?;
        let rewound = match (owner, reservation) {
            (WorktreeOwner::Task(task), WorktreeReservation::Task(lease)) => {
                self.rewind_task(task, lease, &tree, snapshot).await?
            }
            _ => worktree::rewind_worktree(&self.layout, &tree, snapshot)?,
        };
        Ok(RewindReport {
            worktree_path: tree.path,
            snapshot: snapshot.clone(),
            backup_ref: rewound.backup_ref,
            accepted_backup_ref: rewound.accepted_backup_ref,
        })
    }

    /// Resets the progress of the task, then its work tree.
    async fn rewind_task(
        &self,
        task: &TaskListItem,
        lease: &TaskLease,
        tree: &TaskWorktree,
        snapshot: &AttemptSnapshot,
    ) -> AppResult<RewindResult> {
        let stage = Role::parse(&snapshot.key.stage).map_err(AppError::invalid_request)?;
        let before = SavedTaskProgress::load(self.store, task).await?;
        before.restart_from_stage(self.store, lease, stage).await?;
        // A run that could be resumed would continue from files that are newer than the snapshot.
        if let Some(row) = find_resumable_run(self.store, &task.id).await? {
            end_orphaned_run(self.project, self.store, &row, self.person).await?;
        }
        let rewound = worktree::rewind_worktree(&self.layout, tree, snapshot);
        if rewound.is_err() {
            before.restore_progress(self.store, lease).await?;
        }
        Ok(rewound?)
    }
}

/// The progress of a task before the rewind.
struct SavedTaskProgress {
    progress: Option<TaskProgress>,
    status: TaskStatus,
}

impl SavedTaskProgress {
    async fn load(store: &Store, task: &TaskListItem) -> AppResult<Self> {
        Ok(Self { progress: store.task_progress(&task.id).await?, status: task.status })
    }

    /// Makes the stage the next one. It is stored before the files change: after a crash, work is repeated rather than
    /// left out.
    async fn restart_from_stage(&self, store: &Store, lease: &TaskLease, stage: Role) -> AppResult<()> {
        let status = match self.status {
            TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => {
                TaskStatus::while_in_role(&stage).unwrap_or(self.status)
            }
            TaskStatus::Todo | TaskStatus::Blocked | TaskStatus::Done | TaskStatus::Cancelled => self.status,
        };
        let progress = self.progress.clone().map(|progress| progress.rewind_to(stage));
        Ok(store.rewind_task(lease, progress.as_ref(), status, Clock::wall_now()).await?)
    }

    async fn restore_progress(&self, store: &Store, lease: &TaskLease) -> AppResult<()> {
        Ok(store.rewind_task(lease, self.progress.as_ref(), self.status, Clock::wall_now()).await?)
    }
}

impl RewindTarget {
    /// Returns the last attempt of the iteration.
    fn select_snapshot<'a>(&self, snapshots: &'a [AttemptSnapshot]) -> Option<&'a AttemptSnapshot> {
        let newest = snapshots.last()?;
        let wanted = self.stage.as_ref().map_or_else(|| newest.key.stage.clone(), ToString::to_string);
        let is_wanted = |snapshot: &&AttemptSnapshot| {
            let SnapshotKey { stage, iteration, .. } = &snapshot.key;
            *stage == wanted && *iteration == self.iteration && snapshot.earlier_round == self.earlier_round
        };
        snapshots.iter().filter(is_wanted).max_by_key(|snapshot| snapshot.key.attempt)
    }

    fn describe_target(&self) -> String {
        match &self.stage {
            Some(stage) => format!("of iteration {} of {stage}", self.iteration),
            None => format!("of iteration {}", self.iteration),
        }
    }
}

/// Refuses a task that is done or cancelled: its work may have landed.
fn refuse_closed_task(owner: &WorktreeOwner) -> AppResult<()> {
    let WorktreeOwner::Task(task) = owner else { return Ok(()) };
    if let TaskStatus::Done | TaskStatus::Cancelled = task.status {
        return Err(AppError::preflight(format!("task {} is {}", task.id, task.status.as_str()))
            .with_advice(TaskAdvice::ReopenTask { task: task.id.clone() }));
    }
    Ok(())
}
