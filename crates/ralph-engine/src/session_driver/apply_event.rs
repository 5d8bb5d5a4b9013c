//! Applies an event to a loop: the core decides, and the decision is stored before it is acted on.
use ralph_core::session_loop::{SessionDecision, SessionLoopEvent, TurnEnd, handle_session_event};

use super::loop_file::LoopFile;
use super::loop_store::{LoopStore, LoopStoreError, SessionKey};
use super::session_clock::current_moment;

/// The loop after an event, and the decision of the core.
#[derive(Debug)]
pub struct AppliedEvent {
    /// `None` if the session has no loop with the expected id any more.
    pub loop_file: Option<LoopFile>,
    pub decision: SessionDecision,
}

/// Applies an event to the loop of a session, if it is still the loop with this id, and stores the result. `event` may
/// also update the loop file.
pub fn apply_event(
    store: &LoopStore,
    key: &SessionKey,
    id: &str,
    event: impl FnOnce(&mut LoopFile) -> SessionLoopEvent,
) -> Result<AppliedEvent, LoopStoreError> {
    let applied = store.update_loop(key, |entry| {
        let Some(mut entry) = entry.filter(|entry| entry.id == id) else {
            return (None, AppliedEvent { loop_file: None, decision: SessionDecision::allow_silently() });
        };
        let event = event(&mut entry);
        let (state, decision) = handle_session_event(entry.loop_state, event, &current_moment());
        let entry = LoopFile { loop_state: state, ..entry };
        (Some(entry.clone()), AppliedEvent { loop_file: Some(entry), decision })
    })?;
    // A loop whose journal cannot be written continues without it.
    let _ = store.loop_journal(key).append_facts(id, &applied.decision.facts);
    Ok(applied)
}

/// Ends the loops of abandoned sessions: most programs do not report the end of a session. Errors are ignored: the next
/// call tries again.
pub fn expire_orphans(store: &LoopStore) {
    let Ok(listed) = store.list_loops() else { return };
    for entry in listed.loops.iter().filter(|entry| entry.loop_state.is_abandoned(current_moment().at)) {
        let key = SessionKey::new(entry.host.as_deref(), &entry.session_id);
        // A session whose stop lock is held is still alive.
        if let Ok(Some(_lock)) = store.try_lock_stop(&key) {
            let _ = apply_event(store, &key, &entry.id, |_| SessionLoopEvent::TurnEnded(TurnEnd::default()));
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::budget::Budget;
    use ralph_core::claim::{ClaimRules, Promise};
    use ralph_core::event::UnixMillis;
    use ralph_core::policy::Policy;
    use ralph_core::session_loop::{DecisionMoment, SessionLoopPlan, start_session_loop};

    use super::*;

    const HOUR_MS: u64 = 3_600_000;

    fn loop_file(session: &str, hours_ago: u64) -> LoopFile {
        let budget = Budget { max_duration_ms: Some(12 * HOUR_MS), ..Budget::default() };
        let plan = SessionLoopPlan {
            prompt: "Do it.".to_owned(),
            rules: ClaimRules::new(Promise::parse("DONE").unwrap()),
            criteria: Vec::new(),
            policy: Policy { budget, ..Policy::new(10) },
            sealing: None,
        };
        let at = UnixMillis(current_moment().at.0 - (hours_ago * HOUR_MS).cast_signed());
        let state = start_session_loop(plan, &DecisionMoment { at, ..current_moment() });
        LoopFile::new(&SessionKey::new(Some("claude"), session), "/".into(), state)
    }

    // spec: H4
    #[test]
    fn the_loop_of_a_session_that_is_silent_long_after_its_time_limit_ends() {
        let temp = tempfile::tempdir().unwrap();
        let store = LoopStore::new(temp.path().join("loops"));
        for (session, hours_ago) in [("gone", 100), ("may come back", 30), ("new", 1)] {
            let key = SessionKey::new(Some("claude"), session);
            store.update_loop(&key, |_| (Some(loop_file(session, hours_ago)), ())).unwrap();
        }
        expire_orphans(&store);
        let outcome = |session: &str| {
            let found = store.find_loop(&SessionKey::new(Some("claude"), session)).unwrap().unwrap();
            found.loop_state.machine.run_end().map(|ended| ended.outcome.as_str())
        };
        assert_eq!(outcome("gone"), Some("over_budget"));
        assert_eq!((outcome("may come back"), outcome("new")), (None, None));
    }
}
