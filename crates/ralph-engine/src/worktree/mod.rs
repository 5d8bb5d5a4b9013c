//! Task work trees: each task gets a separate work tree, so that its agents do not disturb the user or other tasks. All
//! state is in the repository, as references and in git's list of work trees. Unmerged work is never deleted here.
mod accept;
mod agent_work;
mod create;
mod error;
mod exact_snapshot;
mod forget;
mod land;
mod layout;
mod obstacles;
mod ref_names;
mod remove;
mod rewind;
mod run_history;
mod setup;
mod snapshot;
mod snapshot_files;
mod snapshot_stamp;
mod start_snapshot;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use accept::{AcceptanceBase, AcceptedWork, accept_work, accepted_commit, read_acceptance_base};
pub use agent_work::{AgentWorkCommit, commit_agent_work};
pub use create::{OpenedWorktree, WorktreeOrigin, find_worktree, open_or_create};
pub use error::WorktreeError;
pub use exact_snapshot::{ExactSnapshot, LeftOutPath, SnapshotNotes};
pub use forget::{
    ForgottenTask, describe_unmerged_work, forget_task, is_branch_removable, list_unmerged_branches,
    remove_merged_branch,
};
pub use land::{
    LandingTarget, PreparedLanding, UnlandedWork, finish_landing, list_unlanded_work, prepare_landing,
    prepare_landing_onto, recover_landing,
};
pub use layout::WorktreeLayout;
pub use ref_names::SnapshotKey;
pub use remove::{WorktreeRemoval, describe_loss, discard_untouched, list_task_worktrees, remove_worktree};
pub use rewind::{RewindResult, rewind_worktree};
pub use run_history::{
    BaseTree, RunTrees, UndoResult, read_base_tree, read_run_trees, record_run_end, record_run_start, undo_run,
    write_current_tree,
};
pub use setup::{WorktreeSetupRequest, run_setup_commands};
pub use snapshot::{AttemptSnapshot, list_snapshots, take_snapshot};

/// A work tree that belongs to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWorktree {
    pub task_id: String,
    pub path: PathBuf,
    /// The commit from which the work started.
    pub base: String,
}

impl TaskWorktree {
    /// Returns the short name of the branch with the accepted work.
    #[must_use]
    pub fn branch(&self) -> String {
        format!("ralph/{}", self.task_id)
    }
}

/// The work tree of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedWorktree {
    pub layout: WorktreeLayout,
    pub worktree: TaskWorktree,
    /// The stage name of its snapshots: the role of a stage, or `run`.
    pub snapshot_stage: String,
    /// Commands that prepare it for the agent; empty if they have run already.
    pub setup_commands: Vec<String>,
}
