//! Tests of waits that the agent asks for.
use super::builders::{LoopScenario, attempt_key, quiet_report, waiting_report, with_session};
use crate::claim::WaitTime;
use crate::effect::Effect;
use crate::event::{EventKind, LoopTimer, StopSignal, UnixMillis};
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::{ContextMode, Policy, RateLimitPolicy};
use crate::prompt::{FeedbackKind, PromptPlan};

const HALF_HOUR: WaitTime = WaitTime::For { ms: 1_800_000 };
const WAIT_OVER: LoopTimer = LoopTimer::Limit { key: attempt_key_of_second() };

const fn attempt_key_of_second() -> crate::event::AttemptKey {
    crate::event::AttemptKey { iteration: 1, attempt: 2 }
}

// spec: L17
#[test]
fn a_wait_uses_no_iteration_and_the_next_attempt_continues_the_iteration() {
    let scene = LoopScenario::start_run(Policy::new(1)).end_attempt(1, 1, waiting_report(HALF_HOUR, "the build runs"));
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "agent.waiting"]);
    assert!(scene.has_effect(&Effect::StartTimer { timer: WAIT_OVER, after_ms: 1_800_000 }), "{:?}", scene.effects);
    let LoopPhase::Limited { iteration, wait, .. } = scene.current_phase() else { panic!() };
    assert_eq!(wait.asked_because.as_deref(), Some("the build runs"));
    assert_eq!(iteration.excused_attempts, 1, "the wait is not a retry");
    let scene = scene.fire_timer(WAIT_OVER);
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    let Some((PromptPlan::Whole { feedback: Some(feedback) }, None, 0)) = scene.start_details() else { panic!() };
    assert_eq!((feedback.kind, feedback.reason.as_str()), (FeedbackKind::WaitOver, "the build runs"));
    assert_eq!(scene.end_attempt(1, 2, quiet_report()).run_outcome(), Some(Outcome::Exhausted));
}

// spec: L17
#[test]
fn a_wait_until_a_time_ends_at_that_time_by_the_wall_clock() {
    let until = WaitTime::Until(UnixMillis(600_000));
    let scene = LoopScenario::start_run(Policy::new(1)).set_wall_clock(100_000);
    let scene = scene.end_attempt(1, 1, waiting_report(until, "x"));
    assert!(scene.has_effect(&Effect::StartTimer { timer: WAIT_OVER, after_ms: 500_000 }), "{:?}", scene.effects);
    let scene = LoopScenario::start_run(Policy::new(1)).set_wall_clock(700_000);
    let past = scene.end_attempt(1, 1, waiting_report(until, "x"));
    assert!(past.has_effect(&Effect::StartTimer { timer: WAIT_OVER, after_ms: 0 }), "that time has passed");
}

// spec: L17
#[test]
fn a_wait_survives_a_restart_with_its_wake_time() {
    let scene = LoopScenario::start_run(Policy::new(1)).set_wall_clock(0);
    let scene = scene.end_attempt(1, 1, waiting_report(HALF_HOUR, "the build runs"));
    let again = scene.clone().set_wall_clock(600_000).recover_run();
    assert!(again.has_effect(&Effect::StartTimer { timer: WAIT_OVER, after_ms: 1_200_000 }), "{:?}", again.effects);
    let LoopPhase::Limited { wait, .. } = again.current_phase() else { panic!() };
    assert_eq!(wait.asked_because.as_deref(), Some("the build runs"));
    let late = scene.clone().set_wall_clock(9_000_000).recover_run();
    assert_eq!(late.started_attempt(), Some(attempt_key(1, 2)), "the time has passed");
    let stopped = scene.send_signal(StopSignal::Int);
    assert_eq!(stopped.run_outcome(), Some(Outcome::Interrupted));
    assert!(stopped.state.can_resume());
}

// spec: L17
#[test]
fn all_waits_of_a_run_are_bounded_and_short_ones_count_as_a_minute() {
    let rate_limits = RateLimitPolicy { max_agent_wait_ms: 120_000, ..RateLimitPolicy::default() };
    let policy = || Policy { rate_limits: rate_limits.clone(), ..Policy::new(1) };
    let second = WaitTime::For { ms: 1_000 };
    let wait = |scene: LoopScenario, attempt| {
        scene
            .end_attempt(1, attempt, waiting_report(second, "x"))
            .fire_timer(LoopTimer::Limit { key: attempt_key(1, attempt + 1) })
    };
    let scene = wait(wait(LoopScenario::start_run(policy()), 1), 2).end_attempt(1, 3, waiting_report(second, "x"));
    assert_eq!(scene.run_outcome(), Some(Outcome::OverBudget));
    assert_eq!(
        scene.end_reason(),
        "the agent asked to wait 1s (x), but the run may wait at most 2m and has already waited 2m (max_wait)"
    );
    let long = LoopScenario::start_run(policy()).end_attempt(1, 1, waiting_report(HALF_HOUR, "the build"));
    assert_eq!(
        long.end_reason(),
        "the agent asked to wait 30m (the build), but the run may wait at most 2m (max_wait)"
    );
}

// spec: L17
#[test]
fn the_session_continues_after_a_wait() {
    let scene = LoopScenario::start_run(Policy { context: ContextMode::Continue, ..Policy::new(1) });
    let scene = scene.end_attempt(1, 1, with_session("s1", waiting_report(HALF_HOUR, "x"))).fire_timer(WAIT_OVER);
    let Some((PromptPlan::Continuation { .. }, Some("s1"), 0)) = scene.start_details() else { panic!() };
}

// spec: L17
#[test]
fn a_wait_can_be_paused_and_cancelled() {
    use crate::control_command::{ControlCommand, PauseTiming};
    let scene = LoopScenario::start_run(Policy::new(1)).end_attempt(1, 1, waiting_report(HALF_HOUR, "x"));
    let pause = ControlCommand::Pause { when: PauseTiming::Idle };
    let paused = scene.clone().play_event(EventKind::command_received(pause));
    assert!(matches!(paused.current_phase(), LoopPhase::Paused { .. }));
    let cancelled = scene.play_event(EventKind::command_received(ControlCommand::Cancel));
    assert_eq!(cancelled.run_outcome(), Some(Outcome::Cancelled));
}
