//! The errors of the store.
use std::path::{Path, PathBuf};

use crate::driver::{DatabaseProblem, DriverError};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the state folder {} cannot be used", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("the database {} cannot be used", path.display())]
    Database { path: PathBuf, source: DriverError },
    #[error("the database {} is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: DatabaseDamage, kept: DamagedCopy },
    #[error(
        "the database {} was written by a newer ralph: it has schema {found}, this version supports {known}",
        path.display()
    )]
    NewerSchema { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the database {} was written by an older ralph and is read-only: it has schema {found}, this version needs {known}",
        path.display()
    )]
    OlderSchema { path: PathBuf, found: i64, known: i64 },
    #[error("the database {} was removed or replaced during the run", path.display())]
    Removed { path: PathBuf },
    #[error("run {run} was taken over by another ralph")]
    TakenOver { run: String, owner: Option<String> },
    #[error("task {task} was taken over by another ralph")]
    LeaseLost { task: String },
    #[error("another ralph is working on task {task}")]
    LeaseTaken { task: String },
    #[error("the database {} was changed during the run by a program other than ralph", path.display())]
    ChangedOutside { path: PathBuf, kept: DamagedCopy },
    #[error("cannot create the backup {}", path.display())]
    BackupFailed { path: PathBuf, source: std::io::Error },
    #[error("a stored value in {} cannot be read: {what}", path.display())]
    Unreadable { path: PathBuf, what: String },
}

impl StoreError {
    /// Returns whether the database was locked by another process, so that a retry may succeed.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Database { source, .. } if source.problem() == DatabaseProblem::Busy)
    }
}

/// The message while ralph waits for a busy database.
pub const BUSY_MESSAGE: &str = "another program has locked the project's database for a long time: waiting for it \
    (`fuser` on the database file shows which program)";

/// The kind of damage of a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseDamage {
    #[error("the file is missing")]
    Missing,
    #[error("the file is empty")]
    Empty,
    #[error("the file is not an SQLite database")]
    NotSqlite,
    #[error("it belongs to another program")]
    ForeignDatabase,
    #[error("the file is {size} bytes, expected {expected}")]
    Truncated { size: u64, expected: u64 },
    #[error("its tables are missing: was its -wal file removed?")]
    NoTables,
    #[error("{0}")]
    Corrupt(String),
}

/// The folder with a copy of the damaged files, if one could be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DamagedCopy {
    Saved(PathBuf),
    NotSaved,
}

impl StoreError {
    /// Converts a driver error. If it reports damage, saves a copy of the files.
    pub(crate) fn from_driver(path: &Path, source: DriverError) -> Self {
        match source.problem() {
            DatabaseProblem::Damaged => Self::damaged_at(path, DatabaseDamage::Corrupt(source.to_string())),
            DatabaseProblem::DiskFull
            | DatabaseProblem::ReadOnly
            | DatabaseProblem::Busy
            | DatabaseProblem::DiskError
            | DatabaseProblem::Other => Self::Database { path: path.to_path_buf(), source },
        }
    }

    pub(crate) fn damaged_at(path: &Path, what: DatabaseDamage) -> Self {
        Self::Damaged { path: path.to_path_buf(), what, kept: crate::sqlite::damaged_copy::save_damaged_copy(path) }
    }
}
