//! Lists runs by their last activity, and deletes runs.
use ralph_core::event::UnixMillis;

use crate::driver::DatabaseRow;
use crate::driver::statement::sql;
use crate::{Store, StoreError};

/// The last activity of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunActivity {
    pub id: String,
    /// The owner, as JSON, if the status is `running`. The owner may be dead.
    pub owner_json: Option<String>,
    pub last_active_at: UnixMillis,
    /// Whether it is the active loop of an agent session, which no process drives between two events.
    pub is_open_session: bool,
}

impl Store {
    /// Returns all runs, newest first, without the passes of workflow runs.
    pub async fn list_run_activity(&self) -> Result<Vec<RunActivity>, StoreError> {
        let sql = "SELECT id, CASE WHEN status = 'running' THEN owner END AS driver,
                kind = 'session' AND status = 'running' AS open_session,
                COALESCE(ended_at, (SELECT MAX(at) FROM events WHERE run = runs.id), started_at) AS last
             FROM runs WHERE workflow IS NULL ORDER BY started_at DESC, id DESC";
        let read = |row: &DatabaseRow| {
            Ok(RunActivity {
                id: row.get("id")?,
                owner_json: row.get("driver")?,
                last_active_at: UnixMillis(row.get("last")?),
                is_open_session: row.get::<i64>("open_session")? != 0,
            })
        };
        self.rows(sql!(sql), read).await
    }

    /// Deletes a run with its journal and projections, all or nothing.
    pub async fn delete_run(&self, run: &str) -> Result<(), StoreError> {
        let statements = vec![
            sql!("DELETE FROM events WHERE run = $1", run),
            sql!("DELETE FROM receipts WHERE run = $1", run),
            sql!("DELETE FROM shares WHERE run = $1", run),
            sql!("DELETE FROM verdicts WHERE run = $1", run),
            sql!("DELETE FROM attempts WHERE run = $1", run),
            sql!("DELETE FROM iterations WHERE run = $1", run),
            sql!("DELETE FROM orders WHERE run = $1", run),
            sql!("DELETE FROM guidance WHERE run = $1", run),
            sql!("DELETE FROM runs WHERE id = $1", run),
        ];
        self.execute_all(statements).await
    }
}
