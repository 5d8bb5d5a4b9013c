//! Work trees of ralph's own: one for each task, where its agents work without being in anybody's way. Everything about a tree
//! stands in the repository itself, as references and as git's own list of work trees. Nothing that is not merged is ever
//! deleted here.
mod accept;
mod create;
#[cfg(test)]
mod create_tests;
mod error;
mod forget;
mod land;
#[cfg(test)]
mod land_tests;
mod layout;
mod obstacles;
mod ref_names;
mod remove;
mod rewind;
mod run_history;
mod setup;
mod snapshot;
#[cfg(test)]
mod testing;

use std::path::PathBuf;

pub use accept::{AcceptanceBase, AcceptedWork, accept_work, accepted_commit, read_acceptance_base};
pub use create::{OpenedWorktree, WorktreeOrigin, find_worktree, open_or_create};
pub use error::WorktreeError;
pub use forget::{ForgottenTask, describe_unmerged_work, forget_task};
pub use land::{
    LandingTarget, PreparedLanding, UnlandedWork, finish_landing, list_unlanded_work, prepare_landing, recover_landing,
};
pub use layout::WorktreeLayout;
pub use ref_names::SnapshotKey;
pub use remove::{WorktreeRemoval, describe_loss, discard_untouched, list_task_worktrees, remove_worktree};
pub use rewind::{RewindResult, rewind_worktree};
pub use run_history::{RunTrees, SnapshotMoment, UndoResult, read_run_trees, record_run_tree, undo_run};
pub use setup::{WorktreeSetupRequest, run_setup_commands};
pub use snapshot::{AttemptSnapshot, list_snapshots, take_snapshot};

/// A work tree that belongs to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWorktree {
    /// The id of the task.
    pub task_id: String,
    pub path: PathBuf,
    /// The commit that the work began at.
    pub base: String,
}

impl TaskWorktree {
    /// Returns the branch that accepted work is on, as people write it.
    #[must_use]
    pub fn branch(&self) -> String {
        format!("ralph/{}", self.task_id)
    }
}

/// A tree that a run works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedWorktree {
    pub layout: WorktreeLayout,
    pub worktree: TaskWorktree,
    /// What its snapshots are kept under: the role of a stage, or `run`.
    pub snapshot_stage: String,
    /// Commands that make it fit for work, where that is not done yet.
    pub setup_commands: Vec<String>,
}
