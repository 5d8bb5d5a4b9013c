//! The open database, and the few ways in which the rest of the crate reads and writes it.
use std::path::Path;

use tokio::sync::{Mutex, MutexGuard};

use crate::StoreError;
use crate::driver::statement::SqlStatement;
use crate::driver::{DatabaseConnection, DatabaseRow, DriverError, WriteTransaction};
use crate::sqlite::database_files::DatabaseFiles;
use crate::sqlite::file_guard::FileGuard;

/// The open database. It has one connection: a process writes from one place at a time, and readers in other processes
/// never wait for it.
pub struct Store {
    pub(crate) connection: Mutex<DatabaseConnection>,
    /// Held from the check for foreign changes until the write is recorded.
    write_lock: Mutex<()>,
    pub(crate) guard: FileGuard,
}

impl Store {
    pub(crate) fn new(connection: DatabaseConnection, files: DatabaseFiles) -> Self {
        Self { connection: Mutex::new(connection), write_lock: Mutex::new(()), guard: FileGuard::new(files) }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.guard.path()
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

    /// Runs a query and reads each of its rows.
    pub(crate) async fn rows<T>(
        &self,
        statement: SqlStatement,
        read_row: impl Fn(&DatabaseRow) -> Result<T, DriverError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut connection = self.connection.lock().await;
        self.guard.ensure_not_truncated()?;
        let rows = connection.rows(statement).await;
        rows.and_then(|rows| rows.iter().map(read_row).collect()).map_err(|source| self.to_store_error(source))
    }

    /// Runs a query that returns at most one row.
    pub(crate) async fn row<T>(
        &self,
        statement: SqlStatement,
        read_row: impl Fn(&DatabaseRow) -> Result<T, DriverError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.rows(statement, read_row).await?.pop())
    }

    /// Runs one write that does not belong to a run, and returns how many rows it changed.
    pub(crate) async fn execute(&self, statement: SqlStatement) -> Result<u64, StoreError> {
        let _write_guard = self.begin_guarded_write().await?;
        let changed = self.connection.lock().await.execute(statement).await;
        self.guard.refresh_stamps();
        changed.map_err(|source| self.to_store_error(source))
    }

    /// Runs one write that does not belong to a run, and reads the rows that it returns.
    pub(crate) async fn execute_returning<T>(
        &self,
        statement: SqlStatement,
        read_row: impl Fn(&DatabaseRow) -> Result<T, DriverError>,
    ) -> Result<Vec<T>, StoreError> {
        let _write_guard = self.begin_guarded_write().await?;
        let rows = self.rows(statement, read_row).await;
        self.guard.refresh_stamps();
        rows
    }

    /// Runs writes that do not belong to a run, all or nothing.
    pub(crate) async fn execute_all(&self, statements: Vec<SqlStatement>) -> Result<(), StoreError> {
        self.execute_transaction(None, statements).await.map(drop)
    }

    /// Runs writes that do not belong to a run, all or nothing. If `fence` changes no row, nothing is written.
    pub(crate) async fn execute_all_fenced(
        &self,
        fence: SqlStatement,
        statements: Vec<SqlStatement>,
    ) -> Result<FencedWrite, StoreError> {
        self.execute_transaction(Some(fence), statements).await
    }

    async fn execute_transaction(
        &self,
        fence: Option<SqlStatement>,
        statements: Vec<SqlStatement>,
    ) -> Result<FencedWrite, StoreError> {
        let _write_guard = self.begin_guarded_write().await?;
        let mut connection = self.connection.lock().await;
        if let Some(fence) = &fence
            && let Some(written) = connection.write_in_one_trip(fence, &statements).await
        {
            self.guard.refresh_stamps();
            let is_written = written.map_err(|source| self.to_store_error(source))?;
            return Ok(if is_written { FencedWrite::Written } else { FencedWrite::Refused });
        }
        let written = async {
            let mut transaction = connection.begin_write().await?;
            let written = execute_fenced(&mut transaction, fence, statements).await?;
            if written == FencedWrite::Written {
                transaction.commit().await?;
            }
            Ok(written)
        };
        let written = written.await;
        self.guard.refresh_stamps();
        written.map_err(|source| self.to_store_error(source))
    }

    /// Waits for other writes of this process, and fails if another program has changed the files.
    pub(crate) async fn begin_guarded_write(&self) -> Result<MutexGuard<'_, ()>, StoreError> {
        let write_guard = self.write_lock.lock().await;
        self.guard.ensure_unmodified(&self.connection).await?;
        Ok(write_guard)
    }

    pub(crate) fn to_store_error(&self, source: DriverError) -> StoreError {
        StoreError::from_driver(self.path(), source)
    }

    pub(crate) fn to_json(&self, value: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|error| self.unreadable_error(error.to_string()))
    }

    pub(crate) fn unreadable_error(&self, detail: String) -> StoreError {
        StoreError::Unreadable { path: self.path().to_path_buf(), what: detail }
    }
}

/// Whether a write that depends on a fence happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FencedWrite {
    Written,
    /// The fence has another number. Nothing was written.
    Refused,
}

/// Runs the statements, after `fence` if there is one. If `fence` changes no row, nothing may be committed.
pub(crate) async fn execute_fenced(
    transaction: &mut WriteTransaction<'_>,
    fence: Option<SqlStatement>,
    statements: Vec<SqlStatement>,
) -> Result<FencedWrite, DriverError> {
    let is_written = match fence {
        Some(fence) => transaction.execute_fenced(fence, statements).await?,
        None => transaction.execute_all(statements).await.map(|()| true)?,
    };
    Ok(if is_written { FencedWrite::Written } else { FencedWrite::Refused })
}
