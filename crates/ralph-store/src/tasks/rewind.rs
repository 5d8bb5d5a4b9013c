//! Rewinds a task to an earlier point of its work. The lease keeps workers away during the rewind, and no worker
//! resumes work from after that point.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::pipeline::TaskProgress;
use ralph_core::task::TaskStatus;

use crate::driver::statement_batch::SqlValue;
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
        let sql = "UPDATE tasks SET owner = $1, fence = fence + 1, lease_until = $2 + $3
             WHERE id = $4 AND (owner IS NULL OR lease_until < $2) RETURNING id, fence";
        let query = sqlx::query(sql).bind(SqlValue::from(owner).as_stored_text().to_owned());
        let query = query.bind(boot_clock_millis()).bind(duration_to_millis(lease_duration)).bind(task.to_owned());
        Ok(self.write_outside_run(query, read_lease).await?.pop())
    }

    /// Replaces the progress and the status of a task. With `None`, the progress is not changed.
    pub async fn rewind_task(
        &self,
        lease: &TaskLease,
        progress: Option<&TaskProgress>,
        status: TaskStatus,
        at: UnixMillis,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE tasks SET pipeline = COALESCE($1, pipeline), status = $2, updated_at = $3
             WHERE id = $4 AND fence = $5 RETURNING id, fence";
        let progress = progress.map(|progress| self.to_json(progress)).transpose()?;
        let query =
            sqlx::query(sql).bind(progress.map(|text| SqlValue::from(text.as_str()).as_stored_text().to_owned()));
        let query = query.bind(status.as_str()).bind(at.0);
        let written = self.write_outside_run(query.bind(lease.task_id.clone()).bind(lease.fence), read_lease).await?;
        if written.is_empty() { Err(self.lease_lost_error(&lease.task_id)) } else { Ok(()) }
    }
}
