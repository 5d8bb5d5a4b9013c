//! When nodes start, are skipped or fail before they start.
use super::*;

// spec: W3
#[test]
fn a_node_without_dependencies_starts_at_once() {
    let rules = [TriggerRule::AllSuccess, TriggerRule::OneSuccess, TriggerRule::NoneFailedMinOneSuccess];
    for trigger_rule in rules {
        assert_eq!(TestRun::of(vec![rule(trigger_rule, bash("a", &[]))]).running(), ["a"]);
    }
}

// spec: W3
#[test]
fn a_node_starts_when_its_own_dependencies_are_settled_and_not_for_a_whole_layer() {
    let mut run = TestRun::of(vec![bash("fast", &[]), bash("slow", &[]), bash("after_fast", &["fast"])]);
    run.complete("fast", "");
    assert_eq!(run.running(), ["after_fast", "slow"]);
}

// spec: W3
#[test]
fn a_node_waits_for_all_of_its_dependencies() {
    let mut run = TestRun::of(vec![bash("a", &[]), bash("b", &[]), bash("join", &["a", "b", "a"])]);
    run.complete("a", "");
    assert_eq!(run.running(), ["b"]);
    run.complete("b", "");
    assert_eq!(run.running(), ["join"]);
}

/// Returns whether a node with this rule runs after dependencies with these outcomes: `c`ompleted, `f`ailed, `s`kipped.
fn runs_after(trigger_rule: TriggerRule, outcomes: &str) -> bool {
    let ids: Vec<String> = (0..outcomes.len()).map(|number| format!("d{number}")).collect();
    let mut nodes: Vec<Node> = ids.iter().map(|id| bash(id, &[])).collect();
    for (dependency, outcome) in nodes.iter_mut().zip(outcomes.chars()) {
        if outcome == 's' {
            dependency.when = Some(Condition::parse("$INPUTS.mode == 'slow'").unwrap());
        }
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    nodes.push(rule(trigger_rule, bash("node", &ids)));
    let mut run = TestRun::of(nodes);
    for (id, outcome) in ids.iter().zip(outcomes.chars()) {
        match outcome {
            'c' => run.complete(id, ""),
            'f' => run.fail(id, FailureKind::Permanent),
            _ => assert_eq!(run.outcome(id), "skipped"),
        }
    }
    let is_running = run.running() == ["node"];
    assert_eq!(run.outcome("node"), if is_running { "open" } else { "skipped" });
    is_running
}

// spec: W3
#[test]
fn all_success_needs_every_dependency_to_complete() {
    let runs = |outcomes| runs_after(TriggerRule::AllSuccess, outcomes);
    assert!(runs("c") && runs("ccc"));
    assert!(!runs("cf") && !runs("cs") && !runs("s") && !runs("f"));
}

// spec: W3
#[test]
fn one_success_needs_one_dependency_to_complete() {
    let runs = |outcomes| runs_after(TriggerRule::OneSuccess, outcomes);
    assert!(runs("c") && runs("cf") && runs("sc") && runs("fsc"));
    assert!(!runs("f") && !runs("s") && !runs("fs"));
}

// spec: W3
#[test]
fn none_failed_min_one_success_needs_one_to_complete_and_none_to_fail() {
    let runs = |outcomes| runs_after(TriggerRule::NoneFailedMinOneSuccess, outcomes);
    assert!(runs("c") && runs("sc") && runs("ssc"));
    assert!(!runs("cf") && !runs("s") && !runs("f") && !runs("scf"));
}

// spec: W3
#[test]
fn all_done_needs_nothing_but_the_end_of_all_dependencies() {
    for outcomes in ["c", "f", "s", "cfs", "ff"] {
        assert!(runs_after(TriggerRule::AllDone, outcomes), "{outcomes}");
    }
}

// spec: W3
#[test]
fn the_dependants_of_a_skipped_node_are_skipped_too_and_name_it() {
    let nodes = vec![when("$INPUTS.mode == 'slow'", bash("a", &[])), bash("b", &["a"]), bash("c", &["b"])];
    let run = TestRun::of(nodes);
    assert_eq!((run.outcome("b"), run.outcome("c")), ("skipped".to_string(), "skipped".to_string()));
    let NodeState::Settled { outcome: NodeOutcome::Skipped(reason) } = run.state_of("c") else { panic!() };
    let because = NodeId("b".to_string());
    assert_eq!(*reason, SkipReason::TriggerRule { rule: TriggerRule::AllSuccess, because });
}

// spec: W3
#[test]
fn a_false_condition_skips_the_node_with_its_text() {
    let mut run = TestRun::of(vec![bash("a", &[]), when("$a.output == 'yes'", bash("b", &["a"]))]);
    run.complete("a", "no");
    let NodeState::Settled { outcome: NodeOutcome::Skipped(reason) } = run.state_of("b") else { panic!() };
    assert_eq!(*reason, SkipReason::ConditionFalse { condition: "$a.output == 'yes'".to_string() });
}

// spec: W3
#[test]
fn a_true_condition_starts_the_node() {
    let mut run = TestRun::of(vec![bash("a", &[]), when("$a.output.kind == 'bug'", bash("b", &["a"]))]);
    run.complete("a", r#"{"kind": "bug"}"#);
    assert_eq!(run.running(), ["b"]);
}

// spec: W3
#[test]
fn a_condition_on_the_field_of_a_skipped_node_fails_the_node() {
    let skipped = when("$INPUTS.mode == 'slow'", bash("a", &[]));
    let run = TestRun::of(vec![skipped, rule(TriggerRule::AllDone, when("$a.output.x == '1'", bash("b", &["a"])))]);
    let expected = "failed: `when` cannot be evaluated: $a.output.x: the node was skipped, so it has no field `x`";
    assert_eq!(run.outcome("b"), expected);
    assert_eq!(run.end().unwrap().outcome(), crate::outcome::Outcome::Failed);
}

// spec: W3
#[test]
fn a_condition_on_the_output_of_a_failed_node_fails_the_node() {
    let dependant = rule(TriggerRule::AllDone, when("$a.output == '1'", bash("b", &["a"])));
    let mut run = TestRun::of(vec![bash("a", &[]), dependant]);
    run.fail("a", FailureKind::Permanent);
    assert_eq!(run.outcome("b"), "failed: `when` cannot be evaluated: $a.output: the node has failed");
}

// spec: W3
#[test]
fn an_ordering_of_something_that_is_not_a_number_fails_the_node() {
    let mut run = TestRun::of(vec![bash("a", &[]), when("$a.output > 3", bash("b", &["a"]))]);
    run.complete("a", "many");
    assert!(run.outcome("b").starts_with("failed: `when` cannot be evaluated"), "{}", run.outcome("b"));
}

// spec: W3
#[test]
fn the_trigger_rule_decides_before_the_condition() {
    let mut run = TestRun::of(vec![bash("a", &[]), when("$a.output == '1'", bash("b", &["a"]))]);
    run.fail("a", FailureKind::Permanent);
    assert_eq!(run.outcome("b"), "skipped");
}

// spec: W8
#[test]
fn the_steps_of_a_steps_workflow_are_announced_and_parallel_ones_share_a_number() {
    let nodes = vec![agent("plan", &[]), agent("a", &["plan"]), agent("b", &["plan"]), agent("end", &["a", "b"])];
    let steps = Workflow { form: WorkflowForm::Steps, ..workflow(nodes) };
    let mut run = TestRun::of_workflow(&steps, 8);
    let announced = |run: &TestRun| -> Vec<(u32, u32)> {
        let step = |effect: &GraphEffect| {
            if let GraphEffect::Announce(GraphNotice::Step { number, total, .. }) = effect {
                Some((*number, *total))
            } else {
                None
            }
        };
        run.effects.iter().filter_map(step).collect()
    };
    assert_eq!(announced(&run), [(1, 3)]);
    run.complete("plan", "");
    assert_eq!(announced(&run), [(2, 3), (2, 3)]);
}

fn compile_error(nodes: Vec<Node>) -> GraphError {
    Graph::compile(&workflow(nodes)).unwrap_err()
}

// spec: W3
#[test]
fn invalid_graphs_are_not_compiled() {
    let cycle = vec![bash("a", &["c"]), bash("b", &["a"]), bash("c", &["b"])];
    assert_eq!(compile_error(cycle), GraphError::Cycle { key: "a".to_string() });
    assert_eq!(compile_error(vec![bash("a", &["a"])]), GraphError::Cycle { key: "a".to_string() });
    let twice = vec![bash("a", &[]), bash("a", &[])];
    assert_eq!(compile_error(twice), GraphError::DuplicateId { key: "a".to_string() });
    let unknown = GraphError::UnknownDependency { key: "g/a".to_string(), dependency: NodeId("outer".to_string()) };
    let nodes = vec![bash("outer", &[]), group("g", &[], until_done(1), vec![bash("a", &["outer"])])];
    assert_eq!(compile_error(nodes), unknown);
    let empty = vec![group("g", &[], until_done(1), Vec::new())];
    assert_eq!(compile_error(empty), GraphError::EmptyGroup { key: "g".to_string() });
    let unknown_result = Workflow { returns: Some(NodeId("z".to_string())), ..workflow(vec![bash("a", &[])]) };
    let error = Graph::compile(&unknown_result).unwrap_err();
    assert_eq!(error, GraphError::UnknownResult { node: NodeId("z".to_string()) });
}
