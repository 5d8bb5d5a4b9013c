//! Decisions about a run that waits before its next iteration, made by its caller: whether its work is done.
use ralph_core::event::{LifecycleEvent, UnixMillis, VerifiedCompletion};
use ralph_core::loop_state::LoopState;
use ralph_store::{Store, StoreError, TakeoverGuard};

use super::undriven_step::UndrivenStep;

/// A run that waits before its next iteration.
#[derive(Clone, Copy)]
pub struct SteppedRun<'a> {
    pub store: &'a Store,
    pub run: &'a str,
    /// The settings with which the run is stored.
    pub settings: &'a str,
}

impl SteppedRun<'_> {
    /// Records the end of a run that this process has driven. Does nothing if the run has ended.
    pub async fn close(self, reason: String, at: UnixMillis) -> Result<(), StoreError> {
        self.record_event(LifecycleEvent::Closed { reason }, at).await.map(drop)
    }

    /// Records the verdict on a completion, and returns the state that follows from it.
    pub async fn record_completion(
        self,
        completion: VerifiedCompletion,
        at: UnixMillis,
    ) -> Result<LoopState, StoreError> {
        self.record_event(LifecycleEvent::CompletionVerified { completion }, at).await
    }

    async fn record_event(self, event: LifecycleEvent, at: UnixMillis) -> Result<LoopState, StoreError> {
        let Self { store, run, settings } = self;
        let owner = store.run_owner(run).await?.unwrap_or_default();
        let stored = store.take_over_run(run, &owner, settings, TakeoverGuard::Unguarded).await?;
        let before = stored.state.clone();
        let decided = UndrivenStep::decide(run, stored, event, at);
        let facts = decided.facts();
        if !facts.is_empty() || decided.state != before {
            decided.record(store, &facts).await?;
        }
        Ok(decided.state)
    }
}
