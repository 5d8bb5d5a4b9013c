//! Opens the database of a state folder. A damaged database is refused and not modified.
use std::io;
use std::path::Path;
use std::time::Instant;

use super::connection::{
    BUSY_TIMEOUT, IntegrityDepth, RETRY_INTERVAL, check_integrity, connect_read_only, connect_to_new_file,
    connect_with_retry,
};
use super::database_files::DatabaseFiles;
use super::database_header::{DatabaseState, classify_database};
use super::migrate::{self, NEWEST_SCHEMA};
use crate::{DatabaseDamage, Store, StoreError};

/// Whether a missing database is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    Create,
    Existing,
}

impl Store {
    /// Opens the store of a state folder. With [`OpenMode::Existing`], returns `None` if the database does not exist.
    pub async fn open(folder: &Path, mode: OpenMode) -> Result<Option<Self>, StoreError> {
        let unusable = |source| StoreError::Folder { path: folder.to_path_buf(), source };
        let Some(mut files) = locate_files(folder, mode).map_err(unusable)? else { return Ok(None) };
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
                return Ok(Some(Self::new(connect_read_only(&files).await?, files)));
            }
            (DatabaseState::Absent, OpenMode::Create) => {
                files.create_database_file().map_err(unusable)?;
                Self::new(connect_to_new_file(&files).await?, files)
            }
            (DatabaseState::InUse, OpenMode::Create) => {
                Self::new(connect_with_retry(&files).await?, files).ensure_sound().await?
            }
            (DatabaseState::Closed { .. } | DatabaseState::InUse, _) => {
                Self::new(connect_with_retry(&files).await?, files)
            }
        };
        migrate::migrate_schema(&store).await?;
        if mode == OpenMode::Create {
            store.guard.files().write_gitignore().map_err(unusable)?;
        }
        Ok(Some(store))
    }

    /// Checks the structure of a database that was not closed, or that another process is using: its header does not
    /// tell how long the file must be.
    async fn ensure_sound(self) -> Result<Self, StoreError> {
        let found = check_integrity(&mut *self.connection.lock().await, IntegrityDepth::Structure).await;
        let error = match found {
            Ok(None) => return Ok(self),
            Ok(Some(message)) => StoreError::damaged_at(self.path(), DatabaseDamage::Corrupt(message)),
            Err(source) => self.to_store_error(source),
        };
        self.abandon_without_closing();
        Err(error)
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
