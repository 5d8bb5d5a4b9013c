//! Decide, record, act: the rules decide about a loop, and what they decided is kept before anybody hears of it.
use ralph_core::session_loop::{SessionDecision, SessionLoopEvent, TurnEnd, handle_session_event};

use super::loop_file::LoopFile;
use super::loop_store::{LoopStore, LoopStoreError, SessionKey};
use super::session_clock::current_moment;

/// Lets the rules decide about a loop, if it is still the one that is meant, and keeps what they decided.
pub fn apply_event(
    store: &LoopStore,
    (key, id): (&SessionKey, &str),
    happening: impl FnOnce(&mut LoopFile) -> SessionLoopEvent,
) -> Result<(Option<LoopFile>, SessionDecision), LoopStoreError> {
    let (entry, answer) = store.update_loop(key, |entry| {
        let Some(mut entry) = entry.filter(|entry| entry.id == id) else {
            return (None, (None, SessionDecision::allow_silently()));
        };
        let happening = happening(&mut entry);
        let (state, answer) = handle_session_event(entry.loop_state, happening, &current_moment());
        let entry = LoopFile { loop_state: state, ..entry };
        (Some(entry.clone()), (Some(entry), answer))
    })?;
    // The loop goes on without its history where that cannot be written.
    let _ = store.loop_journal(key).append_facts(id, &answer.facts);
    Ok((entry, answer))
}

/// Ends the loops of sessions that are gone: most programs tell nobody when a session is over. What cannot be ended now is
/// ended later.
pub fn expire_orphans(store: &LoopStore) {
    let Ok((entries, _)) = store.list_loops() else { return };
    for entry in entries.iter().filter(|entry| entry.loop_state.is_abandoned(current_moment().at)) {
        let key = SessionKey::new(entry.host.as_deref(), &entry.session_id);
        // Somebody who has its turn is still there.
        if let Ok(Some(_turn)) = store.try_lock_stop(&key) {
            let _ = apply_event(store, (&key, &entry.id), |_| SessionLoopEvent::TurnEnded(TurnEnd::default()));
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
        LoopFile::new((Some("claude".to_owned()), session.to_owned()), "/".into(), state)
    }

    // spec: H4
    #[test]
    fn the_loop_of_a_session_that_stays_silent_long_after_its_time_limit_ends() {
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
