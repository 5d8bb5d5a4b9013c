//! Ends a run for good that nobody drives: what is left of it is killed, and the record says that it was cancelled.
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, Ground, Millis};
use ralph_core::fact::Fact;
use ralph_core::state::Loop;
use ralph_core::step::step;

use crate::lock::{self, LockError, Owner, Sharing};
use crate::project::Project;
use ralph_process as process;
use ralph_process::Swept;
use ralph_store::{Entry, Lease, LoopRow, Right, Store, StoreError, StoredRun};

#[derive(Debug, thiserror::Error)]
pub enum BuryError {
    /// Somebody drives the run after all.
    #[error("the run is being driven")]
    Driven,
    #[error(transparent)]
    Lock(LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was left of the run.
#[derive(Debug)]
pub struct Buried {
    pub swept: Swept,
    /// Whether this is what cancelled it.
    pub is_new: bool,
}

/// Ends the run. Nobody can take it up meanwhile, and whoever drove it before can write no more.
pub async fn bury(project: &Project, store: &Store, row: &LoopRow, at: Millis) -> Result<Buried, BuryError> {
    let run = row.run.id.as_str();
    let owner = Owner::of(run, at);
    let held = lock::take(&project.run_lock(run), Sharing::Alone, &owner).await;
    let _held = held.map_err(|error| match error {
        LockError::Taken { .. } => BuryError::Driven,
        LockError::Unusable { .. } | LockError::NoLocks { .. } => BuryError::Lock(error),
    })?;
    if is_worked_on(store, row).await? {
        return Err(BuryError::Driven);
    }
    let stored = store.take_over(run, &owner.json(), &row.run.settings, Right::Any).await?;
    let swept = process::sweep(run);
    let is_new = stored.state.can_go_on();
    if is_new {
        record(store, run, stored, at).await?;
    }
    Ok(Buried { swept, is_new })
}

/// A worker may drive a stage by its lease alone, for the moment in which another one lets go of the lock.
async fn is_worked_on(store: &Store, row: &LoopRow) -> Result<bool, StoreError> {
    let leases = store.leases().await?;
    let lease =
        leases.into_iter().find(|lease| Some(&lease.claim.task) == row.run.task.as_ref() && !lease.is_over);
    let is_alive = |lease: Lease| Owner::parse(&lease.owner).is_some_and(|owner| !owner.process.is_gone());
    Ok(row.run.status == "running" && lease.is_some_and(is_alive))
}

async fn record(store: &Store, run: &str, stored: StoredRun, at: Millis) -> Result<(), StoreError> {
    let StoredRun { state, facts: before, fence } = stored;
    let (state, effects) = abandoned(state, at);
    let facts: Vec<&Fact> = effects.iter().filter_map(fact).collect();
    let entry =
        Entry { run, fence, seq: before + 1, at, facts: &facts, orders: &[], passed_on: None, state: &state };
    store.record(&entry).await
}

fn abandoned(state: Loop, at: Millis) -> (Loop, Vec<Effect>) {
    let ground = Ground::Firm;
    step(state, Event { at, wall: at, dice: 0, ground, others: Vec::new(), kind: EventKind::Abandoned })
}

fn fact(effect: &Effect) -> Option<&Fact> {
    match effect {
        Effect::Record { fact } => Some(fact),
        Effect::Prepare { .. }
        | Effect::StartAgent { .. }
        | Effect::StopAgent { .. }
        | Effect::KillAgent { .. }
        | Effect::RunChecks { .. }
        | Effect::StopChecks { .. }
        | Effect::StartTimer { .. }
        | Effect::CancelTimer { .. }
        | Effect::Finish => None,
    }
}
