//! Applies an event to a loop: the core decides, and the decision is stored before it is acted on.
use ralph_core::session_loop::{SessionDecision, SessionLoopEvent, TurnEnd, handle_session_event};

use super::loop_file::LoopFile;
use super::loop_recorder::{LoopRecordError, LoopRecorder, adopt_loop, outside_runtime, record_new_loop};
use super::loop_store::{LoopStore, LoopStoreError, SessionKey};
use super::session_clock::current_moment;
use ralph_store::OpenMode;
use ralph_util::failpoints::{self, FailPoint};

/// The loop after an event, and the decision of the core.
#[derive(Debug)]
pub struct AppliedEvent {
    /// `None` if the session has no loop with the expected id any more.
    pub loop_file: Option<LoopFile>,
    pub decision: SessionDecision,
    /// Why the facts of the loop are not in the store. A later event records them.
    pub record_error: Option<LoopRecordError>,
}

/// Applies an event to the loop of a session, if it is still the same loop as `current`, and stores the result. `event`
/// may also update the loop file.
///
/// The loop file contains the new facts before they are recorded, so that no fact is lost if this process is killed.
pub fn apply_event(
    store: &LoopStore,
    key: &SessionKey,
    current: &LoopFile,
    event: impl FnOnce(&mut LoopFile) -> SessionLoopEvent + Send,
) -> Result<AppliedEvent, LoopStoreError> {
    outside_runtime(|| {
        let recorder =
            current.record.state_folder.as_ref().map(|folder| LoopRecorder::open(folder, OpenMode::Existing));
        let opened = recorder.as_ref().and_then(|recorder| recorder.as_ref().ok());
        let stored_count = opened.and_then(|recorder| recorder.stored_fact_count(&current.id).ok());
        let mut applied = store.update_loop(key, |entry| {
            let Some(mut entry) = entry.filter(|entry| entry.id == current.id) else {
                return (None, AppliedEvent::without_loop());
            };
            entry.record.remove_stored(stored_count.unwrap_or(0));
            adopt_loop(store, &mut entry);
            let decision = decide_event(&mut entry, event);
            (Some(entry.clone()), AppliedEvent { loop_file: Some(entry), decision, record_error: None })
        })?;
        failpoints::reach_fail_point(FailPoint::LoopFileWritten);
        if let Some(entry) = &applied.loop_file {
            applied.record_error = record_facts(entry, recorder).err();
        }
        Ok(applied)
    })
}

impl AppliedEvent {
    fn without_loop() -> Self {
        Self { loop_file: None, decision: SessionDecision::allow_silently(), record_error: None }
    }
}

fn decide_event(entry: &mut LoopFile, event: impl FnOnce(&mut LoopFile) -> SessionLoopEvent) -> SessionDecision {
    let event = event(entry);
    let moment = current_moment();
    let (state, decision) = handle_session_event(entry.loop_state.clone(), event, &moment);
    entry.loop_state = state;
    entry.record.append_facts(moment.at, decision.facts.clone());
    decision
}

/// Records the facts of a loop. `recorder` is `None` for a loop of an older ralph, whose run does not exist yet.
fn record_facts(
    entry: &LoopFile,
    recorder: Option<Result<LoopRecorder, LoopRecordError>>,
) -> Result<(), LoopRecordError> {
    let Some(recorder) = recorder else { return record_new_loop(entry) };
    let recorder = recorder?;
    let recorded = recorder.record_loop(entry);
    recorder.close();
    recorded
}

/// Ends the loops of abandoned sessions: most programs do not report the end of a session. Errors are ignored: the next
/// call tries again.
pub fn expire_orphans(store: &LoopStore) {
    let Ok(listed) = store.list_loops() else { return };
    for entry in listed.loops.iter().filter(|entry| entry.loop_state.is_abandoned(current_moment().at)) {
        let key = SessionKey::new(entry.host.as_deref(), &entry.session_id);
        // A session whose stop lock is held is still alive.
        if let Ok(Some(_lock)) = store.try_lock_stop(&key) {
            let _ = apply_event(store, &key, entry, |_| SessionLoopEvent::TurnEnded(TurnEnd::default()));
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
            agent: "claude".to_owned(),
            prompt: "Do it.".to_owned(),
            rules: ClaimRules::new(Promise::parse("DONE").unwrap()),
            criteria: Vec::new(),
            policy: Policy { budget, ..Policy::new(10) },
            sealing: None,
            baseline: Vec::new(),
        };
        let at = UnixMillis(current_moment().at.0 - (hours_ago * HOUR_MS).cast_signed());
        let state = start_session_loop(plan, &DecisionMoment { at, ..current_moment() }).state;
        LoopFile::new(&SessionKey::new(Some("claude"), session), "/".into(), state)
    }

    /// Returns kind and status of the runs outside of repositories.
    fn recorded_runs(store: &LoopStore) -> Vec<(String, String)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = store.outside_state_folder();
            let records = ralph_store::Store::open(&folder, OpenMode::Existing).await.unwrap().unwrap();
            let runs = records.recent_runs(10).await.unwrap();
            runs.into_iter().map(|run| (run.kind, run.status)).collect()
        })
    }

    // spec: H4, D1
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
        assert_eq!(recorded_runs(&store), [("session".to_owned(), "over_budget".to_owned())]);
    }
}
