//! Hints for errors of task work trees.
use ralph_engine::worktree::WorktreeError;

use super::unusable_path_hint;

/// Returns a hint for the user, if there is one.
pub(super) fn for_worktree_error(error: &WorktreeError) -> Option<String> {
    Some(match error {
        WorktreeError::Git(error) if error.is_index_locked() => {
            "another git process may be running; if not, a killed one left the lock: remove it and try again".to_owned()
        }
        WorktreeError::Folder { path, source } => unusable_path_hint(path, source),
        WorktreeError::Git(_) | WorktreeError::VerifiedTreeMissing { .. } | WorktreeError::TooMuchUncommitted => {
            return None;
        }
        WorktreeError::NoCommitYet => "make a first commit: git commit --allow-empty -m start".to_owned(),
        WorktreeError::BranchTaken { branch } => {
            format!("if you do not need it, rename or delete it: git branch -m {branch} old/{branch}")
        }
        WorktreeError::OtherProject { .. } | WorktreeError::OtherRepository { .. } => {
            "a branch or work tree belongs to one project: give the task another id".to_owned()
        }
        WorktreeError::PathOccupied { path, .. } => {
            format!("check its contents, then move it away: mv {0} {0}.away", path.display())
        }
        WorktreeError::DependencyConflict { dependency: name, .. } => {
            format!("nothing was changed; resolve the conflict by landing {name} first: ralph land {name}")
        }
        WorktreeError::NoWorktree { name }
        | WorktreeError::NothingAccepted { name }
        | WorktreeError::CannotRemove { name, .. } => {
            format!("`ralph task show {name}` shows its history")
        }
        WorktreeError::SetupFailed { log, .. } => {
            format!("see {}; pipeline.setup defines the commands", log.display())
        }
        WorktreeError::NoSnapshot { name, .. } => format!("`ralph rewind {name}` lists them"),
        WorktreeError::BranchMoved { .. }
        | WorktreeError::DetachedHead
        | WorktreeError::OperationInProgress { .. }
        | WorktreeError::MergeConflict { .. }
        | WorktreeError::WouldOverwrite { .. }
        | WorktreeError::BranchMovedMeanwhile { .. }
        | WorktreeError::BranchCheckedOut { .. } => for_branch_error(error),
        WorktreeError::NoRunSnapshot { .. }
        | WorktreeError::NoEndSnapshot { .. }
        | WorktreeError::FilesChangedSince { .. }
        | WorktreeError::AlreadyUndone { .. } => for_run_snapshot_error(error),
    })
}

/// Returns the hint for errors about the user's branch or files.
fn for_branch_error(error: &WorktreeError) -> String {
    if let WorktreeError::BranchMoved { branch, expected, .. } = error {
        return format!(
            "merge those commits yourself (git merge {branch}), or reset the branch: git branch -f {branch} \
             {expected}"
        );
    }
    if let WorktreeError::OperationInProgress { operation } = error {
        return format!("finish it, or abort it: git {operation} --abort");
    }
    if let WorktreeError::MergeConflict { name, onto, .. } = error {
        return format!(
            "nothing was changed; merge by hand (git merge ralph/{name}), or let an agent do it: ralph task edit \
             {name} --status todo; ralph guide {name} 'merge {onto} and resolve the conflict'; ralph work {name}"
        );
    }
    if let WorktreeError::BranchCheckedOut { path, .. } = error {
        return format!("ralph does not move a checked out branch: git -C {} switch --detach", path.display());
    }
    if let WorktreeError::DetachedHead = error {
        return "switch to the branch that should get the work: git switch BRANCH".to_owned();
    }
    if let WorktreeError::WouldOverwrite { .. } = error {
        return "nothing was changed; commit these files, stash them (git stash -u), or move them away".to_owned();
    }
    "try again".to_owned()
}

/// Returns the hint for errors about the snapshots of a run.
fn for_run_snapshot_error(error: &WorktreeError) -> String {
    if let WorktreeError::NoEndSnapshot { run } = error {
        return format!(
            "finish it (ralph resume {run}), or check its changes (ralph diff {run}) and restore files with git"
        );
    }
    if let WorktreeError::FilesChangedSince { .. } = error {
        return "nothing was changed; `ralph diff` shows what the run changed in them".to_owned();
    }
    if let WorktreeError::AlreadyUndone { .. } = error {
        return "nothing was changed; `ralph undo` keeps the files of the run in refs/ralph/_runs/RUN/undone/"
            .to_owned();
    }
    "ralph takes snapshots in git repositories if less than 64 MB is untracked, and keeps those of the newest 50 runs"
        .to_owned()
}
