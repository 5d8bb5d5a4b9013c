//! Tests of rate limits, and of agents that only retry requests.
use alloc::string::{String, ToString};

use crate::attempt::{AgentErrorKind, AttemptReport};
use crate::effect::Effect;
use crate::event::{AgentActivity, EventKind, LoopTimer, StopSignal};
use crate::fact::{Fact, IterationStatus, NextStep};
use crate::loop_state::{LoopPhase, LoopState};
use crate::outcome::Outcome;
use crate::policy::{ContextMode, Policy, RateLimitPolicy};
use crate::prompt::PromptPlan;
use crate::step::tests::builders::{
    LoopScenario, attempt_key, crash_report, error_report, quiet_report, rate_limited_report, repeating_report,
    with_session,
};

const HOUR_MS: i64 = 3_600_000;
const WHOLE_PROMPT: PromptPlan = PromptPlan::Whole { feedback: None };
const CONTINUATION_PROMPT: PromptPlan = PromptPlan::Continuation { feedback: None };

fn policy_with_agents(names: &[&str]) -> Policy {
    let agents = names.iter().map(ToString::to_string).collect();
    let rate_limits = RateLimitPolicy { agents, ..RateLimitPolicy::default() };
    Policy { rate_limits, max_retries: 0, context: ContextMode::Continue, ..Policy::new(3) }
}

fn single_agent_policy() -> Policy {
    policy_with_agents(&["claude"])
}

fn recorded_wait(scene: &LoopScenario) -> Option<(u64, Option<i64>)> {
    scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::LimitWaiting { delay_ms, reset_at, .. } => Some((*delay_ms, *reset_at)),
        _ => None,
    })
}

fn recorded_agent_change(scene: &LoopScenario) -> Option<(String, String)> {
    scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::AgentChanged { agent, reason, .. } => Some((agent.clone(), reason.clone())),
        _ => None,
    })
}

fn limit_timer(iteration: u32, attempt: u32) -> LoopTimer {
    LoopTimer::Limit { key: attempt_key(iteration, attempt) }
}

// spec: L6
// fault: 87
#[test]
fn a_rate_limited_attempt_waits_for_the_reset_and_uses_neither_retry_nor_iteration() {
    let scene = LoopScenario::start_run(single_agent_policy()).set_time(10_000).end_attempt(
        1,
        1,
        rate_limited_report(Some(HOUR_MS)),
    );
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "limit.waiting"]);
    let (delay_ms, reset_at) = recorded_wait(&scene).unwrap();
    assert_eq!(reset_at, Some(3_600));
    assert!((3_590_000..3_590_000 + 60_000).contains(&delay_ms), "{delay_ms}");
    assert!(scene.has_effect(&Effect::StartTimer { timer: limit_timer(1, 2), after_ms: delay_ms }));
    let scene = scene.set_time(HOUR_MS + 60_000).fire_timer(limit_timer(1, 2));
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    assert_eq!(scene.fact_names(), ["attempt.started"]);
    assert_eq!(scene.end_attempt(1, 2, crash_report()).run_outcome(), Some(Outcome::Failed), "the first failure");
}

// spec: L6, L7
#[test]
fn a_wait_does_not_count_towards_the_timeout_of_the_iteration() {
    let scene = LoopScenario::start_run(single_agent_policy()).set_time(60_000).end_attempt(
        1,
        1,
        rate_limited_report(Some(5 * HOUR_MS)),
    );
    let scene = scene.set_time(5 * HOUR_MS + 60_000).fire_timer(limit_timer(1, 2));
    let left = scene.effects.iter().find_map(|effect| match effect {
        Effect::StartTimer { timer: LoopTimer::Iteration { .. }, after_ms } => Some(*after_ms),
        _ => None,
    });
    assert_eq!(left, Some(3_600_000 - 59_000));
}

// spec: L6
// fault: 88
#[test]
fn without_a_plausible_reset_the_waits_grow_up_to_the_maximum_and_then_the_run_is_over_budget() {
    let rate_limits = RateLimitPolicy { max_wait_ms: 4 * 60_000, ..RateLimitPolicy::default() };
    let mut scene = LoopScenario::start_run(Policy { rate_limits, ..single_agent_policy() });
    let mut waits = alloc::vec::Vec::new();
    for attempt in 1..9 {
        scene = scene.end_attempt(1, attempt, rate_limited_report(Some(i64::MAX)));
        let Some((delay_ms, None)) = recorded_wait(&scene) else { break };
        waits.push(delay_ms / 1_000);
        scene = scene.fire_timer(limit_timer(1, attempt + 1));
    }
    assert_eq!(waits, [62, 123, 54]);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::OverBudget), Some(7)));
    assert!(
        scene.end_reason().starts_with("rate limited: API error; the limit lasts another"),
        "{}",
        scene.end_reason()
    );
    assert!(scene.end_reason().contains("may wait at most 4m and has already waited 4m (max_rate_limit_wait)"));
}

// spec: L6
#[test]
fn a_reset_beyond_the_maximum_wait_ends_the_run_immediately() {
    let scene =
        LoopScenario::start_run(single_agent_policy()).end_attempt(1, 1, rate_limited_report(Some(72 * HOUR_MS)));
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::OverBudget), Some(7)));
    assert!(scene.end_reason().contains("lasts another 3d"), "{}", scene.end_reason());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "iteration.ended", "run.finished"]);
}

// spec: L6
#[test]
fn a_successful_attempt_resets_the_count_of_limits() {
    let scene = LoopScenario::start_run(single_agent_policy())
        .end_attempt(1, 1, rate_limited_report(None))
        .fire_timer(limit_timer(1, 2))
        .end_attempt(1, 2, quiet_report());
    assert_eq!(scene.state.limits.in_a_row, 0);
    assert_eq!(recorded_wait(&scene.end_attempt(2, 1, rate_limited_report(None))), Some((62_600, None)));
}

// spec: L6, L12
// fault: 87
#[test]
fn a_signal_ends_a_wait_immediately_and_the_run_can_be_resumed() {
    let scene = LoopScenario::start_run(single_agent_policy())
        .end_attempt(1, 1, rate_limited_report(Some(HOUR_MS)))
        .send_signal(StopSignal::Int);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Interrupted), Some(130)));
    assert!(scene.state.can_resume());
}

// spec: L6, L13
// fault: 87
#[test]
fn an_interrupted_wait_continues_for_the_time_left_by_the_wall_clock() {
    let waits = || {
        LoopScenario::start_run(single_agent_policy()).set_time(2_000).end_attempt(
            1,
            1,
            rate_limited_report(Some(HOUR_MS)),
        )
    };
    let planned = recorded_wait(&waits()).unwrap().0;
    for scene in [waits(), waits().send_signal(StopSignal::Term)] {
        let scene = scene.set_wall_clock(2_000 + HOUR_MS / 2).recover_run();
        let after_ms = planned - HOUR_MS.unsigned_abs() / 2;
        assert!(scene.has_effect(&Effect::StartTimer { timer: limit_timer(1, 2), after_ms }), "{:?}", scene.effects);
        assert!(matches!(scene.recorded_facts()[..], [Fact::RunResumed { next: NextStep::Limit, .. }]));
        assert_eq!(scene.started_attempt(), None);
        assert_eq!(scene.state.limits.waited_ms, planned, "the wait is counted once");
    }
}

// spec: L6, L13
// fault: 87
#[test]
fn a_wait_whose_reset_passed_without_a_driver_is_over_immediately() {
    let scene = LoopScenario::start_run(single_agent_policy())
        .end_attempt(1, 1, rate_limited_report(Some(HOUR_MS)))
        .set_wall_clock(3 * HOUR_MS)
        .recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    assert!(matches!(scene.recorded_facts()[..], [Fact::RunResumed { next: NextStep::Agent, attempt: 2, .. }, _]));
}

// spec: L6
#[test]
fn an_expired_timer_ends_the_wait_even_if_the_wall_clock_was_set_back() {
    let scene = LoopScenario::start_run(single_agent_policy()).set_time(HOUR_MS).end_attempt(
        1,
        1,
        rate_limited_report(Some(2 * HOUR_MS)),
    );
    assert_eq!(
        scene.set_wall_clock(-9 * HOUR_MS).fire_timer(limit_timer(1, 2)).started_attempt(),
        Some(attempt_key(1, 2))
    );
}

// spec: L6, L10
#[test]
fn the_refused_session_is_resumed_after_the_limit() {
    let scene = LoopScenario::start_run(single_agent_policy()).end_attempt(
        1,
        1,
        with_session("s1", rate_limited_report(Some(HOUR_MS))),
    );
    let scene = scene.set_time(2 * HOUR_MS).fire_timer(limit_timer(1, 2));
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("s1"), 0)));
    let fresh = Policy { context: ContextMode::Fresh, ..single_agent_policy() };
    let scene =
        LoopScenario::start_run(fresh).end_attempt(1, 1, with_session("s1", rate_limited_report(Some(HOUR_MS))));
    assert_eq!(
        scene.set_time(2 * HOUR_MS).fire_timer(limit_timer(1, 2)).start_details(),
        Some((WHOLE_PROMPT, None, 0))
    );
}

// spec: L6
#[test]
fn a_fallback_takes_over_immediately_in_a_fresh_session_and_the_preferred_agent_returns_after_its_reset() {
    let scene = LoopScenario::start_run(policy_with_agents(&["claude", "codex"]));
    let scene = scene.end_attempt(1, 1, with_session("s1", rate_limited_report(Some(HOUR_MS))));
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "agent.changed", "attempt.started"]);
    let reason = "claude is rate limited: API error".to_string();
    assert_eq!(recorded_agent_change(&scene), Some(("codex".to_string(), reason)));
    assert_eq!(scene.start_details(), Some((WHOLE_PROMPT, None, 1)));
    let scene = scene.end_attempt(1, 2, with_session("c1", quiet_report()));
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("c1"), 1)), "it stays until the reset");
    let scene = scene.set_time(2 * HOUR_MS).end_attempt(2, 1, with_session("c1", quiet_report()));
    assert_eq!(scene.start_details(), Some((WHOLE_PROMPT, None, 0)));
    assert_eq!(recorded_agent_change(&scene), Some(("claude".to_string(), "its rate limit is over".to_string())));
}

// spec: L6
#[test]
fn when_every_agent_is_limited_the_run_waits_for_the_first_reset() {
    let scene = LoopScenario::start_run(policy_with_agents(&["claude", "codex"])).end_attempt(
        1,
        1,
        rate_limited_report(Some(2 * HOUR_MS)),
    );
    let scene = scene.end_attempt(1, 2, with_session("c1", rate_limited_report(Some(HOUR_MS))));
    assert_eq!(recorded_wait(&scene).unwrap().1, Some(3_600));
    let scene = scene.set_time(HOUR_MS + 60_000).fire_timer(limit_timer(1, 3));
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("c1"), 1)), "its session is resumed");
}

// spec: L6
#[test]
fn a_fallback_that_fails_does_not_fail_the_run_while_the_preferred_agent_will_return() {
    let scene = LoopScenario::start_run(policy_with_agents(&["claude", "codex"])).end_attempt(
        1,
        1,
        rate_limited_report(Some(HOUR_MS)),
    );
    let scene = scene.end_attempt(1, 2, crash_report());
    assert_eq!(scene.run_outcome(), None, "{}", scene.end_reason());
    assert_eq!(recorded_wait(&scene).unwrap().1, Some(3_600));
    let scene = scene.set_time(HOUR_MS + 60_000).fire_timer(limit_timer(1, 3));
    assert_eq!(scene.start_details(), Some((WHOLE_PROMPT, None, 0)));
    assert_eq!(recorded_agent_change(&scene).unwrap().0, "claude");
    let scene = scene.end_attempt(1, 3, crash_report());
    assert_eq!(scene.run_outcome(), Some(Outcome::Failed), "the preferred agent has no fallback left");
}

// spec: L6
#[test]
fn a_failed_fallback_is_not_used_again_and_the_next_one_takes_over() {
    let agents = policy_with_agents(&["claude", "codex", "mine"]);
    let scene = LoopScenario::start_run(agents).end_attempt(1, 1, rate_limited_report(Some(HOUR_MS))).end_attempt(
        1,
        2,
        error_report(AgentErrorKind::Auth),
    );
    let (agent, reason) = recorded_agent_change(&scene).unwrap();
    assert_eq!((agent.as_str(), reason.as_str()), ("mine", "codex failed: API error"));
    let scene = scene.end_attempt(1, 3, rate_limited_report(Some(2 * HOUR_MS)));
    assert_eq!(recorded_wait(&scene).unwrap().1, Some(3_600), "the run waits for claude, and codex is not used");
}

// spec: L6
#[test]
fn a_failed_fallback_fails_the_run_if_the_preferred_agent_is_limited_for_too_long() {
    let scene = LoopScenario::start_run(policy_with_agents(&["claude", "codex"])).end_attempt(
        1,
        1,
        rate_limited_report(Some(72 * HOUR_MS)),
    );
    let scene = scene.end_attempt(1, 2, crash_report());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.end_reason(), "the agent exited with code 1");
}

// spec: L6
#[test]
fn a_waiting_loop_is_stored_and_read_back_unchanged_also_in_the_old_format() {
    let scene =
        LoopScenario::start_run(policy_with_agents(&["a", "b"])).end_attempt(1, 1, rate_limited_report(Some(HOUR_MS)));
    let scene = scene.end_attempt(1, 2, with_session("s", rate_limited_report(Some(HOUR_MS))));
    assert!(matches!(scene.current_phase(), LoopPhase::Limited { .. }));
    let stored = serde_json::to_string(&scene.state).unwrap();
    assert_eq!(serde_json::from_str::<LoopState>(&stored).unwrap(), scene.state);
    let mut old = serde_json::to_value(LoopState::new(Policy::new(3))).unwrap();
    for key in ["session", "limits"] {
        old.as_object_mut().unwrap().remove(key).unwrap();
    }
    old["policy"].as_object_mut().unwrap().remove("rate_limits").unwrap();
    for key in ["repeating_ms", "handshake_ms"] {
        old["policy"]["timeouts"].as_object_mut().unwrap().remove(key).unwrap();
    }
    assert_eq!(serde_json::from_value::<LoopState>(old).unwrap(), LoopState::new(Policy::new(3)));
}

// spec: L6, L7
#[test]
fn an_agent_that_only_retries_requests_is_stopped_after_a_timeout() {
    let timer = LoopTimer::Repeating { key: attempt_key(1, 1) };
    let scene = LoopScenario::start_run(single_agent_policy())
        .play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::RepeatingStarted });
    assert!(scene.has_effect(&Effect::StartTimer { timer, after_ms: 300_000 }));
    let scene = scene.play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::RepeatingEnded });
    assert!(scene.has_effect(&Effect::CancelTimer { timer }));
    let scene = scene.fire_timer(timer);
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    assert_eq!(scene.fact_names(), ["stop.requested"]);
}

// spec: L6
#[test]
fn an_agent_stopped_for_retrying_waits_after_a_rate_limit_and_is_retried_after_a_network_error() {
    let policy = || Policy { max_retries: 1, ..single_agent_policy() };
    let stopped = || LoopScenario::start_run(policy()).fire_timer(LoopTimer::Repeating { key: attempt_key(1, 1) });
    let limited = stopped().end_attempt(1, 1, repeating_report(AgentErrorKind::RateLimit));
    assert!(recorded_wait(&limited).is_some());
    let failed = stopped().end_attempt(1, 1, repeating_report(AgentErrorKind::Network));
    let reason = failed.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::RetryScheduled { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(reason, Some("the agent only retried failed requests: API error"));
}

// spec: L6, L7
#[test]
fn a_silent_agent_waits_if_its_last_report_was_a_rate_limit_and_times_out_otherwise() {
    let silent =
        || LoopScenario::start_run(single_agent_policy()).fire_timer(LoopTimer::Silence { key: attempt_key(1, 1) });
    let limited = silent().end_attempt(1, 1, repeating_report(AgentErrorKind::RateLimit));
    assert!(recorded_wait(&limited).is_some(), "{:?}", limited.fact_names());
    for report in [repeating_report(AgentErrorKind::Network), quiet_report()] {
        let timed_out = silent().end_attempt(1, 1, report);
        assert_eq!(timed_out.started_attempt(), Some(attempt_key(2, 1)), "the iteration counts");
    }
}

// spec: L6
#[test]
fn the_exit_of_an_agent_stopped_for_retrying_does_not_matter() {
    let aborted = AttemptReport {
        repeating: repeating_report(AgentErrorKind::RateLimit).repeating,
        ..error_report(AgentErrorKind::Crash)
    };
    let scene = LoopScenario::start_run(single_agent_policy())
        .fire_timer(LoopTimer::Repeating { key: attempt_key(1, 1) })
        .end_attempt(1, 1, aborted);
    assert!(recorded_wait(&scene).is_some(), "{:?}", scene.fact_names());
}

// spec: L7, A1
#[test]
fn an_agent_that_opens_no_session_in_time_fails_with_its_reported_error() {
    let timer = LoopTimer::Handshake { key: attempt_key(1, 1) };
    let scene = LoopScenario::start_run(single_agent_policy())
        .play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::HandshakeStarted });
    assert!(scene.has_effect(&Effect::StartTimer { timer, after_ms: 120_000 }));
    let scene = scene.play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::HandshakeDone });
    assert!(scene.has_effect(&Effect::CancelTimer { timer }));
    let scene = scene.fire_timer(timer);
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    let scene = scene.end_attempt(1, 1, error_report(AgentErrorKind::Crash));
    assert_eq!(scene.run_outcome(), Some(Outcome::Failed));
    assert_eq!(scene.end_reason(), "the agent did not open a session in time: API error");
}

// spec: L12, L13
#[test]
fn an_agent_being_stopped_for_retrying_can_be_interrupted_and_is_restarted_after_a_crash() {
    let stopped =
        || LoopScenario::start_run(single_agent_policy()).fire_timer(LoopTimer::Repeating { key: attempt_key(1, 1) });
    let scene = stopped().send_signal(StopSignal::Int).end_attempt(1, 1, repeating_report(AgentErrorKind::Network));
    assert_eq!(scene.run_outcome(), Some(Outcome::Interrupted));
    let scene = stopped().recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    let status = scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::AttemptEnded { result, .. } => Some(result.status),
        _ => None,
    });
    assert_eq!(status, Some(IterationStatus::Interrupted));
}

fn iteration_time_left(scene: &LoopScenario) -> Option<u64> {
    scene.effects.iter().find_map(|effect| match effect {
        Effect::StartTimer { timer: LoopTimer::Iteration { .. }, after_ms } => Some(*after_ms),
        _ => None,
    })
}

// spec: L7, L13
#[test]
fn the_timeout_of_an_iteration_starts_again_when_a_wait_is_resumed() {
    let waits = || {
        LoopScenario::start_run(single_agent_policy()).set_time(60_000).end_attempt(
            1,
            1,
            rate_limited_report(Some(HOUR_MS)),
        )
    };
    let scene = waits().set_time(HOUR_MS / 2).recover_run().set_time(HOUR_MS + 60_000).fire_timer(limit_timer(1, 2));
    assert_eq!(iteration_time_left(&scene), Some(3_600_000));
}

// spec: L7, L13
#[test]
fn the_time_after_a_wait_that_ended_without_a_driver_counts_towards_the_timeout() {
    let policy = Policy { max_retries: 1, ..single_agent_policy() };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, rate_limited_report(Some(HOUR_MS)));
    let scene = scene.set_time(3 * HOUR_MS).recover_run();
    assert_eq!(iteration_time_left(&scene), Some(3_600_000));
    let scene = scene.set_time(3 * HOUR_MS + 600_000).end_attempt(1, 2, crash_report());
    let scene = scene.set_time(3 * HOUR_MS + 601_000).fire_timer(LoopTimer::Retry { key: attempt_key(1, 3) });
    assert_eq!(iteration_time_left(&scene), Some(3_600_000 - 601_000));
}

// spec: L5, L6
#[test]
fn the_failures_of_a_fallback_use_no_retry_of_the_next_agent() {
    let with_one_retry = |agents: &[&str]| Policy { max_retries: 1, ..policy_with_agents(agents) };
    let fallback_failed = |policy: Policy| {
        LoopScenario::start_run(policy)
            .end_attempt(1, 1, rate_limited_report(Some(HOUR_MS)))
            .end_attempt(1, 2, crash_report())
            .fire_timer(LoopTimer::Retry { key: attempt_key(1, 3) })
            .end_attempt(1, 3, crash_report())
    };
    let waited =
        fallback_failed(with_one_retry(&["claude", "codex"])).set_time(HOUR_MS + 60_000).fire_timer(limit_timer(1, 4));
    assert_eq!(waited.start_details(), Some((WHOLE_PROMPT, None, 0)));
    let switched = fallback_failed(with_one_retry(&["claude", "codex", "mine"]));
    assert_eq!(switched.start_details(), Some((WHOLE_PROMPT, None, 2)));
    for scene in [waited, switched] {
        assert_eq!(scene.started_attempt(), Some(attempt_key(1, 4)));
        let scene = scene.end_attempt(1, 4, crash_report());
        assert_eq!(scene.run_outcome(), None, "its first failure is retried");
        let scene = scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 5) });
        assert_eq!(scene.started_attempt(), Some(attempt_key(1, 5)));
    }
}
