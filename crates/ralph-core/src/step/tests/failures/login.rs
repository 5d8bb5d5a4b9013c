//! Tests of agents that retry a login which the provider rejects.
use crate::attempt::{AgentErrorKind, AttemptReport};
use crate::effect::Effect;
use crate::event::{AgentActivity, EventKind, LoopTimer};
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::step::tests::builders::{LoopScenario, attempt_key, error_report, repeating_report};

const LOGIN_TIMER: LoopTimer = LoopTimer::Login { key: attempt_key(1, 1) };
const GRACE_TIMER: Effect = Effect::StartTimer { timer: LOGIN_TIMER, after_ms: 10_000 };
const STOP: Effect = Effect::StopAgent { key: attempt_key(1, 1) };

fn play_activity(scene: LoopScenario, activity: AgentActivity) -> LoopScenario {
    scene.play_event(EventKind::Agent { key: attempt_key(1, 1), activity })
}

/// A run whose agent has retried a rejected login this often.
fn rejected_run(times: u32) -> LoopScenario {
    (1..=times).fold(LoopScenario::start_run(Policy::new(3)), |scene, times| {
        play_activity(scene, AgentActivity::LoginRejected { times })
    })
}

// finding: N72
// spec: L5
#[test]
fn the_third_rejected_login_gives_the_agent_a_short_time_to_end_by_itself() {
    assert!(!rejected_run(2).has_effect(&GRACE_TIMER));
    let third = rejected_run(3);
    assert!(third.has_effect(&GRACE_TIMER));
    assert!(!third.has_effect(&STOP), "the agent may still end with a better message");
    assert!(!rejected_run(4).has_effect(&GRACE_TIMER), "more retries do not extend the time");
    let accepted = play_activity(rejected_run(3), AgentActivity::LoginAccepted);
    assert!(accepted.has_effect(&Effect::CancelTimer { timer: LOGIN_TIMER }));
}

// finding: N72
// spec: L5
#[test]
fn an_agent_that_retries_a_rejected_login_is_stopped_and_not_started_again() {
    let stopped = rejected_run(3).fire_timer(LOGIN_TIMER);
    assert!(stopped.has_effect(&STOP));
    let retrying = AttemptReport {
        repeating: repeating_report(AgentErrorKind::Auth).repeating,
        ..error_report(AgentErrorKind::Crash)
    };
    let scene = stopped.end_attempt(1, 1, retrying);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.end_reason(), "the provider rejected the agent's login: API error");
}

// finding: N72
#[test]
fn an_agent_that_ends_by_itself_in_that_time_is_reported_with_its_own_message() {
    let scene = rejected_run(3).end_attempt(1, 1, error_report(AgentErrorKind::Auth));
    assert_eq!(scene.run_outcome(), Some(Outcome::Failed));
    assert_eq!(scene.end_reason(), "API error");
}
