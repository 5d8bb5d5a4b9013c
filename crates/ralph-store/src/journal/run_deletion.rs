//! Lists runs by their last activity, and deletes runs.
use ralph_core::event::UnixMillis;
use sqlx::Row;

use crate::driver::statement_batch::{execute_many, sql};
use crate::{Store, StoreError};

/// The last activity of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunActivity {
    pub id: String,
    /// The owner, as JSON, if the status is `running`. The owner may be dead.
    pub owner_json: Option<String>,
    pub last_active_at: UnixMillis,
}

impl Store {
    /// Returns all runs, newest first.
    pub async fn list_run_activity(&self) -> Result<Vec<RunActivity>, StoreError> {
        let sql = "SELECT id, CASE WHEN status = 'running' THEN owner END AS driver,
                COALESCE(ended_at, (SELECT MAX(at) FROM events WHERE run = runs.id), started_at) AS last
             FROM runs ORDER BY started_at DESC, id DESC";
        let read = |row: &sqlx::sqlite::SqliteRow| {
            Ok(RunActivity {
                id: row.try_get("id")?,
                owner_json: row.try_get("driver")?,
                last_active_at: UnixMillis(row.try_get("last")?),
            })
        };
        self.fetch_rows(sqlx::query(sql), read).await
    }

    /// Deletes a run with its journal and projections, all or nothing.
    pub async fn delete_run(&self, run: &str) -> Result<(), StoreError> {
        let statements = vec![
            sql!("DELETE FROM events WHERE run = ?", run),
            sql!("DELETE FROM receipts WHERE run = ?", run),
            sql!("DELETE FROM shares WHERE run = ?", run),
            sql!("DELETE FROM verdicts WHERE run = ?", run),
            sql!("DELETE FROM attempts WHERE run = ?", run),
            sql!("DELETE FROM iterations WHERE run = ?", run),
            sql!("DELETE FROM orders WHERE run = ?", run),
            sql!("DELETE FROM runs WHERE id = ?", run),
        ];
        let mut connection = self.connection.lock().await;
        execute_many(&mut connection, statements).await.map_err(|source| self.to_store_error(source))
    }
}
