//! How runs end.
use super::*;
use crate::outcome::Outcome;

fn outcome(run: &TestRun) -> Option<Outcome> {
    run.end().map(GraphEnd::outcome)
}

fn failed_nodes(run: &TestRun) -> Vec<&str> {
    match run.end() {
        Some(GraphEnd::Failed(GraphFailure::Nodes(failed))) => failed.iter().map(|node| node.node.as_str()).collect(),
        other => panic!("{other:?}"),
    }
}

// spec: W7
#[test]
fn a_run_completes_with_the_output_of_its_first_sink_that_completed() {
    let nodes = vec![when("$INPUTS.mode == 'slow'", bash("a", &[])), bash("b", &[]), bash("c", &[])];
    let mut run = TestRun::of(nodes);
    run.complete("c", "from c");
    assert_eq!(outcome(&run), None);
    run.complete("b", "from b");
    let output = "from b".into();
    assert_eq!(run.end(), Some(&GraphEnd::Completed { output, proof: None }));
    assert!(matches!(run.effects.last(), Some(GraphEffect::Finish(_))));
}

// spec: W7
#[test]
fn a_failed_node_does_not_stop_others_and_the_run_names_it_at_the_end() {
    let mut run = TestRun::of(vec![bash("bad", &[]), bash("good", &[]), bash("after_good", &["good"])]);
    run.fail("bad", FailureKind::Permanent);
    run.complete("good", "");
    assert_eq!(outcome(&run), None);
    run.complete("after_good", "");
    assert_eq!(failed_nodes(&run), ["bad"]);
}

// spec: W7
#[test]
fn a_dependant_that_runs_in_spite_of_a_failure_absorbs_it() {
    for trigger_rule in [TriggerRule::AllDone, TriggerRule::OneSuccess] {
        let nodes = vec![bash("bad", &[]), bash("good", &[]), rule(trigger_rule, bash("join", &["bad", "good"]))];
        let mut run = TestRun::of(nodes);
        run.fail("bad", FailureKind::Permanent);
        run.complete("good", "");
        run.complete("join", "");
        assert_eq!(outcome(&run), Some(Outcome::Completed));
    }
}

// spec: W7
#[test]
fn a_dependant_that_is_skipped_by_its_condition_absorbs_nothing() {
    let dependant = rule(TriggerRule::AllDone, when("$INPUTS.mode == 'slow'", bash("b", &["bad"])));
    let mut run = TestRun::of(vec![bash("bad", &[]), dependant]);
    run.fail("bad", FailureKind::Permanent);
    assert_eq!(failed_nodes(&run), ["bad"]);
}

// spec: W7
#[test]
fn only_a_direct_dependant_absorbs_a_failure() {
    let mut run =
        TestRun::of(vec![bash("bad", &[]), bash("b", &["bad"]), rule(TriggerRule::AllDone, bash("c", &["b"]))]);
    run.fail("bad", FailureKind::Permanent);
    run.complete("c", "");
    assert_eq!(failed_nodes(&run), ["bad"]);
}

// spec: W7
#[test]
fn a_dependant_that_runs_and_fails_makes_the_run_fail_with_its_own_name() {
    let mut run = TestRun::of(vec![bash("bad", &[]), rule(TriggerRule::AllDone, bash("handler", &["bad"]))]);
    run.fail("bad", FailureKind::Permanent);
    run.fail("handler", FailureKind::Permanent);
    assert_eq!(failed_nodes(&run), ["handler"]);
}

fn with_result(returns: &str, outcome_field: Option<&str>, nodes: Vec<Node>) -> TestRun {
    let workflow = Workflow {
        returns: Some(NodeId(returns.to_string())),
        outcome_field: outcome_field.map(ToString::to_string),
        ..workflow(nodes)
    };
    TestRun::of_workflow(&workflow, 8)
}

// spec: W7
#[test]
fn the_result_is_the_output_of_the_node_that_the_workflow_returns() {
    let mut run = with_result("a", None, vec![bash("a", &[]), bash("b", &["a"])]);
    run.complete("a", "from a");
    run.complete("b", "from b");
    assert_eq!(run.end(), Some(&GraphEnd::Completed { output: "from a".into(), proof: None }));
}

// spec: W7
#[test]
fn a_run_without_its_result_fails() {
    let run = with_result("a", None, vec![when("$INPUTS.mode == 'slow'", bash("a", &[]))]);
    let node = NodeId("a".to_string());
    assert_eq!(run.end(), Some(&GraphEnd::Failed(GraphFailure::NoResult { node })));
}

// spec: W7
#[test]
fn a_run_completes_only_if_the_outcome_field_of_its_result_is_true() {
    let cases =
        [(r#"{"ok": true}"#, Outcome::Completed), (r#"{"ok": false}"#, Outcome::Failed), ("?", Outcome::Failed)];
    for (output, expected) in cases {
        let mut run = with_result("a", Some("ok"), vec![bash("a", &[])]);
        run.complete("a", output);
        assert_eq!(outcome(&run), Some(expected), "{output}");
    }
}

// spec: W3
#[test]
fn a_cancel_node_stops_what_runs_and_ends_the_run_with_its_reason() {
    let mut run = TestRun::of(vec![bash("a", &[]), agent("b", &[]), cancel("guard", &["a"]), bash("c", &["a"])]);
    let (b, _) = run.active["b"].clone();
    run.complete("a", "");
    assert!(run.effects.contains(&GraphEffect::Stop { activity: b }));
    assert_eq!((run.running(), outcome(&run)), (vec!["b"], None), "c does not start, b still stops");
    run.end_activity("b", ActivityResult::Stopped);
    let cause = GraphCancelCause::Node(NodeId("guard".to_string()));
    assert_eq!(run.end(), Some(&GraphEnd::Cancelled { cause, reason: "not on main".to_string() }));
}

// spec: W3
#[test]
fn a_cancel_node_whose_condition_is_false_cancels_nothing() {
    let mut run = TestRun::of(vec![bash("a", &[]), when("$a.output == 'main'", cancel("guard", &["a"]))]);
    run.complete("a", "feature");
    assert_eq!(outcome(&run), Some(Outcome::Completed));
}

// spec: L11
#[test]
fn a_cancelled_run_stops_its_activities_before_it_ends() {
    let mut run = TestRun::of(vec![agent("a", &[]), bash("b", &[]), bash("c", &["b"])]);
    run.send(GraphEvent::CancelRequested { reason: "wrong branch".to_string() });
    assert_eq!(run.effects.len(), 2, "two stops: {:?}", run.effects);
    run.end_activity("a", ActivityResult::Stopped);
    run.complete("b", "done in time");
    assert_eq!(
        run.end().unwrap(),
        &GraphEnd::Cancelled { cause: GraphCancelCause::Person, reason: "wrong branch".into() }
    );
    assert_eq!((run.outcome("b").as_str(), run.outcome("c").as_str()), ("completed done in time", "open"));
}

// spec: L8
#[test]
fn a_used_up_budget_stops_everything() {
    let mut run = TestRun::with_slots(vec![agent("a", &[]), agent("b", &[])], 1);
    run.send(GraphEvent::BudgetExhausted { reason: "max_cost".to_string() });
    run.end_activity("a", ActivityResult::Stopped);
    assert_eq!((outcome(&run), run.started), (Some(Outcome::OverBudget), vec!["a".to_string()]));
}

// spec: L12
#[test]
fn a_cancellation_replaces_an_interruption_and_nothing_replaces_a_cancellation() {
    let mut run = TestRun::of(vec![agent("a", &[])]);
    run.send(GraphEvent::InterruptRequested { reason: "SIGTERM".to_string() });
    run.send(GraphEvent::CancelRequested { reason: "no".to_string() });
    assert_eq!(run.effects, [], "the activity is stopping already");
    run.send(GraphEvent::InterruptRequested { reason: "SIGTERM".to_string() });
    run.end_activity("a", ActivityResult::Stopped);
    assert_eq!(outcome(&run), Some(Outcome::Cancelled));
}

// spec: L12
#[test]
fn a_run_without_activities_ends_at_once_when_it_is_stopped() {
    let mut run = TestRun::of(vec![approval("ask", &[], question("ok?"))]);
    run.send(GraphEvent::InterruptRequested { reason: "SIGTERM".to_string() });
    assert_eq!(outcome(&run), Some(Outcome::Interrupted));
}

// spec: V16
#[test]
fn the_proof_level_of_a_run_is_the_lowest_of_its_loops_and_checks() {
    let nodes = vec![agent_loop("loop", until_done(3)), checks("checks", &[]), agent("a", &[])];
    let mut run = TestRun::of(nodes);
    run.complete_with("loop", "", Some(ProofLevel::Proven));
    run.complete_with("checks", "", Some(ProofLevel::Checked));
    run.complete("a", "");
    assert_eq!(run.proof(), Some(ProofLevel::Checked));
}

// spec: V16
#[test]
fn a_run_without_loops_and_checks_is_unverified() {
    let mut run = TestRun::of(vec![agent("a", &[])]);
    run.complete("a", "");
    assert_eq!(run.proof(), Some(ProofLevel::Unverified));
}

// spec: V16
#[test]
fn loops_that_did_not_complete_do_not_lower_the_proof_level() {
    let handler = rule(TriggerRule::AllDone, checks("checks", &["loop"]));
    let mut run = TestRun::of(vec![agent_loop("loop", until_done(3)), handler]);
    run.fail("loop", FailureKind::Permanent);
    run.complete_with("checks", "", Some(ProofLevel::Proven));
    assert_eq!(run.proof(), Some(ProofLevel::Proven));
}
