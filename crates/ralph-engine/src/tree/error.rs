//! Why something with a tree cannot be done.
use std::io;
use std::path::PathBuf;

use crate::git::GitError;

#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("the repository has no commit yet, so that no work tree can be made of one")]
    Unborn,
    #[error("the folder {} for work trees cannot be used", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the branch {branch} is there already, and ralph did not make it for this task")]
    BranchTaken { branch: String },
    #[error("the task {name} of another project in this repository has the branch ralph/{name}: {key}")]
    Elsewhere { name: String, key: String },
    #[error("{} is in the way of the work tree of task {name}", path.display())]
    InTheWay { name: String, path: PathBuf },
    #[error("{} belongs to another repository: {}", path.display(), repository.display())]
    Foreign { path: PathBuf, repository: PathBuf },
    #[error("what task {name} depends on cannot be put together: {dependency} conflicts with what is there")]
    Dependencies { name: String, dependency: String, files: Vec<PathBuf> },
    #[error("task {name} has no work tree")]
    None { name: String },
    #[error("the branch {branch} was moved by somebody: it is at {is}, and ralph left it at {was}")]
    Moved { branch: String, is: String, was: String },
    #[error("what was verified is not there any more: the tree {tree}")]
    NotKept { tree: String },
    #[error("nothing of task {name} was accepted yet")]
    NothingAccepted { name: String },
    #[error("your work tree is on no branch")]
    Detached,
    #[error("your work tree is in the middle of a {what}")]
    Unfinished { what: &'static str },
    #[error("task {name} conflicts with the branch {onto}")]
    Conflict { name: String, onto: String, files: Vec<PathBuf> },
    #[error("your work tree has changes in files that task {name} changes")]
    Dirty { name: String, files: Vec<PathBuf> },
    #[error("the branch {branch} was moved by somebody while ralph landed task {name}")]
    Overtaken { name: String, branch: String },
    #[error("the work tree could not be set up: `{command}`: {reason}")]
    SetUp { command: String, reason: String, log: PathBuf },
    #[error("the work tree of task {name} cannot be removed: {why}")]
    Stays { name: String, why: String },
    #[error("the branch {branch} is checked out in {}", path.display())]
    Held { branch: String, path: PathBuf },
    #[error("there is no snapshot {wanted} of task {name}")]
    NoSnapshot { name: String, wanted: String },
    #[error("nobody looked at the files before run {run}")]
    NotRemembered { run: String },
    #[error("too much in the work tree is not committed")]
    TooMuch,
    #[error("run {run} was cut short: nobody looked at the files after it")]
    NoEnd { run: String },
    #[error("files that the run changed have been changed since")]
    ChangedSince { files: Vec<PathBuf> },
}

impl TreeError {
    /// Returns the files that it is about.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        if let Self::Dependencies { files, .. }
        | Self::Conflict { files, .. }
        | Self::Dirty { files, .. }
        | Self::ChangedSince { files } = self
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
            Self::Git(_) | Self::Folder { .. } | Self::NotKept { .. } | Self::TooMuch => return None,
            Self::Unborn => "make a first commit: git commit --allow-empty -m start".to_owned(),
            Self::BranchTaken { branch } => {
                format!("if you do not need it, rename or delete it: git branch -m {branch} old/{branch}")
            }
            Self::Elsewhere { .. } | Self::Foreign { .. } => {
                "branches and trees belong to one project: give the task of the other one another id"
                    .to_owned()
            }
            Self::InTheWay { path, .. } => {
                format!("look at it, and move it away: mv {0} {0}.away", path.display())
            }
            Self::Dependencies { dependency: name, .. } => {
                format!("nothing was changed; settle the conflict by landing {name} first: ralph land {name}")
            }
            Self::None { name } | Self::NothingAccepted { name } | Self::Stays { name, .. } => {
                format!("`ralph task show {name}` tells what was done on it")
            }
            Self::SetUp { log, .. } => {
                format!("see {}; the commands are those of pipeline.setup", log.display())
            }
            Self::NoSnapshot { name, .. } => format!("`ralph rewind {name}` lists them"),
            Self::Moved { .. }
            | Self::Detached
            | Self::Unfinished { .. }
            | Self::Conflict { .. }
            | Self::Dirty { .. }
            | Self::Overtaken { .. }
            | Self::Held { .. } => self.hint_on_branches(),
            Self::NotRemembered { .. } | Self::NoEnd { .. } | Self::ChangedSince { .. } => {
                self.hint_on_runs()
            }
        })
    }

    /// What the user's branch or files are in the way of.
    fn hint_on_branches(&self) -> String {
        if let Self::Moved { branch, was, .. } = self {
            return format!(
                "merge those commits yourself (git merge {branch}), or put the branch back: git branch -f {branch} {was}"
            );
        }
        if let Self::Unfinished { what } = self {
            return format!("finish it, or give it up: git {what} --abort");
        }
        if let Self::Conflict { name, onto, .. } = self {
            return format!(
                "nothing was changed; merge by hand (git merge ralph/{name}), or let an agent do it: ralph task edit \
                 {name} --status todo; ralph guide {name} 'merge {onto} and settle the conflict'; ralph work {name}"
            );
        }
        if let Self::Held { path, .. } = self {
            return format!(
                "ralph does not move a branch under your feet: git -C {} switch --detach",
                path.display()
            );
        }
        if let Self::Detached = self {
            return "go to the branch that shall have the work: git switch BRANCH".to_owned();
        }
        if let Self::Dirty { .. } = self {
            return "nothing was changed; commit these files, stash them (git stash -u), or move them away"
                .to_owned();
        }
        "try again".to_owned()
    }

    /// What is not known of a run.
    fn hint_on_runs(&self) -> String {
        if let Self::NoEnd { run } = self {
            return format!(
                "finish it (ralph resume {run}), or look at it (ralph diff {run}) and put files back with git"
            );
        }
        if let Self::ChangedSince { .. } = self {
            return "nothing was touched; `ralph diff` shows what the run did to them".to_owned();
        }
        "that is done for runs with checks or a work tree of their own (--worktree), where less than 64 MB is not committed, and kept for the newest 50".to_owned()
    }
}
