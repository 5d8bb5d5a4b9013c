//! Tests of stalled runs.
use crate::attempt::AttemptReport;
use crate::event::LoopTimer;
use crate::evidence::Verdict;
use crate::outcome::{Outcome, exit_code};
use crate::policy::{ContextMode, Policy};
use crate::prompt::PromptPlan;
use crate::step::tests::builders::{
    LoopScenario, attempt_key, claiming_report, crash_report, policy_with_checks, quiet_report, with_session,
};

fn with_stall_limit(iterations: u32, policy: Policy) -> Policy {
    Policy { stall_after: iterations, ..policy }
}

fn without_changes(report: AttemptReport) -> AttemptReport {
    AttemptReport { has_changed_files: Some(false), ..report }
}

fn with_changes(report: AttemptReport) -> AttemptReport {
    AttemptReport { has_changed_files: Some(true), ..report }
}

// spec: L9
// fault: 90
#[test]
fn consecutive_iterations_without_a_change_end_the_run_as_stalled() {
    let scene =
        LoopScenario::start_run(with_stall_limit(3, Policy::new(9))).end_attempt(1, 1, without_changes(quiet_report()));
    let scene = scene.end_attempt(2, 1, without_changes(quiet_report()));
    assert_eq!(scene.started_attempt(), Some(attempt_key(3, 1)));
    let scene = scene.end_attempt(3, 1, without_changes(quiet_report()));
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::Stalled)));
    assert_eq!(scene.exit_code(), Some(exit_code::STALLED));
    assert!(scene.end_reason().starts_with("3 iterations in a row changed no file"), "{}", scene.end_reason());
}

// spec: L9
// fault: 90
#[test]
fn an_iteration_that_changes_something_resets_the_count() {
    let scene =
        LoopScenario::start_run(with_stall_limit(2, Policy::new(9))).end_attempt(1, 1, without_changes(quiet_report()));
    let scene =
        scene.end_attempt(2, 1, with_changes(quiet_report())).end_attempt(3, 1, without_changes(quiet_report()));
    assert_eq!(scene.started_attempt(), Some(attempt_key(4, 1)));
    assert_eq!(scene.end_attempt(4, 1, without_changes(quiet_report())).run_outcome(), Some(Outcome::Stalled));
}

// spec: L9
#[test]
fn the_last_prompt_before_the_stall_limit_contains_a_warning_and_starts_a_fresh_session() {
    let policy = Policy { context: ContextMode::Continue, ..with_stall_limit(3, Policy::new(9)) };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, without_changes(with_session("s1", quiet_report())));
    let (plan, session, _) = scene.start_details().unwrap();
    assert_eq!((plan, session), (PromptPlan::Continuation { feedback: None }, Some("s1")));
    let scene = scene.end_attempt(2, 1, without_changes(with_session("s1", quiet_report())));
    let (plan, session, _) = scene.start_details().unwrap();
    assert_eq!((plan, session), (PromptPlan::Stuck { still: 2, feedback: None }, None));
}

// spec: L9
#[test]
fn a_claim_and_the_iteration_limit_take_precedence_over_a_stall() {
    let stalling = |max_iterations| {
        LoopScenario::start_run(with_stall_limit(2, policy_with_checks(max_iterations))).end_attempt(
            1,
            1,
            without_changes(quiet_report()),
        )
    };
    let scene = stalling(9).end_attempt(2, 1, without_changes(claiming_report()));
    assert_eq!(scene.run_outcome(), None, "it is verified first");
    assert_eq!(scene.deliver_verdict(2, 1, Verdict::Accepted).run_outcome(), Some(Outcome::Completed));
    assert_eq!(stalling(2).end_attempt(2, 1, without_changes(quiet_report())).run_outcome(), Some(Outcome::Exhausted));
}

// spec: L9
#[test]
fn claims_rejected_for_the_same_reason_without_a_change_are_a_stall() {
    let reject = |scene: LoopScenario, iteration| {
        scene.end_attempt(iteration, 1, without_changes(claiming_report())).deliver_verdict(
            iteration,
            1,
            Verdict::Rejected,
        )
    };
    let scene = LoopScenario::start_run(with_stall_limit(3, policy_with_checks(9)));
    let scene = reject(reject(scene, 1), 2);
    assert_eq!(scene.started_attempt(), Some(attempt_key(3, 1)));
    assert_eq!(reject(scene, 3).run_outcome(), Some(Outcome::Stalled));
}

// spec: L9
#[test]
fn an_attempt_without_a_snapshot_counts_as_a_change() {
    let mut scene = LoopScenario::start_run(with_stall_limit(1, Policy::new(9)));
    for iteration in 1..5 {
        scene = scene.end_attempt(iteration, 1, quiet_report());
        assert_eq!(scene.started_attempt(), Some(attempt_key(iteration + 1, 1)));
    }
}

// spec: L9
#[test]
fn a_change_by_any_attempt_counts_for_its_iteration() {
    let scene =
        LoopScenario::start_run(with_stall_limit(1, Policy::new(9))).end_attempt(1, 1, with_changes(crash_report()));
    let scene = scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) }).end_attempt(
        1,
        2,
        without_changes(quiet_report()),
    );
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    assert_eq!(scene.end_attempt(2, 1, without_changes(quiet_report())).run_outcome(), Some(Outcome::Stalled));
}

// spec: L9, L13
#[test]
fn an_interrupted_attempt_counts_as_a_change() {
    let scene = LoopScenario::start_run(with_stall_limit(1, Policy::new(9))).recover_run();
    assert_eq!(scene.end_attempt(1, 2, without_changes(quiet_report())).started_attempt(), Some(attempt_key(2, 1)));
}
