//! Tests of failed attempts: which are retried, how often, and which end the run immediately.
use alloc::string::ToString;

use crate::attempt::{AgentErrorKind, AttemptEnding, AttemptReport, OutputParseStatus, RetryAdvice};
use crate::effect::Effect;
use crate::event::LoopTimer;
use crate::fact::Fact;
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::prompt::PromptPlan;
use crate::step::tests::builders::{
    LoopScenario, attempt_key, claiming_report, crash_report, error_report, policy_with_checks, quiet_report,
    report_with_ending,
};
use crate::step::tests::iterations::prompt_plan_of;

// spec: L5
#[test]
fn a_failed_attempt_is_retried_within_its_iteration_after_a_delay() {
    let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, crash_report());
    assert!(
        scene.has_effect(&Effect::StartTimer { timer: LoopTimer::Retry { key: attempt_key(1, 2) }, after_ms: 1_000 })
    );
    assert_eq!(scene.started_attempt(), None);
    let scene = scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) });
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    assert_eq!(prompt_plan_of(&scene), PromptPlan::Whole { feedback: None });
}

// spec: L5, L2
#[test]
fn four_failures_in_a_row_end_the_run_as_failed() {
    let mut scene = LoopScenario::start_run(Policy::new(9));
    for attempt in 1..=3 {
        scene = scene
            .end_attempt(1, attempt, crash_report())
            .fire_timer(LoopTimer::Retry { key: attempt_key(1, attempt + 1) });
    }
    let scene = scene.end_attempt(1, 4, crash_report());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.end_reason(), "the agent failed 4 times in a row: the agent exited with code 1");
}

// spec: L5
#[test]
fn a_successful_attempt_resets_the_retries() {
    let scene = LoopScenario::start_run(Policy::new(9))
        .end_attempt(1, 1, crash_report())
        .fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) })
        .end_attempt(1, 2, quiet_report());
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    let scene = scene.end_attempt(2, 1, crash_report());
    assert!(
        scene.has_effect(&Effect::StartTimer { timer: LoopTimer::Retry { key: attempt_key(2, 2) }, after_ms: 1_000 })
    );
}

// spec: L5
#[test]
fn every_kind_of_failure_is_retried_while_it_can_improve() {
    let unparsable = AttemptReport { stream: OutputParseStatus::NotUnderstood, ..quiet_report() };
    let killed = report_with_ending(AttemptEnding::Signalled { signal: 9 });
    let unspawned =
        report_with_ending(AttemptEnding::NotStarted { why: "busy".to_string(), retry: RetryAdvice::Retry });
    for report in [
        crash_report(),
        killed,
        unspawned,
        report_with_ending(AttemptEnding::SupervisorKilled),
        unparsable,
        error_report(AgentErrorKind::Overloaded),
    ] {
        let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, report);
        assert!(matches!(scene.current_phase(), LoopPhase::Waiting { attempt: 2, .. }), "{:?}", scene.current_phase());
    }
}

// spec: A7, L5
#[test]
fn an_agent_that_used_too_much_memory_fails_with_both_numbers_and_is_retried() {
    let over = AttemptEnding::OverMemory { used_mb: 5210, limit_mb: 4096 };
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(
        1,
        1,
        AttemptReport { ending: over, ..claiming_report() },
    );
    assert!(matches!(scene.current_phase(), LoopPhase::Waiting { attempt: 2, .. }), "{:?}", scene.current_phase());
    let reason = scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::RetryScheduled { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("the agent used 5210 MB, more than the 4096 MB allowed"));
}

// spec: A7
#[test]
fn the_memory_limit_is_the_reason_even_if_the_agent_reported_another_error() {
    let over = AttemptEnding::OverMemory { used_mb: 2, limit_mb: 1 };
    let report = AttemptReport { ending: over, ..error_report(AgentErrorKind::Network) };
    let policy = Policy { max_retries: 0, ..Policy::new(3) };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, report);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.end_reason(), "the agent used 2 MB, more than the 1 MB allowed");
}

// spec: L5
#[test]
fn permanent_failures_are_not_retried() {
    let missing =
        report_with_ending(AttemptEnding::NotStarted { why: "agent not found".to_string(), retry: RetryAdvice::None });
    for report in [
        missing,
        error_report(AgentErrorKind::Auth),
        error_report(AgentErrorKind::Model),
        error_report(AgentErrorKind::Budget),
    ] {
        let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, report);
        assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    }
}
