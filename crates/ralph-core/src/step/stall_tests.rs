//! One test per sentence about runs that get nowhere.
use super::scenes::{Scene, claims, crashes, in_session, key, quiet, with_checks};
use crate::attempt::AttemptReport;
use crate::event::Timer;
use crate::evidence::Verdict;
use crate::outcome::{Outcome, exit_code};
use crate::policy::{Context, Policy};
use crate::prompt::PromptPlan;

fn breaks_after(iterations: u32, policy: Policy) -> Policy {
    Policy { stall_after: iterations, ..policy }
}

fn still(report: AttemptReport) -> AttemptReport {
    AttemptReport { has_moved: Some(false), ..report }
}

fn moving(report: AttemptReport) -> AttemptReport {
    AttemptReport { has_moved: Some(true), ..report }
}

// spec: L9
// fault: 90
#[test]
fn iterations_in_a_row_that_change_nothing_end_the_run_as_stalled() {
    let scene = Scene::started(breaks_after(3, Policy::new(9))).ended(1, 1, still(quiet()));
    let scene = scene.ended(2, 1, still(quiet()));
    assert_eq!(scene.starts(), Some(key(3, 1)));
    let scene = scene.ended(3, 1, still(quiet()));
    assert_eq!((scene.starts(), scene.outcome()), (None, Some(Outcome::Stalled)));
    assert_eq!(scene.exit_code(), Some(exit_code::STALLED));
    assert!(scene.reason().starts_with("3 iterations in a row changed neither a file"), "{}", scene.reason());
}

// spec: L9
// fault: 90
#[test]
fn one_that_changes_something_begins_the_row_anew() {
    let scene = Scene::started(breaks_after(2, Policy::new(9))).ended(1, 1, still(quiet()));
    let scene = scene.ended(2, 1, moving(quiet())).ended(3, 1, still(quiet()));
    assert_eq!(scene.starts(), Some(key(4, 1)));
    assert_eq!(scene.ended(4, 1, still(quiet())).outcome(), Some(Outcome::Stalled));
}

// spec: L9
#[test]
fn the_last_prompt_before_the_end_says_so_and_begins_afresh() {
    let policy = Policy { context: Context::Continue, ..breaks_after(3, Policy::new(9)) };
    let scene = Scene::started(policy).ended(1, 1, still(in_session("s1", quiet())));
    let (plan, session, _) = scene.started_with().unwrap();
    assert_eq!((plan, session), (PromptPlan::Continuation { feedback: None }, Some("s1")));
    let scene = scene.ended(2, 1, still(in_session("s1", quiet())));
    let (plan, session, _) = scene.started_with().unwrap();
    assert_eq!((plan, session), (PromptPlan::Stuck { still: 2, feedback: None }, None));
}

// spec: L9
#[test]
fn a_claim_outranks_a_stall_and_so_does_the_iteration_limit() {
    let stalling = |most| Scene::started(breaks_after(2, with_checks(most))).ended(1, 1, still(quiet()));
    let scene = stalling(9).ended(2, 1, still(claims()));
    assert_eq!(scene.outcome(), None, "it is verified first");
    assert_eq!(scene.verified(2, 1, Verdict::Accepted).outcome(), Some(Outcome::Completed));
    assert_eq!(stalling(2).ended(2, 1, still(quiet())).outcome(), Some(Outcome::Exhausted));
}

// spec: L9
#[test]
fn claims_that_are_rejected_for_the_same_reason_without_a_change_are_a_stall() {
    let rejected = |scene: Scene, iteration| {
        scene.ended(iteration, 1, still(claims())).verified(iteration, 1, Verdict::Rejected)
    };
    let scene = Scene::started(breaks_after(3, with_checks(9)));
    let scene = rejected(rejected(scene, 1), 2);
    assert_eq!(scene.starts(), Some(key(3, 1)));
    assert_eq!(rejected(scene, 3).outcome(), Some(Outcome::Stalled));
}

// spec: L9
#[test]
fn what_nobody_looked_at_may_have_changed_something() {
    let mut scene = Scene::started(breaks_after(1, Policy::new(9)));
    for iteration in 1..5 {
        scene = scene.ended(iteration, 1, quiet());
        assert_eq!(scene.starts(), Some(key(iteration + 1, 1)));
    }
}

// spec: L9
#[test]
fn a_change_of_any_attempt_is_a_change_of_its_iteration() {
    let scene = Scene::started(breaks_after(1, Policy::new(9))).ended(1, 1, moving(crashes()));
    let scene = scene.fires(Timer::Retry { key: key(1, 2) }).ended(1, 2, still(quiet()));
    assert_eq!(scene.starts(), Some(key(2, 1)));
    assert_eq!(scene.ended(2, 1, still(quiet())).outcome(), Some(Outcome::Stalled));
}

// spec: L9, L13
#[test]
fn an_attempt_that_was_cut_short_may_have_changed_something() {
    let scene = Scene::started(breaks_after(1, Policy::new(9))).recovers();
    assert_eq!(scene.ended(1, 2, still(quiet())).starts(), Some(key(2, 1)));
}
