//! What can go wrong with the store, with the path inside.
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the state folder {} cannot be used", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("the database {} cannot be used", path.display())]
    Database { path: PathBuf, source: sqlx::Error },
    #[error("the database {} is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: DatabaseDamage, kept: DamagedCopy },
    #[error("the database {} was written by a newer ralph: it has schema {found}, this one knows {known}", path.display())]
    NewerSchema { path: PathBuf, found: i64, known: i64 },
    #[error("the database {} was written by an older ralph and cannot be changed: it has schema {found}, this one needs {known}", path.display())]
    OlderSchema { path: PathBuf, found: i64, known: i64 },
    #[error("the database {} was removed or replaced while the run was going on", path.display())]
    Removed { path: PathBuf },
    #[error("run {run} was taken over by another ralph")]
    TakenOver { run: String, owner: Option<String> },
    #[error("task {task} was taken over by another ralph")]
    LeaseLost { task: String },
    #[error("another ralph has just taken task {task}")]
    LeaseTaken { task: String },
    #[error("the database {} was changed while the run was going on, by something that is not ralph", path.display())]
    ChangedOutside { path: PathBuf, kept: DamagedCopy },
    #[error("the copy {} cannot be made", path.display())]
    BackupFailed { path: PathBuf, source: std::io::Error },
    #[error("a stored value in {} cannot be read: {what}", path.display())]
    Unreadable { path: PathBuf, what: String },
}

impl StoreError {
    /// Tells whether another process was writing all the time: later it may go.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let Self::Database { source: sqlx::Error::Database(source), .. } = self else { return false };
        // The lowest byte is SQLite's own code, whatever more the others say.
        let code = source.code().and_then(|code| code.parse::<i32>().ok());
        code.is_some_and(|code| matches!(code & 0xff, SQLITE_BUSY | SQLITE_LOCKED))
    }
}

/// What people hear of it.
pub const BUSY_MESSAGE: &str = "another program has been writing to the database of the project for long: waiting for it (`fuser .ralph/state/ralph.db` tells which)";

const SQLITE_BUSY: i32 = 5;
const SQLITE_LOCKED: i32 = 6;

/// What is wrong with a damaged database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseDamage {
    #[error("there was one here, and it is missing")]
    Missing,
    #[error("there was one here, and the file is empty")]
    Empty,
    #[error("this is no SQLite database")]
    NotSqlite,
    #[error("this is a database of another program")]
    ForeignDatabase,
    #[error("{size} bytes are there, and it had {expected}")]
    Truncated { size: u64, expected: u64 },
    #[error("its tables are gone: was its -wal file removed?")]
    NoTables,
    #[error("{0}")]
    Corrupt(String),
}

/// Where a copy of the damaged files is, if one could be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DamagedCopy {
    Saved(PathBuf),
    NotSaved,
}

/// What an error of SQLite means for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqliteProblem {
    DiskFull,
    ReadOnly,
    Busy,
    DiskError,
    Damaged,
    Other,
}

impl SqliteProblem {
    /// Reads the code that SQLite gave.
    #[must_use]
    pub fn from_error(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => {
                let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
                Self::from_code(code)
            }
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Self::Damaged,
            _ => Self::Other,
        }
    }

    /// The lowest byte is the kind, the rest is detail.
    fn from_code(code: i32) -> Self {
        match code & 0xff {
            5 | 6 => Self::Busy,
            8 => Self::ReadOnly,
            10 => Self::DiskError,
            11 | 26 => Self::Damaged,
            13 => Self::DiskFull,
            _ => Self::Other,
        }
    }
}

impl StoreError {
    /// Wraps an error of SQLite. Where it says that the file is damaged, a copy of it is kept.
    pub(super) fn from_sqlite(path: &Path, source: sqlx::Error) -> Self {
        match SqliteProblem::from_error(&source) {
            SqliteProblem::Damaged => Self::damaged_at(path, DatabaseDamage::Corrupt(source.to_string())),
            SqliteProblem::DiskFull
            | SqliteProblem::ReadOnly
            | SqliteProblem::Busy
            | SqliteProblem::DiskError
            | SqliteProblem::Other => Self::Database { path: path.to_path_buf(), source },
        }
    }

    pub(super) fn damaged_at(path: &Path, what: DatabaseDamage) -> Self {
        Self::Damaged { path: path.to_path_buf(), what, kept: super::damaged_copy::save_damaged_copy(path) }
    }
}
