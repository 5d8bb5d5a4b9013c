//! Cancels a run without a driver: kills its remaining processes and records the cancellation.
use ralph_core::event::{LifecycleEvent, UnixMillis};
use ralph_core::outcome::CancelCause;

use super::undriven_step::{RunLockError, UndrivenStep, lock_undriven_run};
use crate::lock::RunOwner;
use crate::project::Project;
use ralph_process as process;
use ralph_process::SweepResult;
use ralph_store::{LeaseRow, LoopRow, Store, StoreError, TakeoverGuard};

#[derive(Debug, thiserror::Error)]
pub enum CancelOrphanedError {
    /// The run has a driver after all.
    #[error(transparent)]
    Lock(#[from] RunLockError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The result of cancelling an orphaned run.
#[derive(Debug)]
pub struct OrphanCancellation {
    /// The processes that were still running.
    pub sweep: SweepResult,
    /// Whether this call cancelled the run; `false` if it had ended before.
    pub is_newly_cancelled: bool,
}

/// Cancels the run. Meanwhile no other process can resume it, and its former driver can no longer write.
pub async fn cancel_orphaned_run(
    project: &Project,
    store: &Store,
    row: &LoopRow,
    at: UnixMillis,
) -> Result<OrphanCancellation, CancelOrphanedError> {
    let run = row.run.id.as_str();
    let owner = RunOwner::for_this_process(run, at);
    let _lock = lock_undriven_run(project, run, &owner).await?;
    if has_live_worker(store, row).await? {
        return Err(RunLockError::Driven.into());
    }
    let stored = store.take_over_run(run, &owner.to_json(), &row.run.settings, TakeoverGuard::Unguarded).await?;
    let sweep = process::kill_run_processes(run);
    let is_newly_cancelled = stored.state.can_resume();
    if is_newly_cancelled {
        let abandoned = LifecycleEvent::Abandoned { cause: CancelCause::Command };
        let step = UndrivenStep::decide(run, stored, abandoned, at);
        step.record(store, &step.facts()).await?;
    }
    Ok(OrphanCancellation { sweep, is_newly_cancelled })
}

/// Returns whether a live worker holds the lease of the task. It may not hold the lock of the run yet, while another
/// process releases it.
async fn has_live_worker(store: &Store, row: &LoopRow) -> Result<bool, StoreError> {
    let leases = store.list_leases().await?;
    let lease =
        leases.into_iter().find(|lease| Some(&lease.task_lease.task_id) == row.run.task.as_ref() && !lease.is_expired);
    let is_alive =
        |lease: LeaseRow| RunOwner::parse(&lease.owner).is_some_and(|owner| !owner.process.has_exited_here());
    Ok(row.run.status == "running" && lease.is_some_and(is_alive))
}
