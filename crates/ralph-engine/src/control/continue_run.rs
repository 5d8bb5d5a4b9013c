//! Continues a run that ended exhausted, over budget, stalled or blocked: records the change and leaves the run open for a
//! driver.
use ralph_core::continuation::{Continuation, NoContinuation};
use ralph_core::control_command::PendingCommands;
use ralph_core::event::{LifecycleEvent, UnixMillis};
use ralph_core::limit_change::ChangedLimits;

use super::undriven_step::{RunLockError, UndrivenStep, lock_undriven_run};
use crate::lock::RunOwner;
use crate::project::Project;
use ralph_store::{RunRow, Store, StoreError, TakeoverGuard};

#[derive(Debug, thiserror::Error)]
pub enum ContinueRunError {
    #[error("the run cannot be continued")]
    Refused(NoContinuation),
    #[error(transparent)]
    Lock(#[from] RunLockError),
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
    let _lock = lock_undriven_run(project, run, &owner).await?;
    let mut stored = store.take_over_run(run, &owner.to_json(), &row.settings, guard).await?;
    let changed = stored.state.check_continuation(&continuation).map_err(ContinueRunError::Refused)?;
    if row.task.is_some() {
        // They were queued for the next stage of the task, so this run receives them from there.
        stored.state.pending_commands = PendingCommands::default();
    }
    let step = UndrivenStep::decide(run, stored, LifecycleEvent::Continued { continuation }, at);
    step.record(store, &step.facts()).await?;
    Ok(changed)
}
