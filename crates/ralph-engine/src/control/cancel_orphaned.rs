//! Cancels a run without a driver: kills its remaining processes and records the cancellation.
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LifecycleEvent, PlanAvailability, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::outcome::CancelCause;
use ralph_core::step::step;

use crate::lock::{self, LockError, LockSharing, RunOwner};
use crate::project::Project;
use ralph_process as process;
use ralph_process::SweepResult;
use ralph_store::{LeaseRow, LoopRow, StepRecord, Store, StoreError, StoredRun, TakeoverGuard};

#[derive(Debug, thiserror::Error)]
pub enum CancelOrphanedError {
    /// The run has a driver after all.
    #[error("another process drives the run")]
    Driven,
    #[error(transparent)]
    Lock(LockError),
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
    let lock_result = lock::take_lock(&project.run_lock(run), LockSharing::Exclusive, &owner).await;
    let _lock = lock_result.map_err(|error| match error {
        LockError::Taken { .. } => CancelOrphanedError::Driven,
        LockError::CannotOpen { .. } | LockError::Unsupported { .. } => CancelOrphanedError::Lock(error),
    })?;
    if has_live_worker(store, row).await? {
        return Err(CancelOrphanedError::Driven);
    }
    let stored = store.take_over_run(run, &owner.to_json(), &row.run.settings, TakeoverGuard::Unguarded).await?;
    let sweep = process::kill_run_processes(run);
    let is_newly_cancelled = stored.state.can_resume();
    if is_newly_cancelled {
        record_cancellation(store, run, stored, at).await?;
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

async fn record_cancellation(store: &Store, run: &str, stored: StoredRun, at: UnixMillis) -> Result<(), StoreError> {
    let StoredRun { state, fact_count: before, fence } = stored;
    let (state, effects) = step_as_abandoned(state, at);
    let facts: Vec<&Fact> = effects.iter().filter_map(Effect::recorded_fact).collect();
    let entry = StepRecord {
        run,
        fence,
        first_seq: before + 1,
        at,
        facts: &facts,
        answered_commands: &[],
        for_next_stage: None,
        state: &state,
    };
    store.record_step(&entry).await
}

fn step_as_abandoned(state: LoopState, at: UnixMillis) -> (LoopState, Vec<Effect>) {
    step(
        state,
        Event {
            at,
            wall_clock: at,
            random: 0,
            plan_availability: PlanAvailability::Available,
            used_by_others: Vec::new(),
            standing_guidance: Vec::new(),
            kind: EventKind::Lifecycle(LifecycleEvent::Abandoned { cause: CancelCause::Command }),
        },
    )
}
