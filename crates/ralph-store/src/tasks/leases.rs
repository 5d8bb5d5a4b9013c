//! Task leases: one worker at a time holds the lease of a task, and only that worker can write its progress. Leases use
//! the boot clock of the machine, because all users of the database are on one machine, the clock is never set, and it
//! runs while the machine sleeps. After a reboot all earlier workers are dead.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::pipeline::TaskProgress;
use ralph_core::task::TaskStatus;

use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::{Store, StoreError, TaskRow};

/// Returns the time since boot in milliseconds.
pub(crate) fn boot_clock_millis() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
}

/// The lease of a task: its holder writes with this fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLease {
    pub task_id: String,
    pub fence: i64,
}

/// A task that was just leased.
#[derive(Debug, Clone)]
pub struct LeasedTask {
    pub lease: TaskLease,
    pub row: TaskRow,
    /// The progress of earlier workers.
    pub progress: Option<TaskProgress>,
}

/// Restricts the tasks that a worker leases.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskFilter<'a> {
    /// Only these tasks; all tasks if empty.
    pub only: &'a [String],
    pub excluded: &'a [String],
}

/// An update that a worker writes for its task.
#[derive(Debug, Clone, Copy)]
pub struct TaskProgressUpdate<'a> {
    pub progress: &'a TaskProgress,
    /// `None` keeps the status.
    pub status: Option<TaskStatus>,
    /// JSON; `None` keeps the metadata.
    pub metadata: Option<&'a str>,
    pub lease_disposition: LeaseDisposition,
}

/// Whether an update keeps the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseDisposition {
    Keep,
    Release,
}

/// Whether a lease was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseRelease {
    Released,
    NotHeld,
}

/// The lease of any worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRow {
    pub task_lease: TaskLease,
    /// The worker that holds it, as JSON.
    pub owner: String,
    pub is_expired: bool,
}

impl Store {
    /// Leases the next task that is ready: its dependencies are done, its checks are approved and no worker holds it.
    /// Orders by priority, then tasks in progress before new ones, then by fewest attempts, then by age.
    pub async fn lease_next_task(
        &self,
        owner: &str,
        lease_duration: Duration,
        filter: TaskFilter<'_>,
    ) -> Result<Option<LeasedTask>, StoreError> {
        let only = (!filter.only.is_empty()).then(|| self.to_json(&filter.only)).transpose()?;
        let statement = sql!(
            "UPDATE tasks SET owner = $1, fence = fence + 1, lease_until = $5 + $2 WHERE id =
                (SELECT t.id FROM tasks t
                 WHERE t.status IN ('todo', 'coding', 'reviewing', 'testing', 'qa')
                    AND t.unapproved = 0
                    AND (t.owner IS NULL OR t.lease_until < $5)
                    AND ($3 IS NULL OR t.id IN (SELECT value FROM json_each($3)))
                    AND t.id NOT IN (SELECT value FROM json_each($4))
                    AND NOT EXISTS
                        (SELECT 1 FROM json_each(COALESCE(t.dependencies, '[]')) d
                         LEFT JOIN tasks o ON o.id = d.value WHERE o.status IS NOT 'done')
                 ORDER BY COALESCE(t.priority, 3), t.status = 'todo',
                    COALESCE(json_extract(t.pipeline, '$.attempts'), 0), t.seq LIMIT 1)
             RETURNING id, fence",
            owner,
            duration_to_millis(lease_duration),
            only.as_deref().map(SqlValue::verbatim),
            SqlValue::verbatim(&self.to_json(&filter.excluded)?),
            boot_clock_millis()
        );
        let lease = self.execute_returning(statement, read_lease).await?.pop();
        let Some(lease) = lease else { return Ok(None) };
        let row = self.get_task(&lease.task_id).await?;
        let row = row.ok_or_else(|| self.lease_lost_error(&lease.task_id))?;
        let progress = self.task_progress(&lease.task_id).await?;
        Ok(Some(LeasedTask { lease, row, progress }))
    }

    /// Renews the leases of this worker and returns those that it has lost.
    pub async fn renew_leases(
        &self,
        leases: &[TaskLease],
        lease_duration: Duration,
    ) -> Result<Vec<TaskLease>, StoreError> {
        let pairs: Vec<(&str, i64)> = leases.iter().map(|lease| (lease.task_id.as_str(), lease.fence)).collect();
        let statement = sql!(
            "UPDATE tasks SET lease_until = $1 WHERE owner IS NOT NULL AND (id, fence) IN
                (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($2))
             RETURNING id, fence",
            boot_clock_millis() + duration_to_millis(lease_duration),
            SqlValue::verbatim(&self.to_json(&pairs)?)
        );
        let renewed = self.execute_returning(statement, read_lease).await?;
        Ok(leases.iter().filter(|lease| !renewed.contains(lease)).cloned().collect())
    }

    /// Writes the progress of a task. Fails if another worker has leased it in the meantime.
    pub async fn advance_task(
        &self,
        lease: &TaskLease,
        update: &TaskProgressUpdate<'_>,
        at: UnixMillis,
    ) -> Result<(), StoreError> {
        let statement = sql!(
            "UPDATE tasks SET pipeline = $1, status = COALESCE($2, status), metadata = COALESCE($3, metadata),
                owner = CASE WHEN $4 THEN owner END, lease_until = CASE WHEN $4 THEN lease_until END, updated_at = $5
             WHERE id = $6 AND fence = $7",
            self.to_json(update.progress)?.as_str(),
            update.status.map(TaskStatus::as_str),
            update.metadata,
            update.lease_disposition == LeaseDisposition::Keep,
            at.0,
            SqlValue::verbatim(&lease.task_id),
            lease.fence
        );
        self.execute_with_lease(lease, statement).await
    }

    /// Releases a lease without changing the task, unless another worker has leased it in the meantime.
    pub async fn release_lease(&self, lease: &TaskLease) -> Result<LeaseRelease, StoreError> {
        let statement = sql!(
            "UPDATE tasks SET owner = NULL, lease_until = NULL WHERE id = $1 AND fence = $2",
            SqlValue::verbatim(&lease.task_id),
            lease.fence
        );
        Ok(if self.execute(statement).await? == 0 { LeaseRelease::NotHeld } else { LeaseRelease::Released })
    }

    /// Returns the leases of all workers.
    pub async fn list_leases(&self) -> Result<Vec<LeaseRow>, StoreError> {
        let sql = "SELECT id, fence, owner, lease_until < $1 AS over FROM tasks WHERE owner IS NOT NULL ORDER BY id";
        let read = |row: &DatabaseRow| {
            let (owner, is_expired) = (row.get("owner")?, row.get::<Option<bool>>("over")?);
            Ok(LeaseRow { task_lease: read_lease(row)?, owner, is_expired: is_expired.unwrap_or(true) })
        };
        self.rows(sql!(sql, boot_clock_millis()), read).await
    }

    /// Expires the lease of a dead worker.
    pub async fn expire_lease(&self, lease: &TaskLease) -> Result<(), StoreError> {
        let statement = sql!(
            "UPDATE tasks SET lease_until = 0 WHERE id = $1 AND fence = $2",
            SqlValue::verbatim(&lease.task_id),
            lease.fence
        );
        self.execute(statement).await.map(drop)
    }

    /// Returns the progress of a task.
    pub async fn task_progress(&self, task: &str) -> Result<Option<TaskProgress>, StoreError> {
        let statement = sql!("SELECT pipeline FROM tasks WHERE id = $1", SqlValue::verbatim(task));
        let read = |row: &DatabaseRow| {
            let stored: Option<String> = row.get("pipeline")?;
            let read = stored.map(|text| serde_json::from_str(&text)).transpose();
            read.map_err(|error| DriverError::unreadable_value(format!("the progress of a task: {error}")))
        };
        Ok(self.row(statement, read).await?.flatten())
    }

    /// Runs a write that depends on a lease. Fails if it changes no row, because another worker has leased the task.
    pub(crate) async fn execute_with_lease(
        &self,
        lease: &TaskLease,
        statement: SqlStatement,
    ) -> Result<(), StoreError> {
        match self.execute(statement).await? {
            0 => Err(self.lease_lost_error(&lease.task_id)),
            _ => Ok(()),
        }
    }

    pub(crate) fn lease_lost_error(&self, task: &str) -> StoreError {
        StoreError::LeaseLost { task: task.to_owned() }
    }
}

pub(crate) fn duration_to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn read_lease(row: &DatabaseRow) -> Result<TaskLease, DriverError> {
    Ok(TaskLease { task_id: row.get("id")?, fence: row.get("fence")? })
}
