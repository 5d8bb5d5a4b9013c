//! Child runs, and fan-outs over lists that are found at run time.
use serde_json::json;

use super::*;
use crate::outcome::Outcome;

fn with_items(count: u64, max_parallel: u32, join: FanOutJoin) -> TestRun {
    let mut run = TestRun::of(vec![child("each", &[], fan_out(max_parallel, join)), bash("next", &["each"])]);
    assert_eq!(run.active["each"].1.action, ActivityAction::FindItems);
    run.end_activity("each", ActivityResult::ItemsFound((0..count).map(|item| json!({ "n": item })).collect()));
    run
}

// spec: W3
#[test]
fn each_item_gets_a_child_run_with_its_value_and_at_most_max_parallel_run() {
    let mut run = with_items(4, 2, FanOutJoin::AllDone);
    assert_eq!(run.running(), ["each#0", "each#1"]);
    assert_eq!(run.active["each#1"].1.action, ActivityAction::RunItem { value: json!({ "n": 1 }) });
    run.complete("each#1", "");
    assert_eq!(run.running(), ["each#0", "each#2"]);
}

// spec: W3
#[test]
fn the_results_are_in_the_order_of_the_items_and_failures_are_data() {
    let mut run = with_items(4, 4, FanOutJoin::AllDone);
    run.complete("each#3", "42");
    let failure = NodeFailure {
        reason: "limit".to_string(),
        kind: FailureKind::Permanent,
        child_outcome: Some(Outcome::Exhausted),
    };
    run.end_activity("each#1", ActivityResult::Failed(failure));
    run.complete("each#2", r#"{"ok": true}"#);
    run.complete("each#0", "plain");
    let NodeState::Settled { outcome: NodeOutcome::Completed { output, .. } } = run.state_of("each") else { panic!() };
    let expected = json!([
        "plain",
        { "archon_failed": true, "error": "limit", "status": "exhausted" },
        { "ok": true },
        "42",
    ]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(output.text()).unwrap(), expected);
    assert_eq!(run.running(), ["next"]);
}

// spec: W3
#[test]
fn with_all_success_a_failed_item_fails_the_node_after_the_running_ones_and_starts_no_more() {
    let mut run = with_items(5, 2, FanOutJoin::AllSuccess);
    run.fail("each#1", FailureKind::Permanent);
    assert_eq!(run.running(), ["each#0"]);
    run.complete("each#0", "");
    assert_eq!(run.outcome("each"), "failed: item 2 of 5 failed: each#1 broke");
}

// spec: W3
#[test]
fn with_all_success_the_node_completes_if_all_items_do() {
    let mut run = with_items(2, 2, FanOutJoin::AllSuccess);
    run.complete("each#1", "b");
    run.complete("each#0", "a");
    assert_eq!(run.outcome("each"), r#"completed ["a","b"]"#);
}

// spec: W3
#[test]
fn a_fan_out_over_no_items_completes_with_an_empty_list() {
    let run = with_items(0, 2, FanOutJoin::AllSuccess);
    assert_eq!((run.outcome("each").as_str(), run.running()), ("completed []", vec!["next"]));
}

// spec: W3
#[test]
fn a_list_that_is_not_found_fails_the_node() {
    let mut run = TestRun::of(vec![child("each", &[], fan_out(2, FanOutJoin::AllDone))]);
    run.fail("each", FailureKind::Transient);
    assert_eq!(run.outcome("each"), "failed: each broke");
}

// spec: V16
#[test]
fn the_proof_level_of_a_fan_out_is_the_lowest_of_its_children() {
    let mut run = with_items(2, 2, FanOutJoin::AllDone);
    run.complete_with("each#0", "", Some(ProofLevel::Proven));
    run.complete_with("each#1", "", Some(ProofLevel::Checked));
    run.complete("next", "");
    assert_eq!(run.proof(), Some(ProofLevel::Checked));
}

// spec: W13
#[test]
fn a_run_parks_when_its_children_wait_for_a_person_and_continues_with_them() {
    let mut run = TestRun::of(vec![child("child", &[], None)]);
    let (activity, _) = run.active["child"].clone();
    run.send(GraphEvent::ChildParked { activity });
    assert_eq!(run.effects, [GraphEffect::Park]);
    run.send(GraphEvent::ChildResumed { activity });
    assert_eq!(*run.state.phase(), GraphPhase::Running);
    run.complete("child", "done");
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Completed));
}

// spec: L13
#[test]
fn after_a_crash_ended_items_are_kept_and_running_ones_continue() {
    let mut run = with_items(4, 2, FanOutJoin::AllDone);
    run.complete("each#0", "first");
    run.restart_process();
    assert_eq!(run.running(), ["each#1", "each#2"]);
    assert!(run.active["each#1"].1.is_recovery && run.active["each#2"].1.is_recovery);
    run.complete("each#1", "");
    assert!(!run.active["each#3"].1.is_recovery);
    run.complete("each#2", "");
    run.complete("each#3", "");
    assert_eq!(run.outcome("each"), r#"completed ["first","","",""]"#);
}

// spec: L13, W13
#[test]
fn a_parked_child_is_continued_by_the_next_process() {
    let mut run = with_items(1, 2, FanOutJoin::AllDone);
    let (activity, _) = run.active["each#0"].clone();
    run.send(GraphEvent::ChildParked { activity });
    run.restart_process();
    assert!(run.active["each#0"].1.is_recovery);
    let mut run = TestRun::of(vec![child("child", &[], None)]);
    let (activity, _) = run.active["child"].clone();
    run.send(GraphEvent::ChildParked { activity });
    run.restart_process();
    assert!(run.active["child"].1.is_recovery);
}

// spec: L12
#[test]
fn an_interrupted_fan_out_starts_no_more_items_and_parked_ones_report_their_end_too() {
    let mut run = with_items(3, 2, FanOutJoin::AllDone);
    let (parked, _) = run.active["each#0"].clone();
    run.send(GraphEvent::ChildParked { activity: parked });
    run.send(GraphEvent::InterruptRequested { reason: "SIGTERM".to_string() });
    run.end_activity("each#1", ActivityResult::Stopped);
    assert_eq!(run.end(), None);
    run.end_activity("each#0", ActivityResult::Stopped);
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Interrupted));
}

// spec: L13
#[test]
fn after_a_failure_and_a_crash_items_that_had_started_continue_and_no_others_start() {
    let mut run = with_items(4, 2, FanOutJoin::AllSuccess);
    run.fail("each#0", FailureKind::Permanent);
    run.restart_process();
    assert_eq!(run.running(), ["each#1"]);
    run.complete("each#1", "");
    assert_eq!(run.outcome("each"), "failed: item 1 of 4 failed: each#0 broke");
}

// spec: W13
#[test]
fn a_child_that_reports_twice_that_it_waits_is_counted_once() {
    let mut run = TestRun::of(vec![child("child", &[], None), child("other", &[], None)]);
    let (activity, _) = run.active["child"].clone();
    run.send(GraphEvent::ChildParked { activity });
    run.send(GraphEvent::ChildParked { activity });
    assert_eq!((run.state.running_activities(), run.effects.len()), (1, 0));
}

// spec: W13
#[test]
fn a_parked_child_that_ends_is_not_counted_as_parked_any_more() {
    let mut run = TestRun::of(vec![child("child", &[], None), child("other", &[], None)]);
    let (activity, _) = run.active["child"].clone();
    run.send(GraphEvent::ChildParked { activity });
    run.complete("child", "");
    assert_eq!(run.state.running_activities(), 1);
}
