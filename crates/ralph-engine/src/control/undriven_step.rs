//! A step of a run that no process drives: it takes the lock of the run, applies one event of its lifecycle, and records
//! the result.
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LifecycleEvent, PlanAvailability, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::step::step;
use ralph_store::{StepRecord, Store, StoreError, StoredRun};

use crate::lock::{self, HeldLock, LockError, LockSharing, RunOwner};
use crate::project::Project;

#[derive(Debug, thiserror::Error)]
pub enum RunLockError {
    /// Another process drives the run, or decides on it.
    #[error("another process has the run")]
    Driven,
    #[error(transparent)]
    Unusable(LockError),
}

/// Takes the lock of a run. While it is held, no other process can resume the run or decide on it.
pub(super) async fn lock_undriven_run(
    project: &Project,
    run: &str,
    owner: &RunOwner,
) -> Result<HeldLock, RunLockError> {
    let lock_result = lock::take_lock(&project.run_lock(run), LockSharing::Exclusive, owner).await;
    lock_result.map_err(|error| match error {
        LockError::Taken { .. } => RunLockError::Driven,
        LockError::CannotOpen { .. } | LockError::Unsupported { .. } => RunLockError::Unusable(error),
    })
}

/// A step that is decided and not yet recorded.
pub(super) struct UndrivenStep<'a> {
    run: &'a str,
    at: UnixMillis,
    fence: i64,
    first_seq: i64,
    pub(super) state: LoopState,
    pub(super) effects: Vec<Effect>,
}

impl<'a> UndrivenStep<'a> {
    /// Applies the event to the run, which this process has taken over.
    pub(super) fn decide(run: &'a str, stored: StoredRun, event: LifecycleEvent, at: UnixMillis) -> Self {
        let StoredRun { state, fact_count, fence } = stored;
        let event = Event {
            at,
            wall_clock: at,
            random: 0,
            plan_availability: PlanAvailability::Available,
            used_by_others: Vec::new(),
            standing_guidance: Vec::new(),
            kind: EventKind::Lifecycle(event),
        };
        let (state, effects) = step(state, event);
        Self { run, at, fence, first_seq: fact_count + 1, state, effects }
    }

    /// Returns the facts that the rules decided.
    pub(super) fn facts(&self) -> Vec<&Fact> {
        self.effects.iter().filter_map(Effect::recorded_fact).collect()
    }

    /// Stores the new state with these facts.
    pub(super) async fn record(&self, store: &Store, facts: &[&Fact]) -> Result<(), StoreError> {
        let entry = StepRecord {
            run: self.run,
            fence: self.fence,
            first_seq: self.first_seq,
            at: self.at,
            facts,
            answered_commands: &[],
            for_next_stage: None,
            state: &self.state,
        };
        store.record_step(&entry).await
    }
}
