//! Restores the files that a run changed.
use std::path::PathBuf;

use ralph_engine::project::Project;
use ralph_engine::worktree::{self, LeftOutPath, UndoResult};
use ralph_store::{RunRow, Store};

use super::run_worktree::{own_worktree_name, worktree_root};
use crate::error::{AppError, AppResult};
use crate::run::{FoundRun, find_only_run, refuse_command_by_agent, refuse_recursion};
use crate::view::short_id;
use crate::worktrees::{PROJECT_LOCK, WorktreeOwner, lock_project};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoReport {
    pub run_id: String,
    /// The restored files.
    pub files: Vec<PathBuf>,
    /// Paths that the snapshot did not contain: they are as the run left them.
    pub left_out: Vec<LeftOutPath>,
    /// The reference to the files before the undo.
    pub backup_ref: String,
}

/// Restores the files that a run changed, unless one of them has changed since. Commits stay.
pub async fn undo_run(project: &Project, part: Option<&str>) -> AppResult<UndoReport> {
    refuse_recursion(project)?;
    refuse_command_by_agent(project, "undo a run of the project that it works on")?;
    let FoundRun { store, run } = find_only_run(project, part).await?;
    if run.status == "running" {
        return Err(AppError::preflight(format!("run {} is still running", short_id(&run.id)))
            .with_advice("stop it first, or wait for its end"));
    }
    let undone = undo_exclusively(project, &store, &run).await;
    store.close().await;
    let UndoResult { files, left_out, backup_ref } = undone?;
    Ok(UndoReport { run_id: run.id, files, left_out, backup_ref })
}

/// Restores the files while no other process works in them.
async fn undo_exclusively(project: &Project, store: &Store, run: &RunRow) -> AppResult<UndoResult> {
    let root = worktree_root(project, run)?;
    let Some(name) = own_worktree_name(run) else {
        let _lock = lock_project(project, PROJECT_LOCK).await?;
        return Ok(worktree::undo_run(&root, &run.id)?);
    };
    let reservation = WorktreeOwner::find(store, &name).await?.reserve_worktree(store, project).await?;
    let undone = worktree::undo_run(&root, &run.id);
    reservation.release(store).await?;
    Ok(undone?)
}
