//! Decisions about a run that waits before its next iteration, made by its caller: whether its work is done.
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LifecycleEvent, PlanAvailability, UnixMillis, VerifiedCompletion};
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::step::step;
use ralph_store::{StepRecord, Store, StoreError, StoredRun, TakeoverGuard};

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
        let StoredRun { state, fact_count, fence } =
            store.take_over_run(run, &owner, settings, TakeoverGuard::Unguarded).await?;
        let event = Event {
            at,
            wall_clock: at,
            random: 0,
            plan_availability: PlanAvailability::Available,
            used_by_others: Vec::new(),
            standing_guidance: Vec::new(),
            kind: EventKind::Lifecycle(event),
        };
        let before = state.clone();
        let (state, effects) = step(state, event);
        let facts: Vec<&Fact> = effects.iter().filter_map(Effect::recorded_fact).collect();
        if facts.is_empty() && state == before {
            return Ok(state);
        }
        let entry = StepRecord {
            run,
            fence,
            first_seq: fact_count + 1,
            at,
            facts: &facts,
            answered_commands: &[],
            for_next_stage: None,
            state: &state,
        };
        store.record_step(&entry).await?;
        Ok(state)
    }
}
