//! Errors of task work trees, with hints for the user.
use std::io;
use std::path::PathBuf;

use crate::git::GitError;

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("the repository has no commit yet, so no work tree can be created")]
    NoCommitYet,
    #[error("cannot use {} for work trees", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the branch {branch} already exists, and ralph did not create it for this task")]
    BranchTaken { branch: String },
    #[error("the branch ralph/{name} belongs to task {name} of another project in this repository: {key}")]
    OtherProject { name: String, key: String },
    #[error("cannot create the work tree of task {name}: {} already exists", path.display())]
    PathOccupied { name: String, path: PathBuf },
    #[error("{} belongs to another repository: {}", path.display(), repository.display())]
    OtherRepository { path: PathBuf, repository: PathBuf },
    #[error("cannot merge the dependencies of task {name}: {dependency} conflicts with the others")]
    DependencyConflict { name: String, dependency: String, files: Vec<PathBuf> },
    #[error("task {name} has no work tree")]
    NoWorktree { name: String },
    #[error("the branch {branch} was moved outside ralph: it is at {current}, expected {expected}")]
    BranchMoved { branch: String, current: String, expected: String },
    #[error("the verified tree {tree} no longer exists in the repository")]
    VerifiedTreeMissing { tree: String },
    #[error("task {name} has no accepted work yet")]
    NothingAccepted { name: String },
    #[error("your work tree is not on a branch")]
    DetachedHead,
    #[error("your work tree is in the middle of a {operation}")]
    OperationInProgress { operation: &'static str },
    #[error("task {name} conflicts with the branch {onto}")]
    MergeConflict { name: String, onto: String, files: Vec<PathBuf> },
    #[error("your work tree has changes in files that task {name} changes")]
    WouldOverwrite { name: String, files: Vec<PathBuf> },
    #[error("the branch {branch} was moved while ralph landed task {name}")]
    BranchMovedMeanwhile { name: String, branch: String },
    #[error("the work tree could not be set up: `{command}`: {reason}")]
    SetupFailed { command: String, reason: String, log: PathBuf },
    #[error("the work tree of task {name} cannot be removed: {reason}")]
    CannotRemove { name: String, reason: String },
    #[error("the branch {branch} is checked out in {}", path.display())]
    BranchCheckedOut { branch: String, path: PathBuf },
    #[error("there is no snapshot {wanted} of task {name}")]
    NoSnapshot { name: String, wanted: String },
    #[error("no snapshot was taken before run {run}")]
    NoRunSnapshot { run: String },
    #[error("the uncommitted files in the work tree are too large for a snapshot")]
    TooMuchUncommitted,
    #[error("run {run} was interrupted: no snapshot was taken after it")]
    NoEndSnapshot { run: String },
    #[error("files that the run changed have been changed since")]
    FilesChangedSince { files: Vec<PathBuf> },
}

impl WorktreeError {
    /// Returns the files that the error is about.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        if let Self::DependencyConflict { files, .. }
        | Self::MergeConflict { files, .. }
        | Self::WouldOverwrite { files, .. }
        | Self::FilesChangedSince { files } = self
        {
            return files;
        }
        &[]
    }

    /// Returns a hint for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Git(GitError::Failed { stderr, .. }) if stderr.contains("index.lock") => {
                "another git process may be running; if not, a killed one left the lock: remove it and try again"
                    .to_owned()
            }
            Self::Git(_) | Self::Folder { .. } | Self::VerifiedTreeMissing { .. } | Self::TooMuchUncommitted => {
                return None;
            }
            Self::NoCommitYet => "make a first commit: git commit --allow-empty -m start".to_owned(),
            Self::BranchTaken { branch } => {
                format!("if you do not need it, rename or delete it: git branch -m {branch} old/{branch}")
            }
            Self::OtherProject { .. } | Self::OtherRepository { .. } => {
                "a branch or work tree belongs to one project: give the task another id".to_owned()
            }
            Self::PathOccupied { path, .. } => {
                format!("check its contents, then move it away: mv {0} {0}.away", path.display())
            }
            Self::DependencyConflict { dependency: name, .. } => {
                format!("nothing was changed; resolve the conflict by landing {name} first: ralph land {name}")
            }
            Self::NoWorktree { name } | Self::NothingAccepted { name } | Self::CannotRemove { name, .. } => {
                format!("`ralph task show {name}` shows its history")
            }
            Self::SetupFailed { log, .. } => {
                format!("see {}; pipeline.setup defines the commands", log.display())
            }
            Self::NoSnapshot { name, .. } => format!("`ralph rewind {name}` lists them"),
            Self::BranchMoved { .. }
            | Self::DetachedHead
            | Self::OperationInProgress { .. }
            | Self::MergeConflict { .. }
            | Self::WouldOverwrite { .. }
            | Self::BranchMovedMeanwhile { .. }
            | Self::BranchCheckedOut { .. } => self.branch_hint(),
            Self::NoRunSnapshot { .. } | Self::NoEndSnapshot { .. } | Self::FilesChangedSince { .. } => self.run_hint(),
        })
    }

    /// Returns the hint for errors about the user's branch or files.
    fn branch_hint(&self) -> String {
        if let Self::BranchMoved { branch, expected, .. } = self {
            return format!(
                "merge those commits yourself (git merge {branch}), or reset the branch: git branch -f {branch} \
                 {expected}"
            );
        }
        if let Self::OperationInProgress { operation } = self {
            return format!("finish it, or abort it: git {operation} --abort");
        }
        if let Self::MergeConflict { name, onto, .. } = self {
            return format!(
                "nothing was changed; merge by hand (git merge ralph/{name}), or let an agent do it: ralph task edit \
                 {name} --status todo; ralph guide {name} 'merge {onto} and resolve the conflict'; ralph work {name}"
            );
        }
        if let Self::BranchCheckedOut { path, .. } = self {
            return format!("ralph does not move a checked out branch: git -C {} switch --detach", path.display());
        }
        if let Self::DetachedHead = self {
            return "switch to the branch that should get the work: git switch BRANCH".to_owned();
        }
        if let Self::WouldOverwrite { .. } = self {
            return "nothing was changed; commit these files, stash them (git stash -u), or move them away".to_owned();
        }
        "try again".to_owned()
    }

    /// Returns the hint for errors about the snapshots of a run.
    fn run_hint(&self) -> String {
        if let Self::NoEndSnapshot { run } = self {
            return format!(
                "finish it (ralph resume {run}), or check its changes (ralph diff {run}) and restore files with git"
            );
        }
        if let Self::FilesChangedSince { .. } = self {
            return "nothing was changed; `ralph diff` shows what the run changed in them".to_owned();
        }
        "ralph takes snapshots of runs with checks or with a work tree if less than 64 MB is uncommitted, and keeps those of \
         the newest 50 runs"
            .to_owned()
    }
}
