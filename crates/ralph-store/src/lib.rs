//! The stored truth of every run: a journal of facts and the projections that people read, changed together
//! in one transaction. It stores and reads; it never decides.
mod agent_usage;
mod backup;
mod checksum;
mod control_commands;
mod damaged_copy;
mod database_files;
mod database_header;
mod error;
mod file_stamps;
mod leases;
mod migrate;
mod open;
mod projections;
mod read;
pub mod receipt_file;
mod record_step;
mod rewind;
mod rows;
mod run_deletion;
mod run_insert;
mod scope_usage;
mod statement_batch;
mod stats;
mod takeover;
mod task_rows;
mod tasks;
mod transfer;
mod verdict_rows;

pub use control_commands::{
    CommandAnswer, CommandTarget, GuidanceForNextStage, LoopRow, NewCommand, PendingCommand, TaskSettlement,
};
pub use error::{BUSY_MESSAGE, DamagedCopy, DatabaseDamage, SqliteProblem, StoreError};
pub use leases::{LeaseDisposition, LeaseRelease, LeaseRow, LeasedTask, TaskFilter, TaskLease, TaskProgressUpdate};
pub use open::OpenMode;
pub use read::EventRow;
pub use record_step::{FIRST_FENCE, NewRun, NewStage, StepRecord};
pub use rows::{AttemptRow, CheckRow, IterationRow, ReceiptRow, RunRow};
pub use run_deletion::RunActivity;
pub use stats::{KeyedPart, StatsGrouping};
pub use takeover::{StoredRun, TakeoverGuard};
pub use task_rows::{StageRun, TaskListItem, TaskRow};
pub use tasks::TaskChange;
pub use transfer::{EXPORT_VERSION, ExportHeader, ImportedFact};

use std::path::{Path, PathBuf};
use std::sync::{Mutex as Lock, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use tokio::sync::Mutex;

use database_files::DatabaseFiles;
use file_stamps::{DatabaseFileChange, FileStamps};
use open::IntegrityDepth;
use read::LatestLoop;

/// One connection: there is one writer in a process, and readers of other processes never wait for it.
pub struct Store {
    connection: Mutex<SqliteConnection>,
    /// One of this process's loops writes at a time: from looking whether others wrote to remembering what it wrote.
    write_lock: Mutex<()>,
    path: PathBuf,
    files: DatabaseFiles,
    /// What this process wrote last, and how the files looked then.
    last_write: Lock<Option<(LastWrite, FileStamps)>>,
    /// Which database this is, read with the first write.
    database_id: OnceLock<String>,
    /// When it was last looked through because others had written, and how long that took.
    last_integrity_check: Lock<Option<(Instant, Duration)>>,
}

/// How often it is looked through while others write too, and how much of the time that may take.
const INTEGRITY_CHECK_INTERVAL: Duration = Duration::from_secs(60);
const INTEGRITY_CHECK_COST_FACTOR: u32 = 20;

#[derive(Clone)]
struct LastWrite {
    run: String,
    fence: i64,
    /// The loop, as JSON.
    loop_json: String,
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

    /// Leaves the database as it lies. SQLite would write its log into the file on closing, whatever became of
    /// that, and dies of shared memory that shrank.
    pub fn abandon_without_closing(self) {
        std::mem::forget(self);
    }

    /// Remembers what was written, and how the files look now.
    fn remember_write(&self, last_write: LastWrite) {
        let stamps = FileStamps::capture(&self.path);
        *self.last_write.lock().unwrap_or_else(PoisonError::into_inner) = Some((last_write, stamps));
    }

    /// Writes something that belongs to no run.
    async fn write_outside_run<T>(
        &self,
        query: read::SqliteQuery,
        read_row: impl Fn(&SqliteRow) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let _write_guard = self.write_lock.lock().await;
        let rows = self.fetch_rows(query, read_row).await;
        self.refresh_file_stamps();
        rows
    }

    /// Takes note of a write of this process that belongs to no run.
    fn refresh_file_stamps(&self) {
        if let Some((_, seen)) = &mut *self.last_write.lock().unwrap_or_else(PoisonError::into_inner) {
            *seen = FileStamps::capture(&self.path);
        }
    }

    /// Refuses to go on when somebody removed, replaced or changed the files since the last write.
    async fn ensure_unmodified(&self) -> Result<(), StoreError> {
        let (written, change) = match &*self.last_write.lock().unwrap_or_else(PoisonError::into_inner) {
            None => return Ok(()),
            Some((written, seen)) => (written.clone(), FileStamps::capture(&self.path).change_since(seen)),
        };
        match change {
            DatabaseFileChange::Unchanged => Ok(()),
            DatabaseFileChange::Removed => Err(StoreError::Removed { path: self.path.clone() }),
            DatabaseFileChange::Truncated => Err(self.changed_error()),
            DatabaseFileChange::Written if self.holds_last_write(&written).await => Ok(()),
            DatabaseFileChange::Written => Err(self.changed_error()),
        }
    }

    /// Reads the files anew, as another process would, and tells whether they are sound and hold what was
    /// written last. Then the one who wrote was another ralph. One that took the run over has written more; the
    /// fence keeps us from writing then.
    async fn holds_last_write(&self, last_write: &LastWrite) -> bool {
        let Ok(connection) = open::connect_with_retry(&self.files).await else { return false };
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

    /// Several workers write all the time, and looking through takes the longer the more there is.
    fn is_integrity_check_due(&self) -> bool {
        let looked = *self.last_integrity_check.lock().unwrap_or_else(PoisonError::into_inner);
        looked.is_none_or(|(at, took)| at.elapsed() >= INTEGRITY_CHECK_INTERVAL.max(took * INTEGRITY_CHECK_COST_FACTOR))
    }

    async fn passes_integrity_check(&self, fresh: &Self) -> bool {
        let began = Instant::now();
        let sound = fresh.check_integrity(IntegrityDepth::Full).await.is_ok();
        let looked = (Instant::now(), began.elapsed());
        *self.last_integrity_check.lock().unwrap_or_else(PoisonError::into_inner) = Some(looked);
        sound
    }

    fn changed_error(&self) -> StoreError {
        StoreError::ChangedOutside { path: self.path.clone(), kept: damaged_copy::save_damaged_copy(&self.path) }
    }

    fn to_store_error(&self, source: sqlx::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, source)
    }
}
