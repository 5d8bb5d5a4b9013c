//! Errors of task work trees.
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
    #[error("run {run} is already undone: its files are as before the run")]
    AlreadyUndone { run: String },
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
}
