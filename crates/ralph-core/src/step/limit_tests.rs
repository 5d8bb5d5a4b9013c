//! One test per sentence about rate limits, and about agents that only repeat requests.
use alloc::string::{String, ToString};

use super::scenes::{Scene, crashes, in_session, key, quiet, refused, repeating, troubled};
use crate::attempt::{AttemptReport, ErrorKind};
use crate::effect::Effect;
use crate::event::{EventKind, StopSignal, Timer};
use crate::fact::{Fact, IterationStatus, NextStep};
use crate::outcome::Outcome;
use crate::policy::{Context, Policy, RateLimits};
use crate::prompt::PromptPlan;
use crate::state::{Loop, Phase};

const HOUR: i64 = 3_600_000;
const WHOLE: PromptPlan = PromptPlan::Whole { feedback: None };
const CONTINUED: PromptPlan = PromptPlan::Continuation { feedback: None };

fn with_agents(names: &[&str]) -> Policy {
    let agents = names.iter().map(ToString::to_string).collect();
    let rate_limits = RateLimits { agents, ..RateLimits::default() };
    Policy { rate_limits, max_retries: 0, context: Context::Continue, ..Policy::new(3) }
}

fn alone() -> Policy {
    with_agents(&["claude"])
}

fn waited_for(scene: &Scene) -> Option<(u64, Option<i64>)> {
    scene.facts().into_iter().find_map(|fact| match fact {
        Fact::LimitWaiting { delay_ms, reset_at, .. } => Some((*delay_ms, *reset_at)),
        _ => None,
    })
}

fn changed_to(scene: &Scene) -> Option<(String, String)> {
    scene.facts().into_iter().find_map(|fact| match fact {
        Fact::AgentChanged { agent, reason, .. } => Some((agent.clone(), reason.clone())),
        _ => None,
    })
}

fn limit(iteration: u32, attempt: u32) -> Timer {
    Timer::Limit { key: key(iteration, attempt) }
}

// spec: L6
// fault: 87
#[test]
fn a_rate_limited_attempt_waits_for_the_reset_and_spends_neither_retry_nor_iteration() {
    let scene = Scene::started(alone()).at(10_000).ended(1, 1, refused(Some(HOUR)));
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "limit.waiting"]);
    let (delay_ms, reset_at) = waited_for(&scene).unwrap();
    assert_eq!(reset_at, Some(3_600));
    assert!((3_590_000..3_590_000 + 60_000).contains(&delay_ms), "{delay_ms}");
    assert!(scene.does(&Effect::StartTimer { timer: limit(1, 2), after_ms: delay_ms }));
    let scene = scene.at(HOUR + 60_000).fires(limit(1, 2));
    assert_eq!(scene.starts(), Some(key(1, 2)));
    assert_eq!(scene.fact_names(), ["attempt.started"]);
    assert_eq!(scene.ended(1, 2, crashes()).outcome(), Some(Outcome::Failed), "the first failure");
}

// spec: L6, L7
#[test]
fn the_time_of_a_wait_is_not_time_of_the_iteration() {
    let scene = Scene::started(alone()).at(60_000).ended(1, 1, refused(Some(5 * HOUR)));
    let scene = scene.at(5 * HOUR + 60_000).fires(limit(1, 2));
    let left = scene.effects.iter().find_map(|effect| match effect {
        Effect::StartTimer { timer: Timer::Iteration { .. }, after_ms } => Some(*after_ms),
        _ => None,
    });
    assert_eq!(left, Some(3_600_000 - 59_000));
}

// spec: L6
// fault: 88
#[test]
fn without_a_sensible_reset_the_waits_grow_until_the_bound_and_then_the_run_is_over_budget() {
    let rate_limits = RateLimits { max_wait_ms: 4 * 60_000, agents: [].into() };
    let mut scene = Scene::started(Policy { rate_limits, ..alone() });
    let mut waits = alloc::vec::Vec::new();
    for attempt in 1..9 {
        scene = scene.ended(1, attempt, refused(Some(i64::MAX)));
        let Some((delay_ms, None)) = waited_for(&scene) else { break };
        waits.push(delay_ms / 1_000);
        scene = scene.fires(limit(1, attempt + 1));
    }
    assert_eq!(waits, [62, 123, 54]);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::OverBudget), Some(7)));
    assert!(
        scene.reason().starts_with("rate limited: API error; the limit lasts another"),
        "{}",
        scene.reason()
    );
    assert!(scene.reason().contains("may wait 4m in all and has waited 4m (max_rate_limit_wait)"));
}

// spec: L6
#[test]
fn a_reset_after_the_bound_ends_the_run_at_once() {
    let scene = Scene::started(alone()).ended(1, 1, refused(Some(72 * HOUR)));
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::OverBudget), Some(7)));
    assert!(scene.reason().contains("lasts another 3d"), "{}", scene.reason());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "iteration.ended", "run.finished"]);
}

// spec: L6
#[test]
fn a_good_attempt_ends_a_row_of_limits() {
    let scene = Scene::started(alone()).ended(1, 1, refused(None)).fires(limit(1, 2)).ended(1, 2, quiet());
    assert_eq!(scene.state.limits.in_a_row, 0);
    assert_eq!(waited_for(&scene.ended(2, 1, refused(None))), Some((62_600, None)));
}

// spec: L6, L12
// fault: 87
#[test]
fn a_signal_ends_a_wait_at_once_and_the_run_can_be_resumed() {
    let scene = Scene::started(alone()).ended(1, 1, refused(Some(HOUR))).signal(StopSignal::Int);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Interrupted), Some(130)));
    assert!(scene.state.can_go_on());
}

// spec: L6, L13
// fault: 87
#[test]
fn a_wait_that_was_cut_short_goes_on_for_what_is_left_by_the_clock_on_the_wall() {
    let waits = || Scene::started(alone()).at(2_000).ended(1, 1, refused(Some(HOUR)));
    let planned = waited_for(&waits()).unwrap().0;
    for scene in [waits(), waits().signal(StopSignal::Term)] {
        let scene = scene.wall_at(2_000 + HOUR / 2).recovers();
        let after_ms = planned - HOUR.unsigned_abs() / 2;
        assert!(scene.does(&Effect::StartTimer { timer: limit(1, 2), after_ms }), "{:?}", scene.effects);
        assert!(matches!(scene.facts()[..], [Fact::RunResumed { next: NextStep::Limit, .. }]));
        assert_eq!(scene.starts(), None);
        assert_eq!(scene.state.limits.waited_ms, planned, "it is waited once");
    }
}

// spec: L6, L13
// fault: 87
#[test]
fn a_wait_whose_reset_has_passed_while_nobody_ran_is_over_at_once() {
    let scene = Scene::started(alone()).ended(1, 1, refused(Some(HOUR))).wall_at(3 * HOUR).recovers();
    assert_eq!(scene.starts(), Some(key(1, 2)));
    assert!(matches!(scene.facts()[..], [Fact::RunResumed { next: NextStep::Agent, attempt: 2, .. }, _]));
}

// spec: L6
#[test]
fn a_timer_that_is_due_ends_the_wait_even_if_the_clock_on_the_wall_was_set_back() {
    let scene = Scene::started(alone()).at(HOUR).ended(1, 1, refused(Some(2 * HOUR)));
    assert_eq!(scene.wall_at(-9 * HOUR).fires(limit(1, 2)).starts(), Some(key(1, 2)));
}

// spec: L6, L10
#[test]
fn after_a_limit_the_session_that_was_refused_goes_on() {
    let scene = Scene::started(alone()).ended(1, 1, in_session("s1", refused(Some(HOUR))));
    let scene = scene.at(2 * HOUR).fires(limit(1, 2));
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("s1"), 0)));
    let fresh = Policy { context: Context::Fresh, ..alone() };
    let scene = Scene::started(fresh).ended(1, 1, in_session("s1", refused(Some(HOUR))));
    assert_eq!(scene.at(2 * HOUR).fires(limit(1, 2)).started_with(), Some((WHOLE, None, 0)));
}

// spec: L6
#[test]
fn a_fallback_takes_over_at_once_with_fresh_context_and_the_preferred_one_returns_after_its_reset() {
    let scene = Scene::started(with_agents(&["claude", "codex"]));
    let scene = scene.ended(1, 1, in_session("s1", refused(Some(HOUR))));
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "agent.changed", "attempt.started"]);
    let reason = "claude is rate limited: API error".to_string();
    assert_eq!(changed_to(&scene), Some(("codex".to_string(), reason)));
    assert_eq!(scene.started_with(), Some((WHOLE, None, 1)));
    let scene = scene.ended(1, 2, in_session("c1", quiet()));
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("c1"), 1)), "it stays until the reset");
    let scene = scene.at(2 * HOUR).ended(2, 1, in_session("c1", quiet()));
    assert_eq!(scene.started_with(), Some((WHOLE, None, 0)));
    assert_eq!(changed_to(&scene), Some(("claude".to_string(), "its rate limit is over".to_string())));
}

// spec: L6
#[test]
fn when_every_agent_is_limited_the_run_waits_for_the_one_that_is_free_first() {
    let scene = Scene::started(with_agents(&["claude", "codex"])).ended(1, 1, refused(Some(2 * HOUR)));
    let scene = scene.ended(1, 2, in_session("c1", refused(Some(HOUR))));
    assert_eq!(waited_for(&scene).unwrap().1, Some(3_600));
    let scene = scene.at(HOUR + 60_000).fires(limit(1, 3));
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("c1"), 1)), "its session goes on");
}

// spec: L6
#[test]
fn a_fallback_that_fails_does_not_fail_the_run_while_the_preferred_agent_will_return() {
    let scene = Scene::started(with_agents(&["claude", "codex"])).ended(1, 1, refused(Some(HOUR)));
    let scene = scene.ended(1, 2, crashes());
    assert_eq!(scene.outcome(), None, "{}", scene.reason());
    assert_eq!(waited_for(&scene).unwrap().1, Some(3_600));
    let scene = scene.at(HOUR + 60_000).fires(limit(1, 3));
    assert_eq!(scene.started_with(), Some((WHOLE, None, 0)));
    assert_eq!(changed_to(&scene).unwrap().0, "claude");
    let scene = scene.ended(1, 3, crashes());
    assert_eq!(scene.outcome(), Some(Outcome::Failed), "the preferred one has no excuse");
}

// spec: L6
#[test]
fn a_fallback_that_failed_is_not_asked_again_and_the_next_one_takes_its_place() {
    let agents = with_agents(&["claude", "codex", "mine"]);
    let scene =
        Scene::started(agents).ended(1, 1, refused(Some(HOUR))).ended(1, 2, troubled(ErrorKind::Auth));
    let (agent, reason) = changed_to(&scene).unwrap();
    assert_eq!((agent.as_str(), reason.as_str()), ("mine", "codex failed: API error"));
    let scene = scene.ended(1, 3, refused(Some(2 * HOUR)));
    assert_eq!(waited_for(&scene).unwrap().1, Some(3_600), "for claude, and codex is not tried");
}

// spec: L6
#[test]
fn a_fallback_that_fails_fails_the_run_where_the_preferred_agent_is_away_for_too_long() {
    let scene = Scene::started(with_agents(&["claude", "codex"])).ended(1, 1, refused(Some(72 * HOUR)));
    let scene = scene.ended(1, 2, crashes());
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.reason(), "the agent exited with code 1");
}

// spec: L6
#[test]
fn a_loop_that_waits_is_stored_and_read_back_unchanged_and_so_is_one_of_before() {
    let scene = Scene::started(with_agents(&["a", "b"])).ended(1, 1, refused(Some(HOUR)));
    let scene = scene.ended(1, 2, in_session("s", refused(Some(HOUR))));
    assert!(matches!(scene.phase(), Phase::Limited { .. }));
    let stored = serde_json::to_string(&scene.state).unwrap();
    assert_eq!(serde_json::from_str::<Loop>(&stored).unwrap(), scene.state);
    let mut old = serde_json::to_value(Loop::new(Policy::new(3))).unwrap();
    for key in ["session", "limits"] {
        old.as_object_mut().unwrap().remove(key).unwrap();
    }
    old["policy"].as_object_mut().unwrap().remove("rate_limits").unwrap();
    for key in ["repeating_ms", "handshake_ms"] {
        old["policy"]["timeouts"].as_object_mut().unwrap().remove(key).unwrap();
    }
    assert_eq!(serde_json::from_value::<Loop>(old).unwrap(), Loop::new(Policy::new(3)));
}

// spec: L6, L7
#[test]
fn an_agent_that_only_repeats_requests_has_so_long_to_get_on() {
    let timer = Timer::Repeating { key: key(1, 1) };
    let scene = Scene::started(alone()).on(EventKind::Repeating { key: key(1, 1) });
    assert!(scene.does(&Effect::StartTimer { timer, after_ms: 300_000 }));
    let scene = scene.on(EventKind::GotOn { key: key(1, 1) });
    assert!(scene.does(&Effect::CancelTimer { timer }));
    let scene = scene.fires(timer);
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    assert_eq!(scene.fact_names(), ["stop.requested"]);
}

// spec: L6
#[test]
fn an_agent_that_repeated_requests_over_a_rate_limit_is_waited_for_and_over_the_network_retried() {
    let policy = || Policy { max_retries: 1, ..alone() };
    let stopped = || Scene::started(policy()).fires(Timer::Repeating { key: key(1, 1) });
    let limited = stopped().ended(1, 1, repeating(ErrorKind::RateLimit));
    assert!(waited_for(&limited).is_some());
    let failed = stopped().ended(1, 1, repeating(ErrorKind::Network));
    let reason = failed.facts().into_iter().find_map(|fact| match fact {
        Fact::RetryScheduled { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(reason, Some("the agent only repeated failed requests: API error"));
}

// spec: L6, L7
#[test]
fn an_agent_that_falls_silent_after_a_refusal_is_waited_for_and_after_any_other_word_timed_out() {
    let silent = || Scene::started(alone()).fires(Timer::Silence { key: key(1, 1) });
    let limited = silent().ended(1, 1, repeating(ErrorKind::RateLimit));
    assert!(waited_for(&limited).is_some(), "{:?}", limited.fact_names());
    for report in [repeating(ErrorKind::Network), quiet()] {
        let timed_out = silent().ended(1, 1, report);
        assert_eq!(timed_out.starts(), Some(key(2, 1)), "the iteration counts");
    }
}

// spec: L6
#[test]
fn how_an_agent_ended_that_was_stopped_for_its_repeats_decides_nothing() {
    let aborted =
        AttemptReport { repeating: repeating(ErrorKind::RateLimit).repeating, ..troubled(ErrorKind::Crash) };
    let scene = Scene::started(alone()).fires(Timer::Repeating { key: key(1, 1) }).ended(1, 1, aborted);
    assert!(waited_for(&scene).is_some(), "{:?}", scene.fact_names());
}

// spec: L7, A1
#[test]
fn an_agent_that_is_talked_to_has_so_long_to_open_a_session_and_fails_with_what_it_told() {
    let timer = Timer::Handshake { key: key(1, 1) };
    let scene = Scene::started(alone()).on(EventKind::HandshakeBegan { key: key(1, 1) });
    assert!(scene.does(&Effect::StartTimer { timer, after_ms: 120_000 }));
    let scene = scene.on(EventKind::HandshakeDone { key: key(1, 1) });
    assert!(scene.does(&Effect::CancelTimer { timer }));
    let scene = scene.fires(timer);
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    let scene = scene.ended(1, 1, troubled(ErrorKind::Crash));
    assert_eq!(scene.outcome(), Some(Outcome::Failed));
    assert_eq!(scene.reason(), "the agent opened no session in time: API error");
}

// spec: L12, L13
#[test]
fn an_agent_stopped_for_its_repeats_can_be_interrupted_and_is_done_again_after_a_crash() {
    let stopped = || Scene::started(alone()).fires(Timer::Repeating { key: key(1, 1) });
    let scene = stopped().signal(StopSignal::Int).ended(1, 1, repeating(ErrorKind::Network));
    assert_eq!(scene.outcome(), Some(Outcome::Interrupted));
    let scene = stopped().recovers();
    assert_eq!(scene.starts(), Some(key(1, 2)));
    let status = scene.facts().into_iter().find_map(|fact| match fact {
        Fact::AttemptEnded { result, .. } => Some(result.status),
        _ => None,
    });
    assert_eq!(status, Some(IterationStatus::Interrupted));
}
