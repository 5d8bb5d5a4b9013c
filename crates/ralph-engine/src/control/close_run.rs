//! Closes a run that waits before its next iteration, because its caller decided that its work is done.
use ralph_core::event::{LifecycleEvent, UnixMillis};
use ralph_store::{Store, StoreError, TakeoverGuard};

use super::undriven_step::UndrivenStep;

/// Records the end of a run that this process has driven. Does nothing if the run has ended.
pub async fn close_stepped_run(
    store: &Store,
    run: &str,
    settings: &str,
    reason: String,
    at: UnixMillis,
) -> Result<(), StoreError> {
    let owner = store.run_owner(run).await?.unwrap_or_default();
    let stored = store.take_over_run(run, &owner, settings, TakeoverGuard::Unguarded).await?;
    let step = UndrivenStep::decide(run, stored, LifecycleEvent::Closed { reason }, at);
    match step.facts() {
        facts if facts.is_empty() => Ok(()),
        facts => step.record(store, &facts).await,
    }
}
