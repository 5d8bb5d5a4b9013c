//! The database of a project: the journal of facts of every run, and the projections built from it. Both change in the
//! same transaction. This crate stores and reads; it decides nothing.
mod control_commands;
mod driver;
mod error;
mod journal;
mod queries;
mod sqlite;
mod tasks;

pub use control_commands::{
    CommandAnswer, CommandTarget, GuidanceForNextStage, LoopRow, NewCommand, PendingCommand, TaskOwnership,
    TaskSettlement,
};
pub use error::{BUSY_MESSAGE, DamagedCopy, DatabaseDamage, SqliteProblem, StoreError};
pub use journal::receipt_file;
pub use journal::record_step::{FIRST_FENCE, NewRun, NewStage, StepRecord};
pub use journal::run_deletion::RunActivity;
pub use journal::takeover::{StoredRun, TakeoverGuard};
pub use journal::transfer::{EXPORT_VERSION, ExportHeader, ImportedFact};
pub use queries::run_rows::{AttemptRow, CheckRow, IterationRow, ReceiptRow, RunRow};
pub use queries::runs::EventRow;
pub use queries::stats::{KeyedPart, StatsGrouping};
pub use sqlite::open::OpenMode;
pub use tasks::leases::{
    LeaseDisposition, LeaseRelease, LeaseRow, LeasedTask, TaskFilter, TaskLease, TaskProgressUpdate,
};
pub use tasks::task_changes::TaskChange;
pub use tasks::task_rows::{StageRun, TaskListItem, TaskRow};

use std::path::{Path, PathBuf};
use std::sync::{Mutex as Lock, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use tokio::sync::Mutex;

use queries::runs::LatestLoop;
use sqlite::database_files::DatabaseFiles;
use sqlite::file_stamps::{DatabaseFileChange, FileStamps};
use sqlite::open::IntegrityDepth;

/// The open database. It has one connection: a process writes from one place at a time, and readers in other processes
/// never wait for it.
pub struct Store {
    connection: Mutex<SqliteConnection>,
    /// Held by one loop of this process from the check for foreign changes until its write is recorded.
    write_lock: Mutex<()>,
    path: PathBuf,
    files: DatabaseFiles,
    /// The last write of this process, and the state of the files after it.
    last_write: Lock<Option<(LastWrite, FileStamps)>>,
    /// The random id of the database, read with the first write.
    database_id: OnceLock<String>,
    /// When the integrity was last checked because other processes had written, and how long that took.
    last_integrity_check: Lock<Option<(Instant, Duration)>>,
}

/// The shortest time between two integrity checks while other processes write.
const INTEGRITY_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// A check that takes long waits at least this many times its duration before the next one.
const INTEGRITY_CHECK_COST_FACTOR: u32 = 20;

#[derive(Clone)]
struct LastWrite {
    run: String,
    fence: i64,
    loop_json: String,
}

impl Store {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Closes the database, so that the next process need not read the write-ahead log.
    pub async fn close(self) {
        // Nothing is lost on an error: everything is stored, and a remaining log is read again.
        let _ = self.connection.into_inner().close().await;
    }

    /// Drops the store without closing the database. On closing, SQLite would write its log into the file even if that
    /// was replaced, and would crash if its shared memory file was truncated.
    pub fn abandon_without_closing(self) {
        std::mem::forget(self);
    }

    /// Records the last write and the current state of the files.
    fn remember_write(&self, last_write: LastWrite) {
        let stamps = FileStamps::capture(&self.path);
        *self.last_write.lock().unwrap_or_else(PoisonError::into_inner) = Some((last_write, stamps));
    }

    /// Runs a write that does not belong to a run.
    async fn write_outside_run<T>(
        &self,
        query: queries::runs::SqliteQuery,
        read_row: impl Fn(&SqliteRow) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let _write_guard = self.write_lock.lock().await;
        let rows = self.fetch_rows(query, read_row).await;
        self.refresh_file_stamps();
        rows
    }

    /// Records the state of the files after a write of this process that does not belong to a run.
    fn refresh_file_stamps(&self) {
        if let Some((_, stamps)) = &mut *self.last_write.lock().unwrap_or_else(PoisonError::into_inner) {
            *stamps = FileStamps::capture(&self.path);
        }
    }

    /// Fails if the files were removed, replaced or changed since the last write, other than by another ralph.
    async fn ensure_unmodified(&self) -> Result<(), StoreError> {
        let (written, change) = match &*self.last_write.lock().unwrap_or_else(PoisonError::into_inner) {
            None => return Ok(()),
            Some((written, stamps)) => (written.clone(), FileStamps::capture(&self.path).change_since(stamps)),
        };
        match change {
            DatabaseFileChange::Unchanged => Ok(()),
            DatabaseFileChange::Removed => Err(StoreError::Removed { path: self.path.clone() }),
            DatabaseFileChange::Truncated => Err(self.changed_error()),
            DatabaseFileChange::Written if self.holds_last_write(&written).await => Ok(()),
            DatabaseFileChange::Written => Err(self.changed_error()),
        }
    }

    /// Opens the files again, as another process would, and returns whether they are sound and contain the last write.
    /// If so, the other writer was another ralph. If that one has taken over the run, the loop may differ; the fence
    /// then prevents the next write.
    async fn holds_last_write(&self, last_write: &LastWrite) -> bool {
        let Ok(connection) = sqlite::open::connect_with_retry(&self.files).await else { return false };
        let fresh = Self::from_connection(connection, self.files.clone());
        let is_same_database = fresh.read_database_id().await.is_ok_and(|found| self.database_id.get() == Some(&found));
        let is_sound = !self.is_integrity_check_due() || self.passes_integrity_check(&fresh).await;
        let holds = |latest: LatestLoop| latest.fence > last_write.fence || latest.loop_json == last_write.loop_json;
        if is_same_database && is_sound && fresh.latest_loop(&last_write.run).await.is_ok_and(holds) {
            fresh.close().await;
            return true;
        }
        fresh.abandon_without_closing();
        false
    }

    /// Limits how often the integrity is checked: several workers may write all the time, and a check of a large
    /// database takes long.
    fn is_integrity_check_due(&self) -> bool {
        let last_check = *self.last_integrity_check.lock().unwrap_or_else(PoisonError::into_inner);
        let interval = |took: Duration| INTEGRITY_CHECK_INTERVAL.max(took * INTEGRITY_CHECK_COST_FACTOR);
        last_check.is_none_or(|(at, took)| at.elapsed() >= interval(took))
    }

    async fn passes_integrity_check(&self, fresh: &Self) -> bool {
        let started = Instant::now();
        let is_sound = fresh.check_integrity(IntegrityDepth::Full).await.is_ok();
        let check = (Instant::now(), started.elapsed());
        *self.last_integrity_check.lock().unwrap_or_else(PoisonError::into_inner) = Some(check);
        is_sound
    }

    fn changed_error(&self) -> StoreError {
        StoreError::ChangedOutside {
            path: self.path.clone(),
            kept: sqlite::damaged_copy::save_damaged_copy(&self.path),
        }
    }

    fn to_store_error(&self, source: sqlx::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, source)
    }
}
