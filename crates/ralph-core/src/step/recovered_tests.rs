//! One test per sentence about loops that are taken up again.
use alloc::string::ToString;
use alloc::vec::Vec;

use super::scenes::{Scene, claims, crashes, key, quiet, with_checks};
use crate::attempt::Ending;
use crate::effect::Effect;
use crate::event::{EventKind, StopSignal, Timer};
use crate::evidence::Verdict;
use crate::fact::{AttemptResult, Fact, IterationStatus, NextStep};
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::state::Phase;

/// Returns what the attempt came to that the scene has just recorded.
fn recorded_attempt(scene: &Scene) -> (u32, AttemptResult) {
    let ended = scene.facts().into_iter().find_map(|fact| match fact {
        Fact::AttemptEnded { attempt, result, .. } => Some((*attempt, result.clone())),
        _ => None,
    });
    ended.expect("an attempt has ended")
}

fn next_step(scene: &Scene) -> Option<(u32, u32, NextStep)> {
    scene.facts().into_iter().find_map(|fact| match fact {
        Fact::RunResumed { iteration, attempt, next, .. } => Some((*iteration, *attempt, *next)),
        _ => None,
    })
}

// spec: L13
#[test]
fn a_loop_that_had_not_started_starts() {
    let scene = Scene::new(Policy::new(3)).recovers();
    assert_eq!(scene.starts(), Some(key(1, 1)));
    assert_eq!(scene.fact_names(), ["iteration.started", "attempt.started"]);
}

// spec: L13
// fault: 1, 2
#[test]
fn an_attempt_that_was_cut_short_is_recorded_as_interrupted_and_done_again_under_the_same_number() {
    let scene = Scene::started(Policy::new(3)).ended(1, 1, quiet()).recovers();
    assert_eq!(scene.starts(), Some(key(2, 2)));
    assert_eq!(scene.fact_names(), ["run.resumed", "attempt.ended", "attempt.started"]);
    let (attempt, result) = recorded_attempt(&scene);
    assert_eq!((attempt, result.status, result.ending), (1, IterationStatus::Interrupted, Ending::Unseen));
    assert!(result.failure.expect("a reason").contains("outcome unknown"));
}

// spec: L13, L5
#[test]
fn an_attempt_that_was_cut_short_spends_no_retry() {
    let policy = Policy { max_retries: 1, ..Policy::new(3) };
    let mut scene = Scene::started(policy);
    for _ in 0..5 {
        scene = scene.recovers();
    }
    assert_eq!(scene.starts(), Some(key(1, 6)));
    let scene = scene.ended(1, 6, crashes());
    let first_pause = Effect::StartTimer { timer: Timer::Retry { key: key(1, 7) }, after_ms: 1_000 };
    assert!(scene.does(&first_pause), "{:?}", scene.effects);
    let scene = scene.fires(Timer::Retry { key: key(1, 7) }).ended(1, 7, crashes());
    assert_eq!(scene.reason(), "the agent failed 2 times in a row: the agent exited with code 1");
}

// spec: L13
// fault: 3, 4
#[test]
fn checks_that_were_cut_short_run_again_and_the_agent_does_not() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, claims()).recovers();
    assert_eq!(scene.starts(), None);
    assert!(scene.does(&Effect::RunChecks { key: key(1, 1), round: 2 }));
    assert_eq!(next_step(&scene), Some((1, 1, NextStep::Checks)));
    let scene = scene.verified(1, 1, Verdict::Accepted);
    assert_eq!(scene.outcome(), Some(Outcome::Completed));
}

// spec: L13, L5
#[test]
fn a_pause_before_a_retry_goes_on_for_what_is_left_of_it() {
    let waiting = || Scene::started(Policy::new(3)).at(1_000_000).ended(1, 1, crashes());
    let pause = |after_ms| Effect::StartTimer { timer: Timer::Retry { key: key(1, 2) }, after_ms };
    let scene = waiting().at(1_000_400).recovers();
    assert!(scene.does(&pause(600)), "{:?}", scene.effects);
    assert_eq!(scene.fires(Timer::Retry { key: key(1, 2) }).starts(), Some(key(1, 2)));
    assert!(waiting().at(9_000_000).recovers().does(&pause(0)), "it is long over");
}

// spec: L13
// fault: 68
#[test]
fn a_clock_that_was_set_between_two_drivers_neither_stretches_a_pause_nor_ends_an_iteration() {
    const HOUR: i64 = 3_600_000;
    let pause = |after_ms| Effect::StartTimer { timer: Timer::Retry { key: key(1, 2) }, after_ms };
    let waiting = Scene::started(Policy::new(3)).at(2 * HOUR).ended(1, 1, crashes());
    let scene = waiting.at(HOUR).recovers();
    assert!(scene.does(&pause(1_000)), "no longer than it can have been: {:?}", scene.effects);
    for now in [HOUR, 3 * HOUR + 1, 100 * HOUR] {
        let scene = Scene::started(Policy::new(3)).at(2 * HOUR).ended(1, 1, quiet()).at(now).recovers();
        let whole = Effect::StartTimer { timer: Timer::Iteration { key: key(2, 2) }, after_ms: 3_600_000 };
        assert!(scene.does(&whole), "{:?}", scene.effects);
    }
}

// spec: L13, L12
// fault: 14
#[test]
fn a_run_that_a_signal_ended_goes_on_at_the_iteration_that_was_cut_short() {
    let scene = Scene::started(Policy::new(3)).ended(1, 1, quiet()).signal(StopSignal::Int);
    let scene = scene.ended(2, 1, crashes());
    assert_eq!(scene.exit_code(), Some(130));
    let scene = scene.recovers();
    assert_eq!(scene.starts(), Some(key(2, 2)));
    assert_eq!(scene.fact_names(), ["run.resumed", "attempt.started"], "how it ended is recorded already");
    assert_eq!(scene.outcome(), None);
    assert_eq!(scene.ended(2, 2, claims()).outcome(), Some(Outcome::Completed));
}

// spec: L13, L12
#[test]
fn a_run_that_a_signal_ended_goes_on_with_what_it_did_then() {
    let checking = Scene::started(with_checks(3)).ended(1, 1, claims()).signal(StopSignal::Term);
    let scene = checking.verified(1, 1, Verdict::Accepted).recovers();
    assert!(scene.does(&Effect::RunChecks { key: key(1, 1), round: 2 }));
    let waiting = Scene::started(Policy::new(3)).ended(1, 1, crashes()).signal(StopSignal::Term);
    assert_eq!(next_step(&waiting.recovers()), Some((1, 2, NextStep::Retry)));
    let ready = Scene::new(Policy::new(3)).signal(StopSignal::Int).recovers();
    assert_eq!(ready.fact_names(), ["run.resumed", "iteration.started", "attempt.started"]);
}

// spec: L13, L12
#[test]
fn a_crash_while_a_signal_stopped_the_run_takes_the_stop_back() {
    let scene = Scene::started(Policy::new(3)).signal(StopSignal::Int).recovers();
    assert_eq!(scene.starts(), Some(key(1, 2)));
    assert_eq!(recorded_attempt(&scene).1.status, IterationStatus::Interrupted);
    let checking = Scene::started(with_checks(3)).ended(1, 1, claims()).signal(StopSignal::Int);
    assert!(checking.recovers().does(&Effect::RunChecks { key: key(1, 1), round: 2 }));
}

// spec: L13, L7
#[test]
fn a_crash_while_a_time_out_stopped_the_agent_ends_its_iteration_as_timed_out() {
    for timer in [Timer::Iteration { key: key(1, 1) }, Timer::Silence { key: key(1, 1) }] {
        let scene = Scene::started(Policy::new(3)).fires(timer).recovers();
        assert_eq!(scene.starts(), Some(key(2, 1)));
        assert_eq!(next_step(&scene), Some((1, 1, NextStep::End)));
        assert_eq!(recorded_attempt(&scene).1.status, IterationStatus::TimedOut);
    }
}

// spec: L13, L7
#[test]
fn last_words_that_were_not_recorded_are_not_made_up() {
    let scene = Scene::started(with_checks(3)).on(EventKind::ResultSeen { key: key(1, 1) });
    let scene = scene.fires(Timer::AfterResult { key: key(1, 1) }).recovers();
    assert_eq!(scene.starts(), Some(key(1, 2)));
}

// spec: L13
#[test]
fn a_crash_while_broken_ground_stopped_the_agent_ends_the_run() {
    let scene = Scene::started(Policy::new(3)).on(EventKind::Broken { what: "gone".to_string() }).recovers();
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(10)));
}

// spec: L13
// fault: 5
#[test]
fn a_finished_loop_stays_finished() {
    let done = Scene::started(Policy::new(3)).ended(1, 1, claims());
    assert!(!done.state.can_go_on());
    let before = done.state.clone();
    let scene = done.recovers();
    assert_eq!((scene.state, scene.effects), (before, Vec::new()));
}

// spec: L13
// fault: 12
#[test]
fn what_changed_in_between_is_recorded() {
    let changed = Vec::from(["the prompt file".to_string()]);
    let scene = Scene::started(Policy::new(3))
        .on(EventKind::Recovered { changed: changed.clone(), orders: Vec::new() });
    let Fact::RunResumed { changed: recorded, .. } = scene.facts()[0] else { panic!("not resumed") };
    assert_eq!(recorded, &changed);
}

// fault: 10
#[test]
fn a_fault_of_the_driver_ends_the_run_with_its_words_and_exit_code_seventy() {
    let fault = || EventKind::Faulted { key: key(1, 1), what: "index out of range".to_string() };
    let working = || Scene::started(with_checks(3));
    let verifying = || working().ended(1, 1, claims());
    for scene in [
        working().on(fault()),
        working().signal(StopSignal::Int).on(fault()),
        verifying().on(fault()),
        verifying().signal(StopSignal::Int).on(fault()),
    ] {
        assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(70)));
        assert!(scene.reason().contains("index out of range"));
        assert!(matches!(scene.phase(), Phase::Finished { iterations: 1, .. }));
    }
}
