//! The lease of a task: one worker at a time has it, and no other can write what becomes of the task. Time is that of the
//! store alone. All who use this file are on one machine, so that is the time since the machine was started: nobody sets it,
//! and it goes on while the machine sleeps. Of an earlier start of the machine all workers are dead.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::pipeline::TaskProgress;
use ralph_core::task::TaskStatus;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::statement_batch::SqlValue;
use super::{Store, StoreError, TaskRow};

/// Returns what the store's clock shows, in milliseconds.
pub(super) fn boot_clock_millis() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
}

/// A task that this worker has taken, and the number under which it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLease {
    pub task_id: String,
    pub fence: i64,
}

/// A task that was just taken.
#[derive(Debug, Clone)]
pub struct LeasedTask {
    pub lease: TaskLease,
    pub row: TaskRow,
    /// How far earlier workers came.
    pub progress: Option<TaskProgress>,
}

/// Which tasks a worker takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskFilter<'a> {
    /// These alone; all where there are none.
    pub only: &'a [String],
    pub excluded: &'a [String],
}

/// What a worker writes about its task.
#[derive(Debug, Clone, Copy)]
pub struct TaskProgressUpdate<'a> {
    pub progress: &'a TaskProgress,
    /// `None`: as it is.
    pub status: Option<TaskStatus>,
    /// JSON; `None`: as it is.
    pub metadata: Option<&'a str>,
    pub lease_disposition: LeaseDisposition,
}

/// Whether the lease is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseDisposition {
    Keep,
    Release,
}

/// What became of a task that was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseRelease {
    Released,
    NotHeld,
}

/// Somebody's lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRow {
    pub task_lease: TaskLease,
    /// Who has it, as JSON.
    pub owner: String,
    pub is_expired: bool,
}

impl Store {
    /// Takes the next task that is ready: whose dependencies are done, and which nobody works on. The most urgent come
    /// first; among them those under way, then those that failed least often, then the oldest.
    pub async fn lease_next_task(
        &self,
        owner: &str,
        lease_duration: Duration,
        filter: TaskFilter<'_>,
    ) -> Result<Option<LeasedTask>, StoreError> {
        let only = (!filter.only.is_empty()).then(|| self.to_json(&filter.only)).transpose()?;
        let sql = "UPDATE tasks SET owner = $1, fence = fence + 1, lease_until = $5 + $2 WHERE id =
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
             RETURNING id, fence";
        let query = sqlx::query(sql).bind(SqlValue::from(owner).as_stored_text().to_owned());
        let query = query
            .bind(duration_to_millis(lease_duration))
            .bind(only)
            .bind(self.to_json(&filter.excluded)?)
            .bind(boot_clock_millis());
        let lease = self.write_outside_run(query, read_lease).await?.pop();
        let Some(claim) = lease else { return Ok(None) };
        let row = self.get_task(&claim.task_id).await?;
        let row = row.ok_or_else(|| self.lease_lost_error(&claim.task_id))?;
        let progress = self.task_progress(&claim.task_id).await?;
        Ok(Some(LeasedTask { lease: claim, row, progress }))
    }

    /// Makes the leases of this worker last longer, and returns those that it has lost.
    pub async fn renew_leases(
        &self,
        leases: &[TaskLease],
        lease_duration: Duration,
    ) -> Result<Vec<TaskLease>, StoreError> {
        let pairs: Vec<(&str, i64)> = leases.iter().map(|claim| (claim.task_id.as_str(), claim.fence)).collect();
        let sql = "UPDATE tasks SET lease_until = $1 WHERE owner IS NOT NULL AND (id, fence) IN
                (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($2))
             RETURNING id, fence";
        let query =
            sqlx::query(sql).bind(boot_clock_millis() + duration_to_millis(lease_duration)).bind(self.to_json(&pairs)?);
        let renewed = self.write_outside_run(query, read_lease).await?;
        Ok(leases.iter().filter(|claim| !renewed.contains(claim)).cloned().collect())
    }

    /// Writes how far a task is, unless another worker has taken it meanwhile.
    pub async fn advance_task(
        &self,
        lease: &TaskLease,
        update: &TaskProgressUpdate<'_>,
        at: UnixMillis,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE tasks SET pipeline = $1, status = COALESCE($2, status), metadata = COALESCE($3, metadata),
                owner = CASE WHEN $4 THEN owner END, lease_until = CASE WHEN $4 THEN lease_until END, updated_at = $5
             WHERE id = $6 AND fence = $7 RETURNING id, fence";
        let query =
            sqlx::query(sql).bind(SqlValue::from(self.to_json(update.progress)?.as_str()).as_stored_text().to_owned());
        let query = query.bind(update.status.map(TaskStatus::as_str));
        let query = query.bind(update.metadata.map(|metadata| SqlValue::from(metadata).as_stored_text().to_owned()));
        let query = query.bind(update.lease_disposition == LeaseDisposition::Keep).bind(at.0);
        let written = self.write_outside_run(query.bind(lease.task_id.clone()).bind(lease.fence), read_lease).await?;
        if written.is_empty() { Err(self.lease_lost_error(&lease.task_id)) } else { Ok(()) }
    }

    /// Gives a task back as it is, unless another worker has taken it meanwhile.
    pub async fn release_lease(&self, lease: &TaskLease) -> Result<LeaseRelease, StoreError> {
        let sql = "UPDATE tasks SET owner = NULL, lease_until = NULL WHERE id = $1 AND fence = $2 RETURNING id, fence";
        let query = sqlx::query(sql).bind(lease.task_id.clone()).bind(lease.fence);
        let released = self.write_outside_run(query, read_lease).await?;
        Ok(if released.is_empty() { LeaseRelease::NotHeld } else { LeaseRelease::Released })
    }

    /// Returns everybody's leases.
    pub async fn list_leases(&self) -> Result<Vec<LeaseRow>, StoreError> {
        let sql = "SELECT id, fence, owner, lease_until < $1 AS over FROM tasks WHERE owner IS NOT NULL ORDER BY id";
        let read = |row: &SqliteRow| {
            let (owner, is_over) = (row.try_get("owner")?, row.try_get::<Option<bool>, _>("over")?);
            Ok(LeaseRow { task_lease: read_lease(row)?, owner, is_expired: is_over.unwrap_or(true) })
        };
        self.fetch_rows(sqlx::query(sql).bind(boot_clock_millis()), read).await
    }

    /// Ends the lease of a worker who is known to be dead.
    pub async fn expire_lease(&self, lease: &TaskLease) -> Result<(), StoreError> {
        let sql = "UPDATE tasks SET lease_until = 0 WHERE id = $1 AND fence = $2 RETURNING id, fence";
        let query = sqlx::query(sql).bind(lease.task_id.clone()).bind(lease.fence);
        self.write_outside_run(query, read_lease).await?;
        Ok(())
    }

    /// Returns how far the work on a task is.
    pub async fn task_progress(&self, task: &str) -> Result<Option<TaskProgress>, StoreError> {
        let query = sqlx::query("SELECT pipeline FROM tasks WHERE id = $1").bind(task.to_owned());
        let read = |row: &SqliteRow| {
            let stored: Option<String> = row.try_get(0)?;
            let read = stored.map(|text| serde_json::from_str(&text)).transpose();
            read.map_err(|error| sqlx::Error::Decode(format!("the progress of a task: {error}").into()))
        };
        Ok(self.fetch_rows(query, read).await?.pop().flatten())
    }

    pub(super) fn lease_lost_error(&self, task: &str) -> StoreError {
        StoreError::LeaseLost { task: task.to_owned() }
    }
}

pub(super) fn duration_to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn read_lease(row: &SqliteRow) -> Result<TaskLease, sqlx::Error> {
    Ok(TaskLease { task_id: row.try_get("id")?, fence: row.try_get("fence")? })
}
