//! Old runs: which there are, and forgetting them for good.
use ralph_core::event::Millis;
use ralph_core::retention::Life;
use sqlx::Row;

use super::batch::{execute_many, sql};
use super::{Store, StoreError};

impl Store {
    /// Returns every run and what became of it, newest first.
    pub async fn lives(&self) -> Result<Vec<(String, Life)>, StoreError> {
        let sql = "SELECT id, status, started_at, ended_at FROM runs ORDER BY started_at DESC, id DESC";
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let ended: Option<i64> = row.try_get("ended_at")?;
            let life = match row.try_get::<&str, _>("status")? {
                "running" => Life::Running,
                _ => Life::Ended { at: Millis(ended.unwrap_or(row.try_get("started_at")?)) },
            };
            Ok((row.try_get("id")?, life))
        };
        self.rows(sqlx::query(sql), read).await
    }

    /// Removes a run with its journal and everything that follows from it, all or nothing. One that is running stays.
    pub async fn forget(&self, run: &str) -> Result<(), StoreError> {
        let statements = vec![
            sql!(
                "DELETE FROM events WHERE run IN (SELECT id FROM runs WHERE id = ? AND status <> 'running')",
                run
            ),
            sql!(
                "DELETE FROM verdicts WHERE run IN (SELECT id FROM runs WHERE id = ? AND status <> 'running')",
                run
            ),
            sql!(
                "DELETE FROM attempts WHERE run IN (SELECT id FROM runs WHERE id = ? AND status <> 'running')",
                run
            ),
            sql!(
                "DELETE FROM iterations WHERE run IN (SELECT id FROM runs WHERE id = ? AND status <> 'running')",
                run
            ),
            sql!("DELETE FROM runs WHERE id = ? AND status <> 'running'", run),
        ];
        let mut connection = self.connection.lock().await;
        execute_many(&mut connection, statements).await.map_err(|source| self.failed(source))
    }
}
