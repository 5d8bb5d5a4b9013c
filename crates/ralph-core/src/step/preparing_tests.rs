//! One test per sentence about what comes before the first iteration.
use alloc::string::ToString;
use alloc::vec::Vec;

use super::scenes::{Scene, claims, key, with_checks};
use crate::baseline::{Lack, Trial};
use crate::effect::Effect;
use crate::event::{AttemptKey, EventKind, StopSignal};
use crate::evidence::Verdict;
use crate::outcome::Outcome;
use crate::policy::{Baseline, Policy};
use crate::seal::Sealing;
use crate::state::Phase;

fn opened() -> Scene {
    Scene::new(with_checks(3)).on(EventKind::Started)
}

// spec: V8, V9
#[test]
fn a_run_that_is_to_be_proven_is_prepared_before_any_agent_starts() {
    let scene = opened();
    assert!(scene.does(&Effect::Prepare { round: 1, baseline: Baseline::Run }));
    assert_eq!(scene.starts(), None);
    let scene = scene.prepared(Verdict::Rejected);
    assert_eq!(scene.starts(), Some(key(1, 1)));
    assert_eq!(scene.fact_names(), ["run.sealed", "baseline", "iteration.started", "attempt.started"]);
}

// spec: V8
#[test]
fn a_run_without_checks_is_not_prepared() {
    assert_eq!(Scene::new(Policy::new(3)).on(EventKind::Started).starts(), Some(key(1, 1)));
}

// spec: V8
#[test]
fn without_a_baseline_the_run_is_sealed_all_the_same() {
    let policy = Policy { baseline: Baseline::Skip, ..with_checks(3) };
    let scene = Scene::new(policy).on(EventKind::Started);
    assert!(scene.does(&Effect::Prepare { round: 1, baseline: Baseline::Skip }));
    let sealing = Sealing::Done { seal: super::scenes::seal() };
    let scene = scene.on(EventKind::Prepared { sealing, baseline: Vec::new() });
    assert_eq!(scene.fact_names(), ["run.sealed", "iteration.started", "attempt.started"]);
}

// spec: V8
#[test]
fn a_check_that_already_passes_is_reported_and_the_work_begins() {
    assert_eq!(opened().prepared(Verdict::Accepted).starts(), Some(key(1, 1)));
}

// spec: V8, V7
// fault: 75
#[test]
fn a_check_that_cannot_be_evaluated_ends_the_run_as_blocked_before_any_agent_starts() {
    let scene = opened().prepared(Verdict::CouldNotEvaluate);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Blocked), Some(6)));
    assert_eq!(scene.fact_names(), ["run.sealed", "baseline", "run.finished"]);
    assert!(scene.reason().contains("`make test` cannot be evaluated"), "{}", scene.reason());
}

// spec: V8
#[test]
fn a_program_that_the_agent_may_write_does_not_stop_the_run() {
    let evidence = super::scenes::evidence(Verdict::CouldNotEvaluate).checks.remove(0);
    let sealing = Sealing::Done { seal: super::scenes::seal() };
    let baseline = Vec::from([Trial { evidence, lack: Lack::OfTheWork }]);
    assert_eq!(opened().on(EventKind::Prepared { sealing, baseline }).starts(), Some(key(1, 1)));
}

// spec: V9
#[test]
fn what_cannot_be_sealed_ends_the_run_as_blocked() {
    let sealing = Sealing::Impossible { why: "tests/a cannot be read".to_string() };
    let scene = opened().on(EventKind::Prepared { sealing, baseline: Vec::new() });
    assert_eq!(scene.outcome(), Some(Outcome::Blocked));
    assert!(scene.reason().contains("tests/a cannot be read"));
}

// spec: V8, L12
#[test]
fn a_signal_during_the_preparation_stops_it_and_the_run_can_be_taken_up() {
    let scene = opened().signal(StopSignal::Int);
    assert!(scene.does(&Effect::StopChecks { key: AttemptKey::PREPARATION }));
    let again = scene.signal(StopSignal::Int);
    assert!(again.does(&Effect::StopChecks { key: AttemptKey::PREPARATION }));
    let scene = again.prepared(Verdict::Accepted);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Interrupted), Some(130)));
    assert_eq!(scene.fact_names(), ["run.finished"], "what was seen then is not kept");
    let scene = scene.recovers();
    assert!(scene.does(&Effect::Prepare { round: 2, baseline: Baseline::Run }));
    assert_eq!(scene.fact_names(), ["run.resumed"]);
}

// spec: V8, L13
#[test]
fn a_preparation_that_was_cut_short_begins_again() {
    for scene in [opened(), opened().signal(StopSignal::Term)] {
        let scene = scene.recovers();
        assert!(scene.does(&Effect::Prepare { round: 2, baseline: Baseline::Run }));
        assert_eq!(scene.prepared(Verdict::Rejected).starts(), Some(key(1, 1)));
    }
}

// spec: V8
#[test]
fn broken_ground_and_faults_end_the_preparation_and_the_run() {
    let fault = |key| EventKind::Faulted { key, what: "oh".to_string() };
    assert_eq!(opened().on(fault(AttemptKey::PREPARATION)).exit_code(), Some(70));
    let stopped = opened().signal(StopSignal::Int);
    assert_eq!(stopped.on(fault(AttemptKey::PREPARATION)).exit_code(), Some(70));
    assert_eq!(opened().on(EventKind::Broken { what: "gone".to_string() }).exit_code(), Some(10));
    assert!(matches!(opened().on(fault(key(1, 1))).phase(), Phase::Preparing { round: 1 }));
}

// spec: V8
#[test]
fn nothing_but_its_result_moves_a_preparation() {
    let scene = opened().ended(1, 1, claims()).verified(1, 1, Verdict::Accepted).on(EventKind::Started);
    assert!(matches!(scene.phase(), Phase::Preparing { round: 1 }));
    let working = Scene::started(with_checks(3)).prepared(Verdict::CouldNotEvaluate);
    assert!(matches!(working.phase(), Phase::Working { .. }), "it came late");
}

// spec: V8
#[test]
fn a_run_that_has_no_plan_to_follow_is_not_prepared() {
    let scene = Scene::new(with_checks(3)).without_plan().on(EventKind::Started);
    assert_eq!(scene.exit_code(), Some(2));
}
