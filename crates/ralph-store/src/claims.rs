//! The lease of a task: one worker at a time has it, and no other can write what becomes of the task. Time is that of the
//! store alone. All who use this file are on one machine, so that is the time since the machine was started: nobody sets it,
//! and it goes on while the machine sleeps. Of an earlier start of the machine all workers are dead.
use std::time::Duration;

use ralph_core::event::Millis;
use ralph_core::pipeline::Progress;
use ralph_core::task::Status;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::batch::Value;
use super::{Store, StoreError, TaskRow};

/// Returns what the store's clock shows, in milliseconds.
pub(super) fn now() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
}

/// A task that this worker has taken, and the number under which it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub task: String,
    pub fence: i64,
}

/// A task that was just taken.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub claim: Claim,
    pub row: TaskRow,
    /// How far earlier workers came.
    pub progress: Option<Progress>,
}

/// Which tasks a worker takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Among<'a> {
    /// These alone; all where there are none.
    pub named: &'a [String],
    pub except: &'a [String],
}

/// What a worker writes about its task.
#[derive(Debug, Clone, Copy)]
pub struct Advance<'a> {
    pub progress: &'a Progress,
    /// `None`: as it is.
    pub status: Option<Status>,
    /// JSON; `None`: as it is.
    pub metadata: Option<&'a str>,
    pub lease: Keeping,
}

/// Whether the lease is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    Kept,
    Returned,
}

/// What became of a task that was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    Done,
    NotOurs,
}

/// Somebody's lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub claim: Claim,
    /// Who has it, as JSON.
    pub owner: String,
    pub is_over: bool,
}

impl Store {
    /// Takes the next task that is ready: whose dependencies are done, and which nobody works on. The most urgent come
    /// first; among them those under way, then those that failed least often, then the oldest.
    pub async fn claim_next(
        &self,
        owner: &str,
        lease: Duration,
        among: Among<'_>,
    ) -> Result<Option<Claimed>, StoreError> {
        let named = (!among.named.is_empty()).then(|| self.encode(&among.named)).transpose()?;
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
        let query = sqlx::query(sql).bind(Value::from(owner).text().to_owned());
        let query = query.bind(millis(lease)).bind(named).bind(self.encode(&among.except)?).bind(now());
        let claim = self.written_beside(query, read_claim).await?.pop();
        let Some(claim) = claim else { return Ok(None) };
        let row = self.task(&claim.task).await?;
        let row = row.ok_or_else(|| self.lost(&claim.task))?;
        let progress = self.progress(&claim.task).await?;
        Ok(Some(Claimed { claim, row, progress }))
    }

    /// Makes the leases of this worker last longer, and returns those that it has lost.
    pub async fn renew(&self, claims: &[Claim], lease: Duration) -> Result<Vec<Claim>, StoreError> {
        let pairs: Vec<(&str, i64)> = claims.iter().map(|claim| (claim.task.as_str(), claim.fence)).collect();
        let sql = "UPDATE tasks SET lease_until = $1 WHERE owner IS NOT NULL AND (id, fence) IN
                (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($2))
             RETURNING id, fence";
        let query = sqlx::query(sql).bind(now() + millis(lease)).bind(self.encode(&pairs)?);
        let kept = self.written_beside(query, read_claim).await?;
        Ok(claims.iter().filter(|claim| !kept.contains(claim)).cloned().collect())
    }

    /// Writes how far a task is, unless another worker has taken it meanwhile.
    pub async fn advance(&self, claim: &Claim, to: &Advance<'_>, at: Millis) -> Result<(), StoreError> {
        let sql = "UPDATE tasks SET pipeline = $1, status = COALESCE($2, status), metadata = COALESCE($3, metadata),
                owner = CASE WHEN $4 THEN owner END, lease_until = CASE WHEN $4 THEN lease_until END, updated_at = $5
             WHERE id = $6 AND fence = $7 RETURNING id, fence";
        let query = sqlx::query(sql).bind(Value::from(self.encode(to.progress)?.as_str()).text().to_owned());
        let query = query.bind(to.status.map(Status::as_str));
        let query = query.bind(to.metadata.map(|metadata| Value::from(metadata).text().to_owned()));
        let query = query.bind(to.lease == Keeping::Kept).bind(at.0);
        let written =
            self.written_beside(query.bind(claim.task.clone()).bind(claim.fence), read_claim).await?;
        if written.is_empty() { Err(self.lost(&claim.task)) } else { Ok(()) }
    }

    /// Gives a task back as it is, unless another worker has taken it meanwhile.
    pub async fn give_back(&self, claim: &Claim) -> Result<Returned, StoreError> {
        let sql = "UPDATE tasks SET owner = NULL, lease_until = NULL WHERE id = $1 AND fence = $2 RETURNING id, fence";
        let query = sqlx::query(sql).bind(claim.task.clone()).bind(claim.fence);
        let returned = self.written_beside(query, read_claim).await?;
        Ok(if returned.is_empty() { Returned::NotOurs } else { Returned::Done })
    }

    /// Returns everybody's leases.
    pub async fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        let sql = "SELECT id, fence, owner, lease_until < $1 AS over FROM tasks WHERE owner IS NOT NULL ORDER BY id";
        let read = |row: &SqliteRow| {
            let (owner, is_over) = (row.try_get("owner")?, row.try_get::<Option<bool>, _>("over")?);
            Ok(Lease { claim: read_claim(row)?, owner, is_over: is_over.unwrap_or(true) })
        };
        self.rows(sqlx::query(sql).bind(now()), read).await
    }

    /// Ends the lease of a worker who is known to be dead.
    pub async fn end_lease(&self, of: &Claim) -> Result<(), StoreError> {
        let sql = "UPDATE tasks SET lease_until = 0 WHERE id = $1 AND fence = $2 RETURNING id, fence";
        let query = sqlx::query(sql).bind(of.task.clone()).bind(of.fence);
        self.written_beside(query, read_claim).await?;
        Ok(())
    }

    /// Returns how far the work on a task is.
    pub async fn progress(&self, task: &str) -> Result<Option<Progress>, StoreError> {
        let query = sqlx::query("SELECT pipeline FROM tasks WHERE id = $1").bind(task.to_owned());
        let read = |row: &SqliteRow| {
            let stored: Option<String> = row.try_get(0)?;
            let read = stored.map(|text| serde_json::from_str(&text)).transpose();
            read.map_err(|error| sqlx::Error::Decode(format!("the progress of a task: {error}").into()))
        };
        Ok(self.rows(query, read).await?.pop().flatten())
    }

    pub(super) fn lost(&self, task: &str) -> StoreError {
        StoreError::LeaseLost { task: task.to_owned() }
    }
}

pub(super) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn read_claim(row: &SqliteRow) -> Result<Claim, sqlx::Error> {
    Ok(Claim { task: row.try_get("id")?, fence: row.try_get("fence")? })
}
