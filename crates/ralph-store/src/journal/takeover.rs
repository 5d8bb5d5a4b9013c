//! Takes over a run from an engine that is dead or must not write any more.
use ralph_core::loop_state::LoopState;

use crate::driver::statement::{SqlValue, sql};
use crate::journal::run_insert::settings_checksum;
use crate::tasks::leases::boot_clock_millis;
use crate::{Store, StoreError, TaskLease};

/// A run as its last engine left it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    pub state: LoopState,
    pub fact_count: i64,
    /// The fence of its newest engine; 0 if no engine of this store ever drove it.
    pub fence: i64,
}

/// The condition for a takeover.
#[derive(Debug, Clone, Copy)]
pub enum TakeoverGuard<'a> {
    /// The worker must hold the lease of the stage's task.
    HoldsLease(&'a TaskLease),
    /// A manual takeover: the task must not be leased.
    TaskUnleased { task: &'a str },
    /// The run is not a stage of a task, or is only marked as ended.
    Unguarded,
}

impl TakeoverGuard<'_> {
    fn task_id(&self) -> Option<&str> {
        match self {
            Self::HoldsLease(lease) => Some(&lease.task_id),
            Self::TaskUnleased { task } => Some(task),
            Self::Unguarded => None,
        }
    }

    fn lease_fence(&self) -> Option<i64> {
        match self {
            Self::HoldsLease(lease) => Some(lease.fence),
            Self::TaskUnleased { .. } | Self::Unguarded => None,
        }
    }
}

impl Store {
    /// Reads a run as its last engine left it.
    pub async fn load_run(&self, run: &str) -> Result<StoredRun, StoreError> {
        let latest = self.latest_loop(run).await?;
        let state = serde_json::from_str(&latest.loop_json)
            .map_err(|error| self.unreadable_error(format!("the loop of {run}: {error}")))?;
        Ok(StoredRun { state, fact_count: self.count_facts(run, &latest).await?, fence: latest.fence })
    }

    /// Makes this engine the owner of a run. The previous engine can no longer write to it.
    pub async fn take_over_run(
        &self,
        run: &str,
        owner: &str,
        settings: &str,
        guard: TakeoverGuard<'_>,
    ) -> Result<StoredRun, StoreError> {
        let settings = SqlValue::from(settings);
        let settings_sum = settings_checksum(settings.as_stored_text());
        // One statement, so that concurrent takeovers get different fences.
        let statement = sql!(
            "UPDATE runs SET fence = fence + 1, owner = $1, settings = $2, settings_sum = $3 WHERE id = $4
                AND CASE WHEN $6 IS NULL THEN NOT EXISTS (SELECT 1 FROM tasks WHERE id = $5 AND lease_until >= $7)
                    ELSE EXISTS (SELECT 1 FROM tasks WHERE id = $5 AND fence = $6) END
            RETURNING fence",
            SqlValue::verbatim(owner),
            settings,
            settings_sum,
            SqlValue::verbatim(run),
            guard.task_id().map(SqlValue::verbatim),
            guard.lease_fence(),
            boot_clock_millis()
        );
        let new_fence = self.execute_returning(statement, |row| row.get("fence")).await?.pop();
        let fence = new_fence.ok_or_else(|| match guard {
            TakeoverGuard::HoldsLease(lease) => self.lease_lost_error(&lease.task_id),
            TakeoverGuard::TaskUnleased { task } => StoreError::LeaseTaken { task: task.to_owned() },
            TakeoverGuard::Unguarded => self.unreadable_error(format!("run {run} does not exist")),
        })?;
        Ok(StoredRun { fence, ..self.load_run(run).await? })
    }

    /// Returns the current or last owner of a run, as JSON.
    pub async fn run_owner(&self, run: &str) -> Result<Option<String>, StoreError> {
        let statement = sql!("SELECT owner FROM runs WHERE id = $1", SqlValue::verbatim(run));
        Ok(self.row(statement, |row| row.get("owner")).await?.flatten())
    }
}
