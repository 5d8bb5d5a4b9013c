//! Tests of parking: a long wait ends the driver, and the run is resumed after it.
use super::builders::{LoopScenario, attempt_key, quiet_report, rate_limited_report, waiting_report};
use crate::budget::Budget;
use crate::claim::WaitTime;
use crate::control_command::{ControlCommand, PauseTiming};
use crate::effect::Effect;
use crate::event::{EventKind, LoopTimer, RunControl, UnixMillis};
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::{ParkingPolicy, Policy, RateLimitPolicy};

const HOUR_MS: i64 = 3_600_000;

fn parking_policy() -> Policy {
    let parking = ParkingPolicy { is_possible: true, ..ParkingPolicy::default() };
    Policy { rate_limits: RateLimitPolicy { parking, ..RateLimitPolicy::default() }, ..Policy::new(1) }
}

fn limited_for_five_hours(policy: Policy) -> LoopScenario {
    LoopScenario::start_run(policy).end_attempt(1, 1, rate_limited_report(Some(5 * HOUR_MS)))
}

// spec: L18
#[test]
fn a_long_rate_limit_ends_the_driver_and_the_run_can_be_resumed_after_the_reset() {
    let scene = limited_for_five_hours(parking_policy());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "limit.waiting", "iteration.ended", "run.finished"]);
    assert!(scene.has_effect(&Effect::Finish), "{:?}", scene.effects);
    let end = scene.state.run_end().unwrap();
    assert_eq!((end.outcome, end.exit_code), (Outcome::Interrupted, 3));
    assert!(end.reason.starts_with("parked for 5h") && end.reason.ends_with(": rate limited"), "{}", end.reason);
    let until = scene.state.parked_until().unwrap();
    let resumed = scene.set_wall_clock(until.0).recover_run();
    assert_eq!(resumed.started_attempt(), Some(attempt_key(1, 2)), "the same iteration continues");
    assert_eq!(resumed.state.parked_until(), None);
    assert_eq!(resumed.end_attempt(1, 2, quiet_report()).run_outcome(), Some(Outcome::Exhausted));
}

// spec: L18
#[test]
fn a_long_wait_of_the_agent_parks_with_its_reason() {
    let wait = waiting_report(WaitTime::For { ms: 2 * HOUR_MS as u64 }, "the build runs");
    let scene = LoopScenario::start_run(parking_policy()).set_wall_clock(0).end_attempt(1, 1, wait);
    assert_eq!(scene.state.run_end().unwrap().reason, "parked for 2h: the build runs");
    assert_eq!(scene.state.parked_until(), Some(UnixMillis(2 * HOUR_MS)));
}

// spec: L18
#[test]
fn a_run_that_is_resumed_too_early_parks_again_until_the_same_time() {
    let scene = limited_for_five_hours(parking_policy());
    let until = scene.state.parked_until().unwrap();
    let again = scene.set_wall_clock(until.0 - 2 * HOUR_MS).recover_run();
    assert_eq!((again.state.parked_until(), again.started_attempt()), (Some(until), None));
    let soon = again.set_wall_clock(until.0 - 60_000).recover_run();
    let timer = LoopTimer::Limit { key: attempt_key(1, 2) };
    assert!(soon.has_effect(&Effect::StartTimer { timer, after_ms: 60_000 }), "{:?}", soon.effects);
}

// spec: L18, L8
#[test]
fn parked_time_does_not_count_as_working_time() {
    let budget = Budget { max_duration_ms: Some(HOUR_MS as u64), ..Budget::default() };
    let scene = limited_for_five_hours(Policy { budget, ..parking_policy() });
    let until = scene.state.parked_until().unwrap();
    let resumed = scene.set_time(6 * HOUR_MS).set_wall_clock(until.0).recover_run();
    assert_eq!(resumed.started_attempt(), Some(attempt_key(1, 2)));
}

// spec: L18, L11
#[test]
fn a_requested_pause_takes_effect_instead_of_parking() {
    let pause = ControlCommand::Pause { when: PauseTiming::Idle };
    let scene = LoopScenario::start_run(parking_policy())
        .play_event(EventKind::Control(RunControl::CommandReceived { command: pause }))
        .end_attempt(1, 1, rate_limited_report(Some(5 * HOUR_MS)));
    assert!(matches!(scene.current_phase(), LoopPhase::Paused { .. }), "{:?}", scene.current_phase());
}
