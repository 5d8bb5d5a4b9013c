//! One test per sentence about the sessions of agents.
use super::scenes::{Scene, claims, crashes, in_session, key, lost_session, quiet, troubled, with_checks};
use crate::attempt::{AttemptReport, ErrorKind, Spend};
use crate::event::{StopSignal, Timer};
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::policy::{Context, Policy};
use crate::prompt::PromptPlan;

const WHOLE: PromptPlan = PromptPlan::Whole { feedback: None };
const CONTINUED: PromptPlan = PromptPlan::Continuation { feedback: None };

fn continuing() -> Policy {
    Policy { context: Context::Continue, ..with_checks(5) }
}

/// The second iteration, which continues the session of the first.
fn second() -> Scene {
    Scene::started(continuing()).ended(1, 1, in_session("s1", quiet()))
}

fn note(scene: &Scene) -> Option<&str> {
    scene.facts().into_iter().find_map(|fact| match fact {
        Fact::SessionFresh { reason, .. } => Some(reason.as_str()),
        _ => None,
    })
}

// spec: L10
#[test]
fn a_continued_run_resumes_the_session_of_the_last_attempt() {
    let scene = second();
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("s1"), 0)));
    let scene = scene.ended(2, 1, in_session("s1", claims())).verified(2, 1, Verdict::Rejected);
    let (plan, session, _) = scene.started_with().unwrap();
    assert!(matches!(plan, PromptPlan::Continuation { feedback: Some(_) }), "with the reason");
    assert_eq!(session, Some("s1"));
}

// spec: L10
#[test]
fn a_fresh_run_and_an_agent_that_cannot_resume_start_every_iteration_from_the_whole_prompt() {
    let fresh = Policy { context: Context::Fresh, ..continuing() };
    let scene = Scene::started(fresh).ended(1, 1, in_session("s1", quiet()));
    assert_eq!(scene.started_with(), Some((WHOLE, None, 0)));
    let unable = AttemptReport { session: Some("s1".into()), ..quiet() };
    let scene = Scene::started(continuing()).ended(1, 1, unable);
    assert_eq!(scene.started_with(), Some((WHOLE, None, 0)));
}

// spec: L10, L5
#[test]
fn a_lost_session_falls_back_to_fresh_with_a_note_and_is_no_failure() {
    let scene = second().ended(2, 1, lost_session());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "session.fresh", "attempt.started"]);
    assert_eq!(scene.starts(), Some(key(2, 2)));
    assert_eq!(scene.started_with(), Some((WHOLE, None, 0)));
    assert!(note(&scene).unwrap().starts_with("the session of the agent cannot go on: "));
    let policy = Policy { max_retries: 0, ..continuing() };
    let scene = Scene::started(policy).ended(1, 1, in_session("s1", quiet())).ended(2, 1, lost_session());
    assert_eq!(scene.outcome(), None);
    assert_eq!(scene.ended(2, 2, lost_session()).outcome(), Some(Outcome::Failed), "there was none to lose");
}

// spec: L10, L4
#[test]
fn the_fresh_start_after_a_lost_session_still_says_why_the_claim_was_rejected() {
    let scene = second().ended(2, 1, in_session("s1", claims())).verified(2, 1, Verdict::Rejected);
    let (plan, _, _) = scene.ended(3, 1, lost_session()).started_with().unwrap();
    assert!(matches!(plan, PromptPlan::Whole { feedback: Some(_) }));
}

// spec: L10
#[test]
fn an_agent_that_silently_began_a_new_session_is_noted_and_its_work_counts() {
    let scene = second().ended(2, 1, in_session("s2", quiet()));
    assert_eq!(note(&scene), Some("the agent did not resume its session s1 but began s2"));
    assert_eq!(scene.starts(), Some(key(3, 1)));
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("s2"), 0)));
}

// spec: L10
#[test]
fn a_context_that_overflowed_goes_on_with_a_fresh_session() {
    let scene = second().ended(2, 1, in_session("s1", troubled(ErrorKind::Context)));
    assert_eq!(scene.starts(), Some(key(2, 2)));
    assert_eq!(scene.started_with(), Some((WHOLE, None, 0)));
    assert!(note(&scene).is_some());
    let scene = scene.ended(2, 2, in_session("s2", quiet()));
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("s2"), 0)));
}

// spec: L10, L5
#[test]
fn a_fresh_context_that_overflows_is_retried_fresh_and_not_for_ever() {
    let mut scene = Scene::started(continuing());
    for attempt in 1..=3 {
        scene = scene.ended(1, attempt, in_session("s1", troubled(ErrorKind::Context)));
        scene = scene.fires(Timer::Retry { key: key(1, attempt + 1) });
        assert_eq!(scene.started_with(), Some((WHOLE, None, 0)));
    }
    let scene = scene.ended(1, 4, in_session("s1", troubled(ErrorKind::Context)));
    assert_eq!(scene.outcome(), Some(Outcome::Failed));
}

// spec: L10, L5
#[test]
fn a_retry_is_the_same_start_again_the_same_prompt_into_the_same_session() {
    let scene = second().ended(2, 1, in_session("s1", crashes())).fires(Timer::Retry { key: key(2, 2) });
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("s1"), 0)));
    let first = Scene::started(continuing()).ended(1, 1, in_session("s1", crashes()));
    assert_eq!(first.fires(Timer::Retry { key: key(1, 2) }).started_with(), Some((WHOLE, None, 0)));
}

// spec: L10, L7
#[test]
fn the_session_of_an_iteration_that_timed_out_goes_on() {
    let too_long = Timer::Iteration { key: key(1, 1) };
    let scene = Scene::started(continuing()).fires(too_long).ended(1, 1, in_session("s1", quiet()));
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("s1"), 0)));
    let silent = Timer::Silence { key: key(2, 1) };
    let unnamed = AttemptReport { session: None, ..in_session("", quiet()) };
    let scene = scene.fires(silent).ended(2, 1, unnamed);
    assert_eq!(scene.started_with(), Some((CONTINUED, Some("s1"), 0)), "it did not name it again");
}

// spec: L10, L8
#[test]
fn what_a_session_has_used_is_known_when_it_is_resumed_unless_an_attempt_was_not_seen() {
    let used = |tokens| Spend { input_tokens: Some(tokens), ..Spend::default() };
    let using = |report, tokens| AttemptReport { spend: used(tokens), ..in_session("s1", report) };
    let known = |scene: &Scene| scene.resumed_session().unwrap().spent.input_tokens;
    let scene = Scene::started(continuing()).ended(1, 1, using(quiet(), 100));
    assert_eq!(known(&scene), Some(100));
    let failed = scene.ended(2, 1, using(crashes(), 20)).fires(Timer::Retry { key: key(2, 2) });
    assert_eq!(known(&failed), Some(120));
    let scene = failed.ended(2, 2, using(quiet(), 3));
    assert_eq!(known(&scene), Some(123));
    let other = AttemptReport { spend: used(7), ..in_session("s2", quiet()) };
    let unseen = scene.recovers();
    assert_eq!(known(&unseen), None);
    assert_eq!(known(&unseen.ended(3, 2, other)), Some(7));
}

// spec: L10, L13
#[test]
fn a_session_survives_an_interruption_and_a_crash() {
    assert_eq!(second().recovers().started_with(), Some((CONTINUED, Some("s1"), 0)));
    let stopped = second().signal(StopSignal::Int).ended(2, 1, in_session("s1", quiet()));
    assert_eq!(stopped.recovers().started_with(), Some((CONTINUED, Some("s1"), 0)));
    let checking = second().ended(2, 1, in_session("s1", claims())).recovers();
    let next = checking.verified(2, 1, Verdict::Rejected);
    assert_eq!(next.started_with().unwrap().1, Some("s1"));
}
