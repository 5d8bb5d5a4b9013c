//! Why something with a tree cannot be done.
use std::io;
use std::path::PathBuf;

use crate::git::GitError;

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("the repository has no commit yet, so that no work tree can be made of one")]
    NoCommitYet,
    #[error("the folder {} for work trees cannot be used", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the branch {branch} is there already, and ralph did not make it for this task")]
    BranchTaken { branch: String },
    #[error("the task {name} of another project in this repository has the branch ralph/{name}: {key}")]
    OtherProject { name: String, key: String },
    #[error("{} is in the way of the work tree of task {name}", path.display())]
    PathOccupied { name: String, path: PathBuf },
    #[error("{} belongs to another repository: {}", path.display(), repository.display())]
    OtherRepository { path: PathBuf, repository: PathBuf },
    #[error("what task {name} depends on cannot be put together: {dependency} conflicts with what is there")]
    DependencyConflict { name: String, dependency: String, files: Vec<PathBuf> },
    #[error("task {name} has no work tree")]
    NoWorktree { name: String },
    #[error("the branch {branch} was moved by somebody: it is at {current}, and ralph left it at {expected}")]
    BranchMoved { branch: String, current: String, expected: String },
    #[error("what was verified is not there any more: the tree {tree}")]
    VerifiedTreeMissing { tree: String },
    #[error("nothing of task {name} was accepted yet")]
    NothingAccepted { name: String },
    #[error("your work tree is on no branch")]
    DetachedHead,
    #[error("your work tree is in the middle of a {operation}")]
    OperationInProgress { operation: &'static str },
    #[error("task {name} conflicts with the branch {onto}")]
    MergeConflict { name: String, onto: String, files: Vec<PathBuf> },
    #[error("your work tree has changes in files that task {name} changes")]
    WouldOverwrite { name: String, files: Vec<PathBuf> },
    #[error("the branch {branch} was moved by somebody while ralph landed task {name}")]
    BranchMovedMeanwhile { name: String, branch: String },
    #[error("the work tree could not be set up: `{command}`: {reason}")]
    SetupFailed { command: String, reason: String, log: PathBuf },
    #[error("the work tree of task {name} cannot be removed: {reason}")]
    CannotRemove { name: String, reason: String },
    #[error("the branch {branch} is checked out in {}", path.display())]
    BranchCheckedOut { branch: String, path: PathBuf },
    #[error("there is no snapshot {wanted} of task {name}")]
    NoSnapshot { name: String, wanted: String },
    #[error("nobody looked at the files before run {run}")]
    NoRunSnapshot { run: String },
    #[error("too much in the work tree is not committed")]
    TooMuchUncommitted,
    #[error("run {run} was cut short: nobody looked at the files after it")]
    NoEndSnapshot { run: String },
    #[error("files that the run changed have been changed since")]
    FilesChangedSince { files: Vec<PathBuf> },
}

impl WorktreeError {
    /// Returns the files that it is about.
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

    /// Returns what to do about it, where it can be said.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Git(GitError::Failed { stderr, .. }) if stderr.contains("index.lock") => {
                "another git may be at work; if none is, a killed one left the lock: remove it, and try again"
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
                "branches and trees belong to one project: give the task of the other one another id".to_owned()
            }
            Self::PathOccupied { path, .. } => {
                format!("look at it, and move it away: mv {0} {0}.away", path.display())
            }
            Self::DependencyConflict { dependency: name, .. } => {
                format!("nothing was changed; settle the conflict by landing {name} first: ralph land {name}")
            }
            Self::NoWorktree { name } | Self::NothingAccepted { name } | Self::CannotRemove { name, .. } => {
                format!("`ralph task show {name}` tells what was done on it")
            }
            Self::SetupFailed { log, .. } => {
                format!("see {}; the commands are those of pipeline.setup", log.display())
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

    /// What the user's branch or files are in the way of.
    fn branch_hint(&self) -> String {
        if let Self::BranchMoved { branch, expected: was, .. } = self {
            return format!(
                "merge those commits yourself (git merge {branch}), or put the branch back: git branch -f {branch} {was}"
            );
        }
        if let Self::OperationInProgress { operation: what } = self {
            return format!("finish it, or give it up: git {what} --abort");
        }
        if let Self::MergeConflict { name, onto, .. } = self {
            return format!(
                "nothing was changed; merge by hand (git merge ralph/{name}), or let an agent do it: ralph task edit \
                 {name} --status todo; ralph guide {name} 'merge {onto} and settle the conflict'; ralph work {name}"
            );
        }
        if let Self::BranchCheckedOut { path, .. } = self {
            return format!("ralph does not move a branch under your feet: git -C {} switch --detach", path.display());
        }
        if let Self::DetachedHead = self {
            return "go to the branch that shall have the work: git switch BRANCH".to_owned();
        }
        if let Self::WouldOverwrite { .. } = self {
            return "nothing was changed; commit these files, stash them (git stash -u), or move them away".to_owned();
        }
        "try again".to_owned()
    }

    /// What is not known of a run.
    fn run_hint(&self) -> String {
        if let Self::NoEndSnapshot { run } = self {
            return format!(
                "finish it (ralph resume {run}), or look at it (ralph diff {run}) and put files back with git"
            );
        }
        if let Self::FilesChangedSince { .. } = self {
            return "nothing was touched; `ralph diff` shows what the run did to them".to_owned();
        }
        "that is done for runs with checks or a work tree of their own (--worktree), where less than 64 MB is not committed, and kept for the newest 50".to_owned()
    }
}
