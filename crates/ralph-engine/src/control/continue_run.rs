//! Continues a run that ended exhausted, over budget, stalled or blocked: records the change and leaves the run open for a
//! driver.
use ralph_core::continuation::{Continuation, NoContinuation};
use ralph_core::control_command::PendingCommands;
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LifecycleEvent, PlanAvailability, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::limit_change::ChangedLimits;
use ralph_core::step::step;

use crate::lock::{self, LockError, LockSharing, RunOwner};
use crate::project::Project;
use ralph_store::{RunRow, StepRecord, Store, StoreError, StoredRun, TakeoverGuard};

#[derive(Debug, thiserror::Error)]
pub enum ContinueRunError {
    /// Another process drives the run, or decides on it.
    #[error("another process has the run")]
    Driven,
    #[error("the run cannot be continued")]
    Refused(NoContinuation),
    #[error(transparent)]
    Lock(LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The change, and the condition under which it is recorded.
pub struct RunContinuation<'a> {
    pub continuation: Continuation,
    pub guard: TakeoverGuard<'a>,
    pub at: UnixMillis,
}

/// Records the change, and returns the new limits. Meanwhile no other process can resume the run.
pub async fn continue_ended_run(
    project: &Project,
    store: &Store,
    row: &RunRow,
    requested: RunContinuation<'_>,
) -> Result<ChangedLimits, ContinueRunError> {
    let RunContinuation { continuation, guard, at } = requested;
    let run = row.id.as_str();
    let owner = RunOwner::for_this_process(run, at);
    let lock_result = lock::take_lock(&project.run_lock(run), LockSharing::Exclusive, &owner).await;
    let _lock = lock_result.map_err(|error| match error {
        LockError::Taken { .. } => ContinueRunError::Driven,
        LockError::CannotOpen { .. } | LockError::Unsupported { .. } => ContinueRunError::Lock(error),
    })?;
    let stored = store.take_over_run(run, &owner.to_json(), &row.settings, guard).await?;
    let changed = stored.state.check_continuation(&continuation).map_err(ContinueRunError::Refused)?;
    let StoredRun { mut state, fact_count: before, fence } = stored;
    if row.task.is_some() {
        // They were queued for the next stage of the task, so this run receives them from there.
        state.pending_commands = PendingCommands::default();
    }
    let (state, effects) = step(state, continued_event(continuation, at));
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
    store.record_step(&entry).await?;
    Ok(changed)
}

fn continued_event(continuation: Continuation, at: UnixMillis) -> Event {
    Event {
        at,
        wall_clock: at,
        random: 0,
        plan_availability: PlanAvailability::Available,
        used_by_others: Vec::new(),
        standing_guidance: Vec::new(),
        kind: EventKind::Lifecycle(LifecycleEvent::Continued { continuation }),
    }
}
