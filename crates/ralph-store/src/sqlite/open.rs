//! Opens the database: private files, write-ahead log, and a busy timeout for other writers. A damaged database is
//! refused and not modified.
use std::io;
use std::path::Path;
use std::sync::{Mutex as Lock, OnceLock};
use std::time::{Duration, Instant};

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use tokio::sync::Mutex;

use crate::sqlite::database_files::DatabaseFiles;
use crate::sqlite::database_header::{DatabaseState, classify_database};
use crate::sqlite::migrate::{self, NEWEST_SCHEMA};
use crate::{DatabaseDamage, Store, StoreError};

/// How long a writer waits for another process before it fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How often to retry while another process may be creating the database.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Whether a missing database is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    Create,
    Existing,
}

/// How thoroughly the integrity of a database is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntegrityDepth {
    Structure,
    /// Also checks that the indexes match the tables.
    Full,
}

impl Store {
    /// Opens the store of a state folder. With [`OpenMode::Existing`], returns `None` if there is no database.
    pub async fn open(folder: &Path, mode: OpenMode) -> Result<Option<Self>, StoreError> {
        let unusable = |source| StoreError::Folder { path: folder.to_path_buf(), source };
        let Some(files) = locate_files(folder, mode).map_err(unusable)? else { return Ok(None) };
        let state = inspect_until_stable(&files).await.map_err(unusable)?;
        let state = state.map_err(|damage| StoreError::damaged_at(&files.path, damage))?;
        let store = match (state, mode) {
            (DatabaseState::Closed { schema }, _) if schema > NEWEST_SCHEMA => {
                return Err(StoreError::NewerSchema { path: files.path, found: schema, known: NEWEST_SCHEMA });
            }
            (DatabaseState::Absent, OpenMode::Existing) => return Ok(None),
            (DatabaseState::Closed { schema }, OpenMode::Existing) if files.check_writable().is_err() => {
                if schema < NEWEST_SCHEMA {
                    return Err(StoreError::OlderSchema { path: files.path, found: schema, known: NEWEST_SCHEMA });
                }
                return Ok(Some(Self::from_connection(connect_read_only(&files).await?, files)));
            }
            (DatabaseState::Absent, OpenMode::Create) => {
                files.create_database_file().map_err(unusable)?;
                Self::connect_to_inspected_file(files).await?
            }
            (DatabaseState::InUse, OpenMode::Create) => {
                Self::connect_to_inspected_file(files).await?.ensure_sound().await?
            }
            (DatabaseState::Closed { .. } | DatabaseState::InUse, _) => Self::connect_to_inspected_file(files).await?,
        };
        migrate::migrate_schema(&store).await?;
        if mode == OpenMode::Create {
            store.files.write_gitignore().map_err(unusable)?;
        }
        Ok(Some(store))
    }

    pub(crate) fn from_connection(connection: SqliteConnection, files: DatabaseFiles) -> Self {
        Self {
            connection: Mutex::new(connection),
            write_lock: Mutex::new(()),
            path: files.path.clone(),
            files,
            last_write: Lock::new(None),
            database_id: OnceLock::new(),
            last_integrity_check: Lock::new(None),
        }
    }

    /// Connects to the database, and fails if the file was replaced since it was inspected.
    async fn connect_to_inspected_file(files: DatabaseFiles) -> Result<Self, StoreError> {
        let current_file_id =
            || files.database_file_id().map_err(|source| StoreError::Folder { path: files.path.clone(), source });
        let before = current_file_id()?;
        let connection = connect_with_retry(&files).await?;
        // Another process may have replaced the file between the inspection and the connection.
        if before.is_none() || current_file_id()? != before {
            return Err(StoreError::Removed { path: files.path });
        }
        Ok(Self::from_connection(connection, files))
    }

    /// Checks the integrity of a database that was not closed, or that another process is using.
    async fn ensure_sound(self) -> Result<Self, StoreError> {
        match self.check_integrity(IntegrityDepth::Structure).await {
            Ok(()) => Ok(self),
            Err(error) => {
                self.abandon_without_closing();
                Err(error)
            }
        }
    }

    pub(crate) async fn check_integrity(&self, depth: IntegrityDepth) -> Result<(), StoreError> {
        let mut connection = self.connection.lock().await;
        let sql = match depth {
            IntegrityDepth::Structure => "PRAGMA quick_check(1)",
            IntegrityDepth::Full => "PRAGMA integrity_check(1)",
        };
        let found: Result<(String,), _> = sqlx::query_as(sql).fetch_one(&mut *connection).await;
        match found {
            Ok((ok,)) if ok == "ok" => Ok(()),
            Ok((message,)) => Err(StoreError::damaged_at(&self.path, DatabaseDamage::Corrupt(message))),
            Err(source) => Err(self.to_store_error(source)),
        }
    }
}

fn locate_files(folder: &Path, mode: OpenMode) -> io::Result<Option<DatabaseFiles>> {
    match mode {
        OpenMode::Existing => DatabaseFiles::open_existing(folder),
        OpenMode::Create => {
            let files = DatabaseFiles::create(folder)?;
            files.check_writable().map(|()| Some(files))
        }
    }
}

/// Classifies the database. Before it reports damage, it inspects the files again until they no longer change, because
/// another process may be creating them.
async fn inspect_until_stable(files: &DatabaseFiles) -> io::Result<Result<DatabaseState, DatabaseDamage>> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    let mut file_state = files.inspect()?;
    loop {
        let classified = classify_database(&file_state);
        if classified.is_ok() {
            return Ok(classified);
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
        let new_state = files.inspect()?;
        if new_state == file_state || Instant::now() > deadline {
            return Ok(classified);
        }
        file_state = new_state;
    }
}

/// Connects, and retries while the database is busy: while another process creates it, SQLite may fail at once instead
/// of waiting.
pub(crate) async fn connect_with_retry(files: &DatabaseFiles) -> Result<SqliteConnection, StoreError> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connect_once(files).await {
            Err(error) if error.is_busy() && Instant::now() < deadline => tokio::time::sleep(RETRY_INTERVAL).await,
            result => return result,
        }
    }
}

async fn connect_once(files: &DatabaseFiles) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(files.sqlite_path())
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(BUSY_TIMEOUT);
    options.connect().await.map_err(|source| StoreError::from_sqlite(&files.path, source))
}

/// Connects to a database in a folder without write access: SQLite cannot create its other files there, and no process
/// can change the database.
async fn connect_read_only(files: &DatabaseFiles) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new().filename(files.sqlite_path()).read_only(true).immutable(true);
    options.connect().await.map_err(|source| StoreError::from_sqlite(&files.path, source))
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    async fn open_and_close(folder: &Path) -> Result<(), StoreError> {
        if let Some(store) = Store::open(folder, OpenMode::Create).await? {
            store.close().await;
        }
        Ok(())
    }

    // spec: D1
    // fault: 59
    #[test]
    fn a_database_created_by_many_processes_at_once_is_sound() {
        const CREATORS: usize = 8;
        for round in 0..20 {
            let temp = tempfile::tempdir().unwrap();
            let gate = Barrier::new(CREATORS);
            thread::scope(|scope| {
                for _ in 0..CREATORS {
                    scope.spawn(|| {
                        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                        gate.wait();
                        let opened = runtime.unwrap().block_on(open_and_close(&temp.path().join("state")));
                        assert!(opened.is_ok(), "round {round}: {opened:?}");
                    });
                }
            });
        }
    }
}
