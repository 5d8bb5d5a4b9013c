//! Interruptions, crashes and resumed runs.
use super::*;
use crate::outcome::Outcome;

// spec: L13, W7
#[test]
fn after_a_crash_running_nodes_run_again_and_finished_ones_do_not() {
    let mut run = TestRun::of(vec![bash("a", &[]), agent("b", &["a"]), bash("c", &["b"])]);
    run.complete("a", "whole output");
    run.restart_process();
    assert_eq!(run.running(), ["b"]);
    let (activity, work) = run.active["b"].clone();
    assert_eq!((activity.start, work.is_recovery, work.attempt), (2, true, 1));
    assert_eq!(run.outcome("a"), "completed whole output");
    run.complete("b", "");
    run.complete("c", "");
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Completed));
}

// spec: L13
#[test]
fn a_crash_does_not_use_up_a_retry() {
    let mut run = TestRun::of(vec![agent("a", &[])]);
    run.fail("a", FailureKind::Transient);
    run.restart_process();
    assert_eq!(run.timers["a"].1, 3_000, "the delay starts again");
    run.expire_timer("a");
    run.restart_process();
    assert_eq!(run.active["a"].1.attempt, 2);
    run.fail("a", FailureKind::Transient);
    run.expire_timer("a");
    run.fail("a", FailureKind::Transient);
    assert_eq!(run.outcome("a"), "failed: a broke");
}

// spec: L12, L13
#[test]
fn an_interrupted_run_keeps_what_completed_in_time_and_repeats_the_rest() {
    let mut run = TestRun::of(vec![agent("a", &[]), agent("b", &[]), bash("c", &["a"])]);
    run.send(GraphEvent::InterruptRequested { reason: "SIGTERM".to_string() });
    run.complete("a", "in time");
    run.fail("b", FailureKind::Permanent);
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Interrupted));
    run.restart_process();
    assert_eq!((run.running(), run.outcome("a").as_str()), (vec!["b", "c"], "completed in time"));
    assert!(run.active["b"].1.is_recovery && !run.active["c"].1.is_recovery);
}

// spec: W3
#[test]
fn an_always_run_node_runs_again_on_resume_and_others_wait_for_it() {
    let setup = Node { always_run: true, ..bash("setup", &[]) };
    let mut run = TestRun::of(vec![setup, bash("done", &["setup"]), bash("ask", &["done", "setup"])]);
    run.complete("setup", "1");
    run.complete("done", "");
    run.restart_process();
    assert_eq!(run.running(), ["ask", "setup"]);
}

// spec: L13
#[test]
fn a_cancellation_that_was_stored_before_a_crash_ends_the_run() {
    let mut run = TestRun::of(vec![agent("a", &[])]);
    run.send(GraphEvent::CancelRequested { reason: "no".to_string() });
    run.restart_process();
    assert_eq!((run.end().map(GraphEnd::outcome), run.running()), (Some(Outcome::Cancelled), vec![]));
}

// spec: L13
#[test]
fn a_finished_run_that_is_restored_repeats_its_end() {
    let mut run = TestRun::of(vec![bash("bad", &[]), bash("a", &[]), rule(TriggerRule::AllDone, bash("b", &["bad"]))]);
    run.fail("bad", FailureKind::Permanent);
    run.complete("a", "");
    run.complete("b", "");
    let end = run.end().cloned();
    assert_eq!(end.as_ref().map(GraphEnd::outcome), Some(Outcome::Completed));
    run.restart_process();
    assert_eq!(run.end().cloned(), end);
}

// spec: L13
#[test]
fn a_rejection_and_its_rework_survive_a_crash() {
    let on_reject = Some(crate::workflow::RejectRework { prompt: "fix".to_string(), max_attempts: 1 });
    let ask = ApprovalNode { on_reject, ..question("ok?") };
    let mut run = TestRun::with_slots(vec![agent("busy", &[]), approval("ask", &[], ask)], 1);
    run.answer("ask", PersonAnswer::Reject { text: "no".to_string() });
    assert_eq!(run.running(), ["busy"], "the rework waits for a slot");
    run.restart_process();
    run.complete("busy", "");
    let expected = ActivityAction::Rework { reason: "no".to_string(), round: 1 };
    assert_eq!(run.active["ask"].1.action, expected);
}

// spec: L13
#[test]
fn a_gate_that_is_reached_while_the_run_stops_is_asked_on_resume() {
    let control = LoopControl { interactive: true, ..until_done(3) };
    let mut run = TestRun::of(vec![agent_loop("loop", control)]);
    run.send(GraphEvent::InterruptRequested { reason: "SIGTERM".to_string() });
    let gate = LoopGate { iteration: 1, output: "draft".into(), is_claimed: true, proof: ProofLevel::Unverified };
    run.end_activity("loop", ActivityResult::ReachedGate(gate));
    assert_eq!(run.questions.len(), 0);
    run.restart_process();
    assert_eq!(run.questions.len(), 1);
}

// spec: L13
#[test]
fn the_process_is_started_once() {
    let mut run = TestRun::of(vec![bash("a", &[])]);
    run.send(GraphEvent::Started);
    assert_eq!(run.effects, []);
}

// spec: L8, L19
#[test]
fn a_run_that_had_used_up_its_budget_continues_once_its_stored_end_is_cleared() {
    let mut run = TestRun::of(vec![agent("a", &[])]);
    run.send(GraphEvent::BudgetExhausted { reason: "max_cost".to_string() });
    run.end_activity("a", ActivityResult::Stopped);
    run.restart_process();
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::OverBudget), "the end is repeated");
    run.stopping = None;
    run.restart_process();
    assert_eq!((run.running(), run.active["a"].1.is_recovery), (vec!["a"], true));
}

// spec: L12
#[test]
fn an_activity_that_the_executor_could_not_begin_interrupts_the_run() {
    let mut run = TestRun::of(vec![agent("a", &[]), bash("b", &[])]);
    let (b, _) = run.active["b"].clone();
    run.end_activity("a", ActivityResult::Stopped);
    assert_eq!(run.effects, [GraphEffect::Stop { activity: b }]);
    run.end_activity("b", ActivityResult::Stopped);
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Interrupted));
    run.restart_process();
    assert_eq!(run.running(), ["a", "b"]);
}

// spec: L11
#[test]
fn a_run_that_is_cancelled_before_it_starts_starts_nothing() {
    let mut run = TestRun::of(vec![bash("a", &[])]);
    run.state = GraphState::new(&run.graph, run.settings.clone());
    run.active.clear();
    run.send(GraphEvent::CancelRequested { reason: "no".to_string() });
    run.send(GraphEvent::Started);
    assert_eq!((run.end().map(GraphEnd::outcome), run.running()), (Some(Outcome::Cancelled), vec![]));
}
