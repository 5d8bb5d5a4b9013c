//! What can go wrong with the store, with the path inside.
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the state folder {} cannot be used", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("the database {} cannot be used", path.display())]
    Database { path: PathBuf, source: sqlx::Error },
    #[error("the database {} is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: Damage, kept: Kept },
    #[error("the database {} was written by a newer ralph: it has schema {found}, this one knows {known}", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("the database {} was written by an older ralph and cannot be changed: it has schema {found}, this one needs {known}", path.display())]
    Older { path: PathBuf, found: i64, known: i64 },
    #[error("the database {} was removed or replaced while the run was going on", path.display())]
    Gone { path: PathBuf },
    #[error("run {run} was taken over by another ralph")]
    TakenOver { run: String, owner: Option<String> },
    #[error("task {task} was taken over by another ralph")]
    LeaseLost { task: String },
    #[error("another ralph has just taken task {task}")]
    LeaseTaken { task: String },
    #[error("the database {} was changed while the run was going on, by something that is not ralph", path.display())]
    Changed { path: PathBuf, kept: Kept },
    #[error("the copy {} cannot be made", path.display())]
    Copy { path: PathBuf, source: std::io::Error },
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
pub const BUSY: &str = "another program has been writing to the database of the project for long: waiting for it (`fuser .ralph/state/ralph.db` tells which)";

const SQLITE_BUSY: i32 = 5;
const SQLITE_LOCKED: i32 = 6;

/// What is wrong with a damaged database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("there was one here, and it is missing")]
    Missing,
    #[error("there was one here, and the file is empty")]
    Empty,
    #[error("this is no SQLite database")]
    NoDatabase,
    #[error("this is a database of another program")]
    AnotherProgram,
    #[error("{size} bytes are there, and it had {expected}")]
    Cut { size: u64, expected: u64 },
    #[error("its tables are gone: was its -wal file removed?")]
    NoTables,
    #[error("{0}")]
    Inside(String),
}

/// Where a copy of the damaged files is, if one could be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    Copy(PathBuf),
    InPlace,
}

/// What an error of SQLite means for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    Full,
    ReadOnly,
    Busy,
    Disk,
    Damaged,
    Other,
}

impl Trouble {
    /// Reads the code that SQLite gave.
    #[must_use]
    pub fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => {
                let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
                Self::of_code(code)
            }
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Self::Damaged,
            _ => Self::Other,
        }
    }

    /// The lowest byte is the kind, the rest is detail.
    fn of_code(code: i32) -> Self {
        match code & 0xff {
            5 | 6 => Self::Busy,
            8 => Self::ReadOnly,
            10 => Self::Disk,
            11 | 26 => Self::Damaged,
            13 => Self::Full,
            _ => Self::Other,
        }
    }
}

impl StoreError {
    /// Wraps an error of SQLite. Where it says that the file is damaged, a copy of it is kept.
    pub(super) fn of(path: &Path, source: sqlx::Error) -> Self {
        match Trouble::of(&source) {
            Trouble::Damaged => Self::damaged(path, Damage::Inside(source.to_string())),
            Trouble::Full | Trouble::ReadOnly | Trouble::Busy | Trouble::Disk | Trouble::Other => {
                Self::Database { path: path.to_path_buf(), source }
            }
        }
    }

    pub(super) fn damaged(path: &Path, what: Damage) -> Self {
        Self::Damaged { path: path.to_path_buf(), what, kept: super::keep::copy(path) }
    }
}
