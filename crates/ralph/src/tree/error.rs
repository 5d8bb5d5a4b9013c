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
    #[error("the work in {} does not follow what was accepted before: {accepted}", path.display())]
    NotAhead { path: PathBuf, accepted: String },
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
    #[error("the branch {branch} is checked out in {}", path.display())]
    Held { branch: String, path: PathBuf },
    #[error("there is no snapshot {wanted} of task {name}")]
    NoSnapshot { name: String, wanted: String },
}

impl TreeError {
    /// Returns the files that it is about.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        if let Self::Dependencies { files, .. } | Self::Conflict { files, .. } | Self::Dirty { files, .. } =
            self
        {
            return files;
        }
        &[]
    }
}
