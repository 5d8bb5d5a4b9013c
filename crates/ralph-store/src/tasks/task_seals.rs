//! The seal of a task: made once, from the commit on which the work started, and used by all its stages and attempts.
use crate::driver::DatabaseRow;
use crate::driver::statement::{SqlValue, sql};
use crate::{Store, StoreError, TaskLease};

/// The stored seal of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskSealRow {
    /// The commit from which the work on the task started.
    pub base_commit: Option<String>,
    /// The seal and the baseline, as JSON.
    pub seal: Option<String>,
    /// The commit with the work that was accepted last.
    pub accepted_commit: Option<String>,
}

impl Store {
    /// Returns the stored seal of a task; empty if there is none.
    pub async fn task_seal(&self, task: &str) -> Result<TaskSealRow, StoreError> {
        let statement =
            sql!("SELECT base_commit, seal, accepted_commit FROM tasks WHERE id = $1", SqlValue::verbatim(task));
        let read = |row: &DatabaseRow| {
            Ok(TaskSealRow {
                base_commit: row.get("base_commit")?,
                seal: row.get("seal")?,
                accepted_commit: row.get("accepted_commit")?,
            })
        };
        Ok(self.rows(statement, read).await?.pop().unwrap_or_default())
    }

    /// Stores the seal of a task, unless another worker has leased it.
    pub async fn store_task_seal(&self, lease: &TaskLease, base_commit: &str, seal: &str) -> Result<(), StoreError> {
        let statement = sql!(
            "UPDATE tasks SET base_commit = $1, seal = $2 WHERE id = $3 AND fence = $4",
            base_commit,
            SqlValue::verbatim(seal),
            SqlValue::verbatim(&lease.task_id),
            lease.fence
        );
        self.execute_with_lease(lease, statement).await
    }

    /// Stores the commit with the accepted work of a task, unless another worker has leased it.
    pub async fn store_accepted_commit(&self, lease: &TaskLease, commit: &str) -> Result<(), StoreError> {
        let statement = sql!(
            "UPDATE tasks SET accepted_commit = $1 WHERE id = $2 AND fence = $3",
            commit,
            SqlValue::verbatim(&lease.task_id),
            lease.fence
        );
        self.execute_with_lease(lease, statement).await
    }
}
