//! Rewinds a task to an earlier point of its work. The lease keeps workers away during the rewind, and no worker
//! resumes work from after that point.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::pipeline::TaskProgress;
use ralph_core::task::TaskStatus;

use crate::driver::statement::{SqlValue, sql};
use crate::tasks::leases::{boot_clock_millis, duration_to_millis, read_lease};
use crate::{Store, StoreError, TaskLease};

impl Store {
    /// Leases a task, whatever its status is. Returns `None` if another process holds the lease.
    pub async fn lease_task(
        &self,
        task: &str,
        owner: &str,
        lease_duration: Duration,
    ) -> Result<Option<TaskLease>, StoreError> {
        let statement = sql!(
            "UPDATE tasks SET owner = $1, fence = fence + 1, lease_until = $2 + $3
             WHERE id = $4 AND (owner IS NULL OR lease_until < $2) RETURNING id, fence",
            owner,
            boot_clock_millis(),
            duration_to_millis(lease_duration),
            SqlValue::verbatim(task)
        );
        Ok(self.execute_returning(statement, read_lease).await?.pop())
    }

    /// Replaces the progress and the status of a task, and forgets the commit that was accepted last. With `None`, the
    /// progress is not changed.
    pub async fn rewind_task(
        &self,
        lease: &TaskLease,
        progress: Option<&TaskProgress>,
        status: TaskStatus,
        at: UnixMillis,
    ) -> Result<(), StoreError> {
        let progress = progress.map(|progress| self.to_json(progress)).transpose()?;
        let statement = sql!(
            "UPDATE tasks SET pipeline = COALESCE($1, pipeline), status = $2, updated_at = $3, accepted_commit = NULL
             WHERE id = $4 AND fence = $5",
            progress.as_deref(),
            status.as_str(),
            at.0,
            SqlValue::verbatim(&lease.task_id),
            lease.fence
        );
        self.execute_with_lease(lease, statement).await
    }
}
