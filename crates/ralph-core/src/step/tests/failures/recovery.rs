//! Tests of loops that are resumed by another driver.
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::attempt::{AttemptEnding, AttemptReport};
use crate::effect::Effect;
use crate::event::{AgentActivity, EventKind, LifecycleEvent, LoopTimer, StopSignal, WorkEvent};
use crate::evidence::Verdict;
use crate::fact::{AttemptResult, Fact, IterationStatus, NextStep};
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::step::tests::builders::{
    LoopScenario, attempt_key, claiming_report, crash_report, policy_with_checks, quiet_report,
};

/// Returns the attempt that the scenario has just recorded.
fn recorded_attempt(scene: &LoopScenario) -> (u32, AttemptResult) {
    let ended = scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::AttemptEnded { attempt, result, .. } => Some((*attempt, result.clone())),
        _ => None,
    });
    ended.expect("an attempt has ended")
}

fn resumed_step(scene: &LoopScenario) -> Option<(u32, u32, NextStep)> {
    scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::RunResumed { iteration, attempt, next, .. } => Some((*iteration, *attempt, *next)),
        _ => None,
    })
}

// spec: L13
#[test]
fn a_loop_that_had_not_started_starts() {
    let scene = LoopScenario::new(Policy::new(3)).recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 1)));
    assert_eq!(scene.fact_names(), ["iteration.started", "attempt.started"]);
}

// spec: L13
// fault: 1, 2
#[test]
fn an_attempt_in_progress_is_recorded_as_interrupted_and_repeated_in_the_same_iteration() {
    let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, quiet_report()).recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 2)));
    assert_eq!(scene.fact_names(), ["run.resumed", "attempt.ended", "attempt.started"]);
    let (attempt, result) = recorded_attempt(&scene);
    assert_eq!(
        (attempt, result.status, result.ending),
        (1, IterationStatus::Interrupted, AttemptEnding::ExitNotObserved)
    );
    assert!(result.failure.expect("a reason").contains("outcome unknown"));
}

// spec: L13, L5
#[test]
fn an_interrupted_attempt_uses_no_retry() {
    let policy = Policy { max_retries: 1, ..Policy::new(3) };
    let mut scene = LoopScenario::start_run(policy);
    for _ in 0..5 {
        scene = scene.recover_run();
    }
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 6)));
    let scene = scene.end_attempt(1, 6, crash_report());
    let first_delay = Effect::StartTimer { timer: LoopTimer::Retry { key: attempt_key(1, 7) }, after_ms: 1_000 };
    assert!(scene.has_effect(&first_delay), "{:?}", scene.effects);
    let scene = scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 7) }).end_attempt(1, 7, crash_report());
    assert_eq!(scene.end_reason(), "the agent failed 2 times in a row: the agent exited with code 1");
}

// spec: L13
// fault: 3, 4
#[test]
fn interrupted_checks_run_again_without_the_agent() {
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report()).recover_run();
    assert_eq!(scene.started_attempt(), None);
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 2 }));
    assert_eq!(resumed_step(&scene), Some((1, 1, NextStep::Checks)));
    let scene = scene.deliver_verdict(1, 1, Verdict::Accepted);
    assert_eq!(scene.run_outcome(), Some(Outcome::Completed));
}

// spec: L13, L5
#[test]
fn the_rest_of_a_retry_delay_is_waited_for() {
    let waiting = || LoopScenario::start_run(Policy::new(3)).set_time(1_000_000).end_attempt(1, 1, crash_report());
    let delay = |after_ms| Effect::StartTimer { timer: LoopTimer::Retry { key: attempt_key(1, 2) }, after_ms };
    let scene = waiting().set_time(1_000_400).recover_run();
    assert!(scene.has_effect(&delay(600)), "{:?}", scene.effects);
    assert_eq!(
        scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) }).started_attempt(),
        Some(attempt_key(1, 2))
    );
    assert!(waiting().set_time(9_000_000).recover_run().has_effect(&delay(0)), "the delay has passed");
}

// spec: L13
// fault: 68
#[test]
fn a_clock_change_between_two_drivers_neither_extends_a_delay_nor_ends_an_iteration() {
    const HOUR_MS: i64 = 3_600_000;
    let delay = |after_ms| Effect::StartTimer { timer: LoopTimer::Retry { key: attempt_key(1, 2) }, after_ms };
    let waiting = LoopScenario::start_run(Policy::new(3)).set_time(2 * HOUR_MS).end_attempt(1, 1, crash_report());
    let scene = waiting.set_time(HOUR_MS).recover_run();
    assert!(scene.has_effect(&delay(1_000)), "at most the maximum delay: {:?}", scene.effects);
    for now in [HOUR_MS, 3 * HOUR_MS + 1, 100 * HOUR_MS] {
        let scene = LoopScenario::start_run(Policy::new(3))
            .set_time(2 * HOUR_MS)
            .end_attempt(1, 1, quiet_report())
            .set_time(now)
            .recover_run();
        let full_timeout =
            Effect::StartTimer { timer: LoopTimer::Iteration { key: attempt_key(2, 2) }, after_ms: 3_600_000 };
        assert!(scene.has_effect(&full_timeout), "{:?}", scene.effects);
    }
}

// spec: L13, L12
// fault: 14
#[test]
fn a_run_that_a_signal_ended_resumes_with_the_interrupted_iteration() {
    let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, quiet_report()).send_signal(StopSignal::Int);
    let scene = scene.end_attempt(2, 1, crash_report());
    assert_eq!(scene.exit_code(), Some(130));
    let scene = scene.recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 2)));
    assert_eq!(scene.fact_names(), ["run.resumed", "attempt.started"], "its end is already recorded");
    assert_eq!(scene.run_outcome(), None);
    assert_eq!(scene.end_attempt(2, 2, claiming_report()).run_outcome(), Some(Outcome::Completed));
}

// spec: L13, L12
#[test]
fn a_run_that_a_signal_ended_resumes_in_the_same_phase() {
    let checking = LoopScenario::start_run(policy_with_checks(3))
        .end_attempt(1, 1, claiming_report())
        .send_signal(StopSignal::Term);
    let scene = checking.deliver_verdict(1, 1, Verdict::Accepted).recover_run();
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 2 }));
    let waiting =
        LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, crash_report()).send_signal(StopSignal::Term);
    assert_eq!(resumed_step(&waiting.recover_run()), Some((1, 2, NextStep::Retry)));
    let ready = LoopScenario::new(Policy::new(3)).send_signal(StopSignal::Int).recover_run();
    assert_eq!(ready.fact_names(), ["run.resumed", "iteration.started", "attempt.started"]);
}

// spec: L13, L12
#[test]
fn resuming_after_a_crash_withdraws_a_stop_by_a_signal() {
    let scene = LoopScenario::start_run(Policy::new(3)).send_signal(StopSignal::Int).recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    assert_eq!(recorded_attempt(&scene).1.status, IterationStatus::Interrupted);
    let checking = LoopScenario::start_run(policy_with_checks(3))
        .end_attempt(1, 1, claiming_report())
        .send_signal(StopSignal::Int);
    assert!(checking.recover_run().has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 2 }));
}

// spec: L13, L7
#[test]
fn a_crash_while_a_timeout_stopped_the_agent_ends_its_iteration_as_timed_out() {
    for timer in [LoopTimer::Iteration { key: attempt_key(1, 1) }, LoopTimer::Silence { key: attempt_key(1, 1) }] {
        let scene = LoopScenario::start_run(Policy::new(3)).fire_timer(timer).recover_run();
        assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
        assert_eq!(resumed_step(&scene), Some((1, 1, NextStep::End)));
        assert_eq!(recorded_attempt(&scene).1.status, IterationStatus::TimedOut);
    }
}

// spec: L13, L7
#[test]
fn an_attempt_whose_last_message_was_not_recorded_is_repeated() {
    let scene = LoopScenario::start_run(policy_with_checks(3))
        .play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::ResultSeen });
    let scene = scene.fire_timer(LoopTimer::AfterResult { key: attempt_key(1, 1) }).recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
}

// spec: L13
#[test]
fn a_crash_while_an_unusable_work_tree_stopped_the_agent_ends_the_run() {
    let scene = LoopScenario::start_run(Policy::new(3)).play_event(EventKind::broken("gone".to_string())).recover_run();
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(10)));
}

// spec: L13
// fault: 5
#[test]
fn a_finished_loop_stays_finished() {
    let done = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, claiming_report());
    assert!(!done.state.can_resume());
    let before = done.state.clone();
    let scene = done.recover_run();
    assert_eq!((scene.state, scene.effects), (before, Vec::new()));
}

// spec: L13
// fault: 12
#[test]
fn changed_inputs_are_recorded_on_resume() {
    let changed = Vec::from(["the prompt file".to_string()]);
    let scene = LoopScenario::start_run(Policy::new(3))
        .play_event(EventKind::Lifecycle(LifecycleEvent::Recovered { changed: changed.clone(), orders: Vec::new() }));
    let Fact::RunResumed { changed: recorded, .. } = scene.recorded_facts()[0] else { panic!("not resumed") };
    assert_eq!(recorded, &changed);
}

// fault: 10
#[test]
fn a_driver_fault_ends_the_run_with_its_message_and_exit_code_seventy() {
    let fault =
        || EventKind::Work(WorkEvent::Faulted { key: attempt_key(1, 1), what: "index out of range".to_string() });
    let working = || LoopScenario::start_run(policy_with_checks(3));
    let verifying = || working().end_attempt(1, 1, claiming_report());
    for scene in [
        working().play_event(fault()),
        working().send_signal(StopSignal::Int).play_event(fault()),
        verifying().play_event(fault()),
        verifying().send_signal(StopSignal::Int).play_event(fault()),
    ] {
        assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(70)));
        assert!(scene.end_reason().contains("index out of range"));
        assert!(matches!(scene.current_phase(), LoopPhase::Finished { iterations: 1, .. }));
    }
}

// spec: L5, L13
#[test]
fn the_timeout_of_an_iteration_starts_again_when_a_retry_delay_is_resumed() {
    let waiting = LoopScenario::start_run(Policy::new(3)).set_time(1_000_000).end_attempt(1, 1, crash_report());
    let scene = waiting.set_time(9_000_000).recover_run().set_time(9_000_500);
    let scene = scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) });
    let timer = LoopTimer::Iteration { key: attempt_key(1, 2) };
    assert!(scene.has_effect(&Effect::StartTimer { timer, after_ms: 3_600_000 - 500 }), "{:?}", scene.effects);
}

// spec: L13
#[test]
fn the_duration_of_an_iteration_does_not_include_the_time_without_a_driver() {
    let checking = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report());
    let scene = checking.set_time(9_000_000).recover_run().set_time(9_000_700);
    let scene = scene.deliver_verdict(1, 1, Verdict::Rejected);
    let duration_ms = scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::IterationEnded { duration_ms, .. } => Some(*duration_ms),
        _ => None,
    });
    assert_eq!(duration_ms, Some(700));
}

// spec: L5
#[test]
fn a_failed_attempt_is_recorded_with_its_reason() {
    let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, crash_report());
    assert_eq!(recorded_attempt(&scene).1.failure.as_deref(), Some("the agent exited with code 1"));
}

// spec: L9, L13
#[test]
fn an_attempt_with_an_unknown_outcome_does_not_count_as_unchanged() {
    let policy = Policy { stall_after: 1, ..Policy::new(3) };
    let unchanged = || AttemptReport { has_changed_files: Some(false), ..quiet_report() };
    let stalled = LoopScenario::start_run(policy.clone()).end_attempt(1, 1, unchanged());
    assert_eq!(stalled.run_outcome(), Some(Outcome::Stalled));
    let resumed = LoopScenario::start_run(policy).recover_run().end_attempt(1, 2, unchanged());
    assert_eq!(resumed.run_outcome(), None);
}
