//! Tests of the preparation before the first iteration.
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::builders::{LoopScenario, attempt_key, claiming_report, policy_with_checks, started_event};
use crate::baseline::{BaselineProblem, BaselineTrial};
use crate::effect::Effect;
use crate::event::{AttemptKey, EventKind, StopSignal, WorkEvent};
use crate::evidence::Verdict;
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::{BaselineMode, Policy};
use crate::seal::SealingResult;

fn opened_run() -> LoopScenario {
    LoopScenario::new(policy_with_checks(3)).play_event(started_event())
}

// spec: V8, V9
#[test]
fn a_run_with_checks_is_prepared_before_any_agent_starts() {
    let scene = opened_run();
    assert!(scene.has_effect(&Effect::Prepare { round: 1, baseline: BaselineMode::Run }));
    assert_eq!(scene.started_attempt(), None);
    let scene = scene.finish_preparation(Verdict::Rejected);
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 1)));
    assert_eq!(scene.fact_names(), ["run.sealed", "baseline", "iteration.started", "attempt.started"]);
}

// spec: V8
#[test]
fn a_run_without_checks_is_not_prepared() {
    assert_eq!(
        LoopScenario::new(Policy::new(3)).play_event(started_event()).started_attempt(),
        Some(attempt_key(1, 1))
    );
}

// spec: V8
#[test]
fn a_run_without_a_baseline_is_still_sealed() {
    let policy = Policy { baseline: BaselineMode::Skip, ..policy_with_checks(3) };
    let scene = LoopScenario::new(policy).play_event(started_event());
    assert!(scene.has_effect(&Effect::Prepare { round: 1, baseline: BaselineMode::Skip }));
    let sealing = SealingResult::Done { seal: Box::new(super::builders::sample_seal()) };
    let scene = scene.play_event(EventKind::Work(WorkEvent::Prepared { sealing, baseline: Vec::new() }));
    assert_eq!(scene.fact_names(), ["run.sealed", "iteration.started", "attempt.started"]);
}

// spec: V8
#[test]
fn a_check_that_already_passes_does_not_block_the_run() {
    assert_eq!(opened_run().finish_preparation(Verdict::Accepted).started_attempt(), Some(attempt_key(1, 1)));
}

// spec: V8, V7
// fault: 75
#[test]
fn a_check_that_cannot_be_evaluated_ends_the_run_as_blocked_before_any_agent_starts() {
    let scene = opened_run().finish_preparation(Verdict::CouldNotEvaluate);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Blocked), Some(6)));
    assert_eq!(scene.fact_names(), ["run.sealed", "baseline", "run.finished"]);
    assert!(scene.end_reason().contains("`make test` cannot be evaluated"), "{}", scene.end_reason());
}

// spec: V8
#[test]
fn a_program_that_the_agent_may_create_does_not_block_the_run() {
    let evidence = super::builders::evidence_with_verdict(Verdict::CouldNotEvaluate).checks.remove(0);
    let sealing = SealingResult::Done { seal: Box::new(super::builders::sample_seal()) };
    let baseline = Vec::from([BaselineTrial { evidence, lack: BaselineProblem::MissingFromWorkTree }]);
    assert_eq!(
        opened_run().play_event(EventKind::Work(WorkEvent::Prepared { sealing, baseline })).started_attempt(),
        Some(attempt_key(1, 1))
    );
}

// spec: V9
#[test]
fn a_run_that_cannot_be_sealed_ends_as_blocked() {
    let sealing = SealingResult::Impossible { why: "tests/a cannot be read".to_string() };
    let scene = opened_run().play_event(EventKind::Work(WorkEvent::Prepared { sealing, baseline: Vec::new() }));
    assert_eq!(scene.run_outcome(), Some(Outcome::Blocked));
    assert!(scene.end_reason().contains("tests/a cannot be read"));
}

// spec: V8, L12
#[test]
fn a_signal_during_the_preparation_stops_it_and_the_run_can_be_resumed() {
    let scene = opened_run().send_signal(StopSignal::Int);
    assert!(scene.has_effect(&Effect::StopChecks { key: AttemptKey::PREPARATION }));
    let again = scene.send_signal(StopSignal::Int);
    assert!(again.has_effect(&Effect::StopChecks { key: AttemptKey::PREPARATION }));
    let scene = again.finish_preparation(Verdict::Accepted);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Interrupted), Some(130)));
    assert_eq!(scene.fact_names(), ["run.finished"], "the result of a stopped preparation is not recorded");
    let scene = scene.recover_run();
    assert!(scene.has_effect(&Effect::Prepare { round: 2, baseline: BaselineMode::Run }));
    assert_eq!(scene.fact_names(), ["run.resumed"]);
}

// spec: V8, L13
#[test]
fn an_interrupted_preparation_starts_again() {
    for scene in [opened_run(), opened_run().send_signal(StopSignal::Term)] {
        let scene = scene.recover_run();
        assert!(scene.has_effect(&Effect::Prepare { round: 2, baseline: BaselineMode::Run }));
        assert_eq!(scene.finish_preparation(Verdict::Rejected).started_attempt(), Some(attempt_key(1, 1)));
    }
}

// spec: V8
#[test]
fn an_unusable_work_tree_or_a_driver_fault_ends_the_preparation_and_the_run() {
    let fault = |key| EventKind::Work(WorkEvent::Faulted { key, what: "oh".to_string() });
    assert_eq!(opened_run().play_event(fault(AttemptKey::PREPARATION)).exit_code(), Some(70));
    let stopped = opened_run().send_signal(StopSignal::Int);
    assert_eq!(stopped.play_event(fault(AttemptKey::PREPARATION)).exit_code(), Some(70));
    assert_eq!(opened_run().play_event(EventKind::broken("gone".to_string())).exit_code(), Some(10));
    assert!(matches!(
        opened_run().play_event(fault(attempt_key(1, 1))).current_phase(),
        LoopPhase::Preparing { round: 1 }
    ));
}

// spec: V8
#[test]
fn only_its_result_ends_a_preparation() {
    let scene = opened_run()
        .end_attempt(1, 1, claiming_report())
        .deliver_verdict(1, 1, Verdict::Accepted)
        .play_event(started_event());
    assert!(matches!(scene.current_phase(), LoopPhase::Preparing { round: 1 }));
    let working = LoopScenario::start_run(policy_with_checks(3)).finish_preparation(Verdict::CouldNotEvaluate);
    assert!(matches!(working.current_phase(), LoopPhase::Working { .. }), "it came late");
}

// spec: V8
#[test]
fn a_run_without_its_plan_is_not_prepared() {
    let scene = LoopScenario::new(policy_with_checks(3)).without_plan().play_event(started_event());
    assert_eq!(scene.exit_code(), Some(2));
}
