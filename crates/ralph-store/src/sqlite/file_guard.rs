//! Detects that another program changed the database during a run, before the next write. SQLite does not check this:
//! it would write to a deleted file, and it crashes if its shared memory file is truncated.
use std::path::Path;
use std::sync::{Mutex as Lock, MutexGuard as LockGuard, PoisonError};

use tokio::sync::Mutex;

use super::connection::{IntegrityDepth, check_integrity, connect_with_retry};
use super::damaged_copy::save_damaged_copy;
use super::database_files::DatabaseFiles;
use super::file_stamps::{DatabaseFileChange, FileStamps};
use crate::StoreError;
use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::driver::{DatabaseConnection, DriverError, WriteTransaction};

/// Watches the files of one open database. Before the first step of a run there is nothing to lose, so nothing is
/// checked.
pub(crate) struct FileGuard {
    files: DatabaseFiles,
    watched: Lock<Option<WatchedDatabase>>,
}

/// The database as this process last wrote it.
#[derive(Clone)]
struct WatchedDatabase {
    last_step: WrittenStep,
    identity: DatabaseIdentity,
    stamps: FileStamps,
}

/// The last step that this process wrote.
#[derive(Clone)]
pub(crate) struct WrittenStep {
    pub(crate) run: String,
    pub(crate) fence: i64,
    pub(crate) loop_json: String,
}

/// Identifies the database and its newest change by another connection.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseIdentity {
    /// The random id of the database.
    id: String,
    /// SQLite changes this number when another connection has committed.
    data_version: i64,
}

const IDENTITY_SQL: &str = "SELECT id, data_version FROM identity, pragma_data_version";

impl FileGuard {
    pub(crate) fn new(files: DatabaseFiles) -> Self {
        Self { files, watched: Lock::new(None) }
    }

    pub(crate) fn files(&self) -> &DatabaseFiles {
        &self.files
    }

    pub(crate) fn path(&self) -> &Path {
        &self.files.path
    }

    /// Returns the identity of the database. Reads it only with the first step, in the same transaction.
    pub(crate) async fn identify(
        &self,
        transaction: &mut WriteTransaction<'_>,
    ) -> Result<DatabaseIdentity, DriverError> {
        let known = self.lock_watched().as_ref().map(|watched| watched.identity.clone());
        match known {
            Some(identity) => Ok(identity),
            None => read_identity(transaction.rows(sql!(IDENTITY_SQL)).await?.first()),
        }
    }

    /// Records a step and the state of the files after it.
    pub(crate) fn watch_step(&self, last_step: WrittenStep, identity: DatabaseIdentity) {
        let stamps = FileStamps::capture(&self.files.path);
        *self.lock_watched() = Some(WatchedDatabase { last_step, identity, stamps });
    }

    /// Records the state of the files after a write of this process that is not a step of a run.
    pub(crate) fn refresh_stamps(&self) {
        if let Some(watched) = &mut *self.lock_watched() {
            watched.stamps = FileStamps::capture(&self.files.path);
        }
    }

    /// Fails if the files were removed, replaced or changed since the last write, other than by another ralph.
    pub(crate) async fn ensure_unmodified(&self, connection: &Mutex<DatabaseConnection>) -> Result<(), StoreError> {
        let Some(watched) = self.lock_watched().clone() else { return Ok(()) };
        let is_genuine = match FileStamps::capture(&self.files.path).change_since(&watched.stamps) {
            DatabaseFileChange::Unchanged => true,
            DatabaseFileChange::Removed => return Err(StoreError::Removed { path: self.files.path.clone() }),
            DatabaseFileChange::Truncated => false,
            DatabaseFileChange::LogWritten => {
                self.notice_foreign_commit(connection).await || self.holds_last_step(&watched).await
            }
            DatabaseFileChange::DatabaseWritten => self.holds_last_step(&watched).await,
        };
        if is_genuine {
            return Ok(());
        }
        let path = self.files.path.clone();
        Err(StoreError::ChangedOutside { kept: save_damaged_copy(&path), path })
    }

    /// Fails if the files were truncated since the last write: SQLite would crash when it reads its shared memory file.
    pub(crate) fn ensure_not_truncated(&self) -> Result<(), StoreError> {
        let Some(stamps) = self.lock_watched().as_ref().map(|watched| watched.stamps.clone()) else { return Ok(()) };
        let path = &self.files.path;
        match FileStamps::capture(path).change_since(&stamps) {
            DatabaseFileChange::Truncated => {
                Err(StoreError::ChangedOutside { kept: save_damaged_copy(path), path: path.clone() })
            }
            DatabaseFileChange::Unchanged
            | DatabaseFileChange::Removed
            | DatabaseFileChange::LogWritten
            | DatabaseFileChange::DatabaseWritten => Ok(()),
        }
    }

    /// Returns whether another connection has committed since this was last asked. Only SQLite does that, so another
    /// ralph wrote the log.
    async fn notice_foreign_commit(&self, connection: &Mutex<DatabaseConnection>) -> bool {
        let Ok(rows) = connection.lock().await.rows(sql!(IDENTITY_SQL)).await else { return false };
        let Ok(found) = read_identity(rows.first()) else { return false };
        let mut watched = self.lock_watched();
        let Some(watched) = &mut *watched else { return false };
        let is_foreign_commit = found.id == watched.identity.id && found.data_version != watched.identity.data_version;
        watched.identity.data_version = found.data_version;
        is_foreign_commit
    }

    /// Opens the files again, as another process would, and returns whether they are sound and contain the last step.
    /// If so, the other writer was another ralph. If that one has taken over the run, the loop may differ; the fence
    /// then prevents the next write.
    async fn holds_last_step(&self, watched: &WatchedDatabase) -> bool {
        let Ok(mut fresh) = connect_with_retry(&self.files).await else { return false };
        let contains_step = contains_last_step(&mut fresh, watched).await.unwrap_or(false);
        if contains_step && check_integrity(&mut fresh, IntegrityDepth::Full).await.is_ok_and(|found| found.is_none()) {
            // An error on closing loses nothing: this connection wrote nothing.
            let _ = fresh.close().await;
            return true;
        }
        // Not closed, because SQLite would then write its log into the files.
        std::mem::forget(fresh);
        false
    }

    fn lock_watched(&self) -> LockGuard<'_, Option<WatchedDatabase>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_identity(row: Option<&crate::driver::DatabaseRow>) -> Result<DatabaseIdentity, DriverError> {
    let row = row.ok_or_else(|| DriverError::unreadable_value("the database has no id".to_owned()))?;
    Ok(DatabaseIdentity { id: row.get("id")?, data_version: row.get("data_version")? })
}

async fn contains_last_step(
    connection: &mut DatabaseConnection,
    WatchedDatabase { last_step, identity, .. }: &WatchedDatabase,
) -> Result<bool, DriverError> {
    let rows = connection.rows(select_step(&last_step.run)).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    let (id, fence, loop_json): (String, i64, String) = (row.get("id")?, row.get("fence")?, row.get("loop")?);
    Ok(id == identity.id && (fence > last_step.fence || loop_json == last_step.loop_json))
}

fn select_step(run: &str) -> SqlStatement {
    sql!("SELECT identity.id, runs.fence, runs.loop FROM identity, runs WHERE runs.id = $1", SqlValue::verbatim(run))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    use tempfile::TempDir;

    use super::*;
    use crate::test_run::TestRun;
    use crate::{OpenMode, Store};

    async fn open(folder: &TempDir) -> Store {
        Store::open(folder.path(), OpenMode::Create).await.unwrap().unwrap()
    }

    // spec: D1
    // fault: 36
    #[tokio::test]
    async fn a_commit_of_another_connection_is_recognised_once() {
        let folder = tempfile::tempdir().unwrap();
        let (store, other) = (open(&folder).await, open(&folder).await);
        TestRun::new("ours").insert(&store).await.unwrap();
        assert!(!store.guard.notice_foreign_commit(&store.connection).await, "our writes are not foreign");
        TestRun::new("theirs").insert(&other).await.unwrap();
        assert!(store.guard.notice_foreign_commit(&store.connection).await);
        assert!(!store.guard.notice_foreign_commit(&store.connection).await);
        TestRun::new("ours").at_step(2).record(&store).await.unwrap();
    }

    // spec: D1
    // fault: 36
    #[tokio::test]
    async fn a_log_that_another_ralph_copied_into_the_database_is_not_tampering() {
        let folder = tempfile::tempdir().unwrap();
        let (store, other) = (open(&folder).await, open(&folder).await);
        TestRun::new("ours").insert(&store).await.unwrap();
        other.connection.lock().await.rows(sql!("PRAGMA wal_checkpoint(PASSIVE)")).await.unwrap();
        assert!(!store.guard.notice_foreign_commit(&store.connection).await, "a checkpoint is not a commit");
        TestRun::new("ours").at_step(2).record(&store).await.unwrap();
    }

    // fault: 36
    #[tokio::test]
    async fn a_log_that_changed_without_a_commit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        TestRun::new("ours").insert(&store).await.unwrap();
        let log = File::options().write(true).open(folder.path().join("ralph.db-wal")).unwrap();
        let size = usize::try_from(log.metadata().unwrap().len()).unwrap();
        log.write_all_at(&vec![0x55; size], 0).unwrap();
        let refused = TestRun::new("ours").at_step(2).record(&store).await;
        assert!(matches!(refused, Err(StoreError::ChangedOutside { .. })), "{refused:?}");
        store.abandon_without_closing();
    }

    // fault: 36
    #[tokio::test]
    async fn a_write_that_is_not_a_step_does_not_hide_a_removed_database() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        TestRun::new("ours").insert(&store).await.unwrap();
        fs::remove_file(folder.path().join("ralph.db")).unwrap();
        for _ in 0..2 {
            let refused = store.withdraw_command("any").await;
            assert!(matches!(refused, Err(StoreError::Removed { .. })), "{refused:?}");
        }
        store.abandon_without_closing();
    }
}
