//! Tests of agent sessions.
use super::builders::{
    LoopScenario, attempt_key, claiming_report, crash_report, error_report, lost_session_report, policy_with_checks,
    quiet_report, with_session,
};
use crate::attempt::{AgentErrorKind, AttemptReport, ModelSpend};
use crate::event::{LoopTimer, StopSignal};
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::policy::{ContextMode, Policy};
use crate::prompt::PromptPlan;

const WHOLE_PROMPT: PromptPlan = PromptPlan::Whole { feedback: None };
const CONTINUATION_PROMPT: PromptPlan = PromptPlan::Continuation { feedback: None };

fn continuing_policy() -> Policy {
    Policy { context: ContextMode::Continue, ..policy_with_checks(5) }
}

/// The second iteration, which continues the session of the first.
fn second_iteration() -> LoopScenario {
    LoopScenario::start_run(continuing_policy()).end_attempt(1, 1, with_session("s1", quiet_report()))
}

fn fresh_session_reason(scene: &LoopScenario) -> Option<&str> {
    scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::SessionFresh { reason, .. } => Some(reason.as_str()),
        _ => None,
    })
}

// spec: L10
#[test]
fn a_continued_run_resumes_the_session_of_the_last_attempt() {
    let scene = second_iteration();
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("s1"), 0)));
    let scene = scene.end_attempt(2, 1, with_session("s1", claiming_report())).deliver_verdict(2, 1, Verdict::Rejected);
    let (plan, session, _) = scene.start_details().unwrap();
    assert!(matches!(plan, PromptPlan::Continuation { feedback: Some(_) }), "with the reason");
    assert_eq!(session, Some("s1"));
}

// spec: L10
#[test]
fn a_fresh_run_and_an_agent_that_cannot_resume_start_every_iteration_from_the_whole_prompt() {
    let fresh = Policy { context: ContextMode::Fresh, ..continuing_policy() };
    let scene = LoopScenario::start_run(fresh).end_attempt(1, 1, with_session("s1", quiet_report()));
    assert_eq!(scene.start_details(), Some((WHOLE_PROMPT, None, 0)));
    let unable = AttemptReport { session: Some("s1".into()), ..quiet_report() };
    let scene = LoopScenario::start_run(continuing_policy()).end_attempt(1, 1, unable);
    assert_eq!(scene.start_details(), Some((WHOLE_PROMPT, None, 0)));
}

// spec: L10, L5
#[test]
fn a_lost_session_is_replaced_by_a_fresh_one_with_a_note_and_is_not_a_failure() {
    let scene = second_iteration().end_attempt(2, 1, lost_session_report());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "session.fresh", "attempt.started"]);
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 2)));
    assert_eq!(scene.start_details(), Some((WHOLE_PROMPT, None, 0)));
    assert!(fresh_session_reason(&scene).unwrap().starts_with("the agent's session cannot be resumed: "));
    let policy = Policy { max_retries: 0, ..continuing_policy() };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, with_session("s1", quiet_report())).end_attempt(
        2,
        1,
        lost_session_report(),
    );
    assert_eq!(scene.run_outcome(), None);
    assert_eq!(
        scene.end_attempt(2, 2, lost_session_report()).run_outcome(),
        Some(Outcome::Failed),
        "there was no session to lose"
    );
}

// spec: L10, L4
#[test]
fn the_fresh_start_after_a_lost_session_still_says_why_the_claim_was_rejected() {
    let scene = second_iteration().end_attempt(2, 1, with_session("s1", claiming_report())).deliver_verdict(
        2,
        1,
        Verdict::Rejected,
    );
    let (plan, _, _) = scene.end_attempt(3, 1, lost_session_report()).start_details().unwrap();
    assert!(matches!(plan, PromptPlan::Whole { feedback: Some(_) }));
}

// spec: L10
#[test]
fn a_new_session_in_place_of_the_requested_one_is_noted_and_its_work_counts() {
    let scene = second_iteration().end_attempt(2, 1, with_session("s2", quiet_report()));
    assert_eq!(fresh_session_reason(&scene), Some("the agent did not resume session s1 but started s2"));
    assert_eq!(scene.started_attempt(), Some(attempt_key(3, 1)));
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("s2"), 0)));
}

// spec: L10
#[test]
fn the_loop_continues_in_a_fresh_session_after_a_context_overflow() {
    let scene = second_iteration().end_attempt(2, 1, with_session("s1", error_report(AgentErrorKind::Context)));
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 2)));
    assert_eq!(scene.start_details(), Some((WHOLE_PROMPT, None, 0)));
    assert!(fresh_session_reason(&scene).is_some());
    let scene = scene.end_attempt(2, 2, with_session("s2", quiet_report()));
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("s2"), 0)));
}

// spec: L10, L5
#[test]
fn a_fresh_context_that_overflows_is_retried_fresh_until_the_retries_are_used_up() {
    let mut scene = LoopScenario::start_run(continuing_policy());
    for attempt in 1..=3 {
        scene = scene.end_attempt(1, attempt, with_session("s1", error_report(AgentErrorKind::Context)));
        scene = scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, attempt + 1) });
        assert_eq!(scene.start_details(), Some((WHOLE_PROMPT, None, 0)));
    }
    let scene = scene.end_attempt(1, 4, with_session("s1", error_report(AgentErrorKind::Context)));
    assert_eq!(scene.run_outcome(), Some(Outcome::Failed));
}

// spec: L10, L5
#[test]
fn a_retry_uses_the_same_prompt_in_the_same_session() {
    let scene = second_iteration()
        .end_attempt(2, 1, with_session("s1", crash_report()))
        .fire_timer(LoopTimer::Retry { key: attempt_key(2, 2) });
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("s1"), 0)));
    let first = LoopScenario::start_run(continuing_policy()).end_attempt(1, 1, with_session("s1", crash_report()));
    assert_eq!(
        first.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) }).start_details(),
        Some((WHOLE_PROMPT, None, 0))
    );
}

// spec: L10, L7
#[test]
fn the_session_of_a_timed_out_iteration_is_resumed() {
    let iteration_timer = LoopTimer::Iteration { key: attempt_key(1, 1) };
    let scene = LoopScenario::start_run(continuing_policy()).fire_timer(iteration_timer).end_attempt(
        1,
        1,
        with_session("s1", quiet_report()),
    );
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("s1"), 0)));
    let silence_timer = LoopTimer::Silence { key: attempt_key(2, 1) };
    let unnamed = AttemptReport { session: None, ..with_session("", quiet_report()) };
    let scene = scene.fire_timer(silence_timer).end_attempt(2, 1, unnamed);
    assert_eq!(scene.start_details(), Some((CONTINUATION_PROMPT, Some("s1"), 0)), "it did not report the id again");
}

// spec: L10, L8
#[test]
fn the_spending_of_a_resumed_session_is_known_unless_an_attempt_was_not_observed() {
    let used = |tokens| ModelSpend { input_tokens: Some(tokens), ..ModelSpend::default() };
    let using = |report, tokens| AttemptReport { spend: used(tokens), ..with_session("s1", report) };
    let known = |scene: &LoopScenario| scene.resumed_session().unwrap().spent.input_tokens;
    let scene = LoopScenario::start_run(continuing_policy()).end_attempt(1, 1, using(quiet_report(), 100));
    assert_eq!(known(&scene), Some(100));
    let failed =
        scene.end_attempt(2, 1, using(crash_report(), 20)).fire_timer(LoopTimer::Retry { key: attempt_key(2, 2) });
    assert_eq!(known(&failed), Some(120));
    let scene = failed.end_attempt(2, 2, using(quiet_report(), 3));
    assert_eq!(known(&scene), Some(123));
    let other = AttemptReport { spend: used(7), ..with_session("s2", quiet_report()) };
    let unseen = scene.recover_run();
    assert_eq!(known(&unseen), None);
    assert_eq!(known(&unseen.end_attempt(3, 2, other)), Some(7));
}

// spec: L10, L13
#[test]
fn a_session_survives_an_interruption_and_a_crash() {
    assert_eq!(second_iteration().recover_run().start_details(), Some((CONTINUATION_PROMPT, Some("s1"), 0)));
    let stopped = second_iteration().send_signal(StopSignal::Int).end_attempt(2, 1, with_session("s1", quiet_report()));
    assert_eq!(stopped.recover_run().start_details(), Some((CONTINUATION_PROMPT, Some("s1"), 0)));
    let checking = second_iteration().end_attempt(2, 1, with_session("s1", claiming_report())).recover_run();
    let next = checking.deliver_verdict(2, 1, Verdict::Rejected);
    assert_eq!(next.start_details().unwrap().1, Some("s1"));
}
