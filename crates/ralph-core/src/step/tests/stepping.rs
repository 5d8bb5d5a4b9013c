//! Tests of runs that wait for their caller after each iteration, as the loops of workflows do.
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::builders::{LoopScenario, attempt_key, quiet_report};
use crate::event::{EventKind, LifecycleEvent, VerifiedCompletion};
use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::Outcome;
use crate::policy::{IterationStepping, Policy};
use crate::prompt::{FeedbackKind, PromptPlan, RejectionFeedback};

fn stepping_policy(max_iterations: u32) -> Policy {
    Policy { stepping: IterationStepping::OneByOne, stall_after: 3, ..Policy::new(max_iterations) }
}

fn recovered() -> EventKind {
    EventKind::Lifecycle(LifecycleEvent::Recovered { changed: Vec::new(), orders: Vec::new() })
}

// spec: W4
#[test]
fn a_stepped_run_waits_for_its_caller_after_each_iteration_and_keeps_its_counts() {
    let scene = LoopScenario::start_run(stepping_policy(3)).end_attempt(1, 1, quiet_report());
    assert!(matches!(scene.state.phase, LoopPhase::Interrupted { .. }), "{:?}", scene.state.phase);
    assert_eq!(scene.started_attempt(), None);
    let stall = scene.state.stall.clone();
    let scene = scene.play_event(recovered());
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    assert_eq!(scene.state.stall, stall);
}

// spec: W4
#[test]
fn a_stepped_run_that_is_closed_has_ended_for_good() {
    let closed = EventKind::Lifecycle(LifecycleEvent::Closed { reason: "`make` exited with 0".to_string() });
    let scene =
        LoopScenario::start_run(stepping_policy(3)).end_attempt(1, 1, quiet_report()).play_event(closed.clone());
    let ended = scene.state.run_end().unwrap();
    assert_eq!((ended.outcome, ended.exit_code), (Outcome::Exhausted, 0));
    assert!(!scene.state.can_resume());
    let running = LoopScenario::start_run(stepping_policy(3)).play_event(closed);
    assert!(matches!(running.state.phase, LoopPhase::Working { .. }), "only a run that waits is closed");
}

// spec: W4
#[test]
fn a_stepped_run_ends_at_its_limit_as_every_run() {
    let scene = LoopScenario::start_run(stepping_policy(1)).end_attempt(1, 1, quiet_report());
    assert_eq!(scene.state.run_end().unwrap().outcome, Outcome::Exhausted);
    assert!(!scene.state.can_resume());
}

fn verified(claim: Option<&str>, verdict: Verdict) -> EventKind {
    let check =
        CheckEvidence::without_output(EvidenceKind::External, "make".to_string(), verdict, "exit 2".to_string());
    let completion = VerifiedCompletion {
        claim: claim.map(ToString::to_string),
        evidence: Evidence { checks: vec![CheckEvidence { tail: "no rule".to_string(), ..check }] },
    };
    EventKind::Lifecycle(LifecycleEvent::CompletionVerified { completion })
}

fn after_iteration() -> LoopScenario {
    LoopScenario::start_run(stepping_policy(5)).end_attempt(1, 1, quiet_report())
}

fn feedback(scene: &LoopScenario) -> Option<RejectionFeedback> {
    match &scene.state.phase {
        LoopPhase::Interrupted { left: ResumePoint::Between { plan: PromptPlan::Whole { feedback }, .. }, .. } => {
            feedback.clone()
        }
        LoopPhase::Interrupted {
            left: ResumePoint::Between { plan: PromptPlan::Continuation { feedback }, .. },
            ..
        } => feedback.clone(),
        phase => panic!("{phase:?}"),
    }
}

// spec: W4, S13
#[test]
fn a_completion_that_a_check_rejects_is_explained_in_the_next_prompt() {
    let scene = after_iteration().play_event(verified(Some("`until_bash` exited with 0"), Verdict::Rejected));
    let told = feedback(&scene).unwrap();
    assert_eq!(told.kind, FeedbackKind::RejectedCompletion);
    assert!(told.reason.starts_with("`until_bash` exited with 0, but "), "{}", told.reason);
    assert!(told.reason.contains("exit 2"), "{}", told.reason);
    assert_eq!(told.tail, "no rule");
}

// spec: W4
#[test]
fn a_command_that_says_not_yet_leaves_the_prompt_as_it_is() {
    let scene = after_iteration().play_event(verified(None, Verdict::Rejected));
    assert_eq!(feedback(&scene), None);
    let accepted = after_iteration().play_event(verified(Some("it exited with 0"), Verdict::Accepted));
    assert_eq!(feedback(&accepted), None);
}

// spec: W4, V7
#[test]
fn a_completion_that_cannot_be_evaluated_twice_in_a_row_blocks_the_run() {
    let blind = || verified(None, Verdict::CouldNotEvaluate);
    let next = |scene: LoopScenario, number| scene.play_event(recovered()).end_attempt(number, 1, quiet_report());
    let once = after_iteration().play_event(blind());
    assert!(feedback(&once).unwrap().reason.contains("could not be evaluated"));
    let twice = next(once, 2).play_event(blind());
    let end = twice.state.run_end().unwrap();
    assert_eq!(end.outcome, Outcome::Blocked);
    assert!(end.reason.contains("the loop cannot be evaluated"), "{}", end.reason);
    let between = next(after_iteration().play_event(blind()), 2).play_event(verified(None, Verdict::Rejected));
    let again = next(between, 3).play_event(blind());
    assert!(again.state.can_resume(), "a verdict in between starts the count again: {:?}", again.state.phase);
}

// spec: W4, V7
#[test]
fn a_run_that_works_takes_no_verdict_of_its_caller() {
    let scene = LoopScenario::start_run(stepping_policy(3));
    let phase = scene.state.phase.clone();
    assert_eq!(scene.play_event(verified(None, Verdict::CouldNotEvaluate)).state.phase, phase);
}
