//! Closes a run that waits before its next iteration, because its caller decided that its work is done.
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LifecycleEvent, PlanAvailability, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::step::step;
use ralph_store::{StepRecord, Store, StoreError, StoredRun, TakeoverGuard};

/// Records the end of a run that this process has driven. Does nothing if the run has ended.
pub async fn close_stepped_run(
    store: &Store,
    run: &str,
    settings: &str,
    reason: String,
    at: UnixMillis,
) -> Result<(), StoreError> {
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
        kind: EventKind::Lifecycle(LifecycleEvent::Closed { reason }),
    };
    let (state, effects) = step(state, event);
    let facts: Vec<&Fact> = effects.iter().filter_map(Effect::recorded_fact).collect();
    if facts.is_empty() {
        return Ok(());
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
    store.record_step(&entry).await
}
