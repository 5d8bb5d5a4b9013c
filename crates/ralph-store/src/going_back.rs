//! A task that somebody takes back to an earlier moment of its work: no worker has it meanwhile, and none goes on with what
//! came after that moment.
use std::time::Duration;

use ralph_core::event::Millis;
use ralph_core::pipeline::Progress;
use ralph_core::task::Status;

use super::batch::Value;
use super::claims::{millis, now, read_claim};
use super::{Claim, Store, StoreError};

impl Store {
    /// Takes a task that nobody has, whatever its status is. `None`: somebody has it.
    pub async fn hold_task(
        &self,
        task: &str,
        owner: &str,
        lease: Duration,
    ) -> Result<Option<Claim>, StoreError> {
        let sql = "UPDATE tasks SET owner = $1, fence = fence + 1, lease_until = $2 + $3
             WHERE id = $4 AND (owner IS NULL OR lease_until < $2) RETURNING id, fence";
        let query = sqlx::query(sql).bind(Value::from(owner).text().to_owned());
        let query = query.bind(now()).bind(millis(lease)).bind(task.to_owned());
        Ok(self.written_beside(query, read_claim).await?.pop())
    }

    /// Writes how far the work on a task is, from now on.
    pub async fn go_back(
        &self,
        claim: &Claim,
        (progress, status): (Option<&Progress>, Status),
        at: Millis,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE tasks SET pipeline = COALESCE($1, pipeline), status = $2, updated_at = $3
             WHERE id = $4 AND fence = $5 RETURNING id, fence";
        let progress = progress.map(|progress| self.encode(progress)).transpose()?;
        let query = sqlx::query(sql).bind(progress.map(|text| Value::from(text.as_str()).text().to_owned()));
        let query = query.bind(status.as_str()).bind(at.0);
        let written =
            self.written_beside(query.bind(claim.task.clone()).bind(claim.fence), read_claim).await?;
        if written.is_empty() { Err(self.lost(&claim.task)) } else { Ok(()) }
    }
}
