//! Errors of `ralph install` and `ralph uninstall`.
use std::io;
use std::path::PathBuf;

use super::merge::MalformedSettings;

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("ralph cannot be installed into {name:?}")]
    UnknownHost { name: String, suggestion: Option<&'static str> },
    #[error("the settings folder is unknown: {variable} is not set to an absolute path")]
    NoHome { variable: &'static str },
    #[error("{} is malformed", path.display())]
    MalformedSettings { path: PathBuf, source: MalformedSettings },
    #[error("{} already exists and was not written by ralph", path.display())]
    NotOurs { path: PathBuf },
    #[error("{} {problem}", path.display())]
    UnusablePath { path: PathBuf, problem: &'static str },
    #[error("{} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} cannot be written", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("{} cannot be written, and the earlier changes could not be rolled back", path.display())]
    RollbackFailed { path: PathBuf, source: io::Error },
    #[error("{} cannot be removed", path.display())]
    NotRemoved { path: PathBuf, source: io::Error },
    #[error("{} is not a valid install record", path.display())]
    MalformedRecord { path: PathBuf, source: serde_json::Error },
    #[error("{} was written by a newer version of ralph", path.display())]
    NewerRecord { path: PathBuf },
    #[error("cannot determine the path of the ralph executable")]
    UnknownExecutable { source: io::Error },
}
