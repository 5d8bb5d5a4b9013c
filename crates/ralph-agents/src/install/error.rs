//! Why nothing was installed, or taken out.
use std::io;
use std::path::PathBuf;

use super::merge::Malformed;

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{name:?} is no program that ralph can be put into")]
    UnknownHost { name: String, suggestion: Option<&'static str> },
    #[error("there is no place for it: {variable} is not set to an absolute path")]
    NoHome { variable: &'static str },
    #[error("{} cannot be understood", path.display())]
    MalformedSettings { path: PathBuf, source: Malformed },
    #[error("{} is not ralph's, and has the name of a file that is", path.display())]
    NotOurs { path: PathBuf },
    #[error("{} {problem}", path.display())]
    UnusablePath { path: PathBuf, problem: &'static str },
    #[error("{} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} cannot be written", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("{} cannot be written, and what had been changed before it could not be put back", path.display())]
    RollbackFailed { path: PathBuf, source: io::Error },
    #[error("{} cannot be removed", path.display())]
    NotRemoved { path: PathBuf, source: io::Error },
    #[error("{} is not what ralph wrote down about its installation", path.display())]
    MalformedRecord { path: PathBuf, source: serde_json::Error },
    #[error("{} was written by a newer ralph", path.display())]
    NewerRecord { path: PathBuf },
    #[error("ralph cannot find out where it is itself")]
    UnknownExecutable { source: io::Error },
}
