//! The stored truth of every run: a journal of facts and the projections that people read, changed together
//! in one transaction. It stores and reads; it never decides.
mod batch;
mod error;
mod forget;
mod migrate;
mod open;
mod place;
mod project;
mod read;
mod record;
mod rows;
mod take_over;
mod transfer;

pub use error::StoreError;
pub use forget::LastSeen;
pub use open::Opening;
pub use read::EventRow;
pub use record::{Entry, FIRST_FENCE, NewRun};
pub use rows::{AttemptRow, CheckRow, IterationRow, RunRow};
pub use take_over::StoredRun;
pub use transfer::{EXPORT_VERSION, ImportedFact, RunHeader};

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::Mutex;

/// One connection: there is one writer in a process, and readers of other processes never wait for it.
pub struct Store {
    connection: Mutex<SqliteConnection>,
    path: PathBuf,
    /// Device and inode of the file that was opened.
    identity: (u64, u64),
}

impl Store {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Closes the database. The next process then need not read what this one left in the write-ahead log.
    pub async fn close(self) {
        // Everything is stored already; a log that stays is read again.
        let _ = self.connection.into_inner().close().await;
    }

    /// Refuses to go on when somebody removed or replaced the database: what is written to a file without a
    /// name is lost.
    fn still_there(&self) -> Result<(), StoreError> {
        match std::fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == self.identity => Ok(()),
            Ok(_) | Err(_) => Err(StoreError::Gone { path: self.path.clone() }),
        }
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), source }
    }
}
