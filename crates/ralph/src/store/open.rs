//! Opening the database: private files, write-ahead log, bounded waiting for other writers.
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use tokio::sync::Mutex;

use super::{Store, StoreError, migrate};
use crate::private;

/// How long a writer waits for another process before it gives up.
const BUSY: Duration = Duration::from_secs(10);

/// Whether a missing database is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    Create,
    Existing,
}

impl Store {
    /// Opens the store of a state folder. With [`Opening::Existing`] a missing database is `None`.
    pub async fn open(folder: &Path, opening: Opening) -> Result<Option<Self>, StoreError> {
        let path = folder.join("ralph.db");
        match opening {
            Opening::Existing if !path.exists() => return Ok(None),
            Opening::Existing => {}
            Opening::Create => create_private(folder, &path)
                .map_err(|source| StoreError::Folder { path: folder.to_path_buf(), source })?,
        }
        let connected = SqliteConnectOptions::new()
            .filename(&path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY)
            .connect()
            .await;
        let connection = connected.map_err(|source| StoreError::Database { path: path.clone(), source })?;
        let found = std::fs::metadata(&path)
            .map_err(|source| StoreError::Folder { path: folder.to_path_buf(), source })?;
        let identity = (found.dev(), found.ino());
        let store = Self { connection: Mutex::new(connection), path, identity };
        migrate::migrate(&store).await?;
        Ok(Some(store))
    }
}

/// Makes folder and file before SQLite does, which would let everybody read them.
fn create_private(folder: &Path, path: &Path) -> io::Result<()> {
    private::folder(folder)?;
    private::file(path)?;
    private::keep_out_of_git(folder)
}
