//! Runs from a node on, and resumed failed runs.
use super::*;
use crate::outcome::Outcome;

fn keys(run: &TestRun, nodes: impl Iterator<Item = NodeIndex>) -> Vec<String> {
    nodes.map(|node| run.graph.node(node).unwrap().key.clone()).collect()
}

/// `a` before `b` before `c`, `d` beside them; all completed.
fn finished() -> TestRun {
    let mut run = TestRun::of(vec![bash("a", &[]), bash("b", &["a"]), bash("c", &["b"]), bash("d", &[])]);
    for node in ["a", "d", "b", "c"] {
        run.complete(node, node);
    }
    run
}

// spec: W12
#[test]
fn a_rerun_from_a_node_repeats_it_and_all_that_depends_on_it() {
    let run = finished();
    let plan = RerunPlan::from_node(&run.graph, &run.state, run.index("b"));
    assert_eq!(keys(&run, plan.repeated()), ["b", "c"]);
    assert_eq!(keys(&run, plan.reused(&run.graph)), ["a", "d"]);
}

// spec: W12
#[test]
fn the_new_run_starts_at_the_node_with_the_reused_outputs() {
    let mut run = finished();
    let plan = RerunPlan::from_node(&run.graph, &run.state, run.index("b"));
    let rows = plan.reused_rows(&run.graph, &run.stored());
    run.nodes = rows.nodes.into_iter().map(|row| ((row.key.clone(), row.generation), row)).collect();
    run.restart_process();
    assert_eq!((run.running(), run.outcome("a").as_str()), (vec!["b"], "completed a"));
    run.complete("b", "");
    run.complete("c", "");
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Completed));
}

// spec: W12
#[test]
fn a_rerun_from_a_node_of_a_group_repeats_the_group() {
    let mut run = TestRun::of(vec![bash("a", &[]), group("g", &["a"], until_done(2), vec![bash("x", &[])])]);
    run.complete("a", "");
    run.complete("g/x", "DONE");
    let plan = RerunPlan::from_node(&run.graph, &run.state, run.index("g/x"));
    assert_eq!(keys(&run, plan.repeated()), ["g"]);
    let rows = plan.reused_rows(&run.graph, &run.stored());
    assert_eq!(rows.nodes.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["a"]);
}

// spec: W12
#[test]
fn nodes_that_failed_or_did_not_finish_are_not_reused() {
    let mut run = TestRun::of(vec![bash("bad", &[]), bash("after", &["bad"]), bash("open", &[]), bash("x", &[])]);
    run.fail("bad", FailureKind::Permanent);
    run.complete("x", "");
    let plan = RerunPlan::from_node(&run.graph, &run.state, run.index("x"));
    assert_eq!(keys(&run, plan.repeated()), ["bad", "after", "open", "x"]);
}

// spec: W12
#[test]
fn an_absorbed_failure_is_reused() {
    let nodes = vec![bash("bad", &[]), rule(TriggerRule::AllDone, bash("handler", &["bad"])), bash("x", &["handler"])];
    let mut run = TestRun::of(nodes);
    run.fail("bad", FailureKind::Permanent);
    run.complete("handler", "");
    run.complete("x", "");
    let plan = RerunPlan::from_node(&run.graph, &run.state, run.index("x"));
    assert_eq!(keys(&run, plan.reused(&run.graph)), ["bad", "handler"]);
}

// spec: W7
#[test]
fn a_failed_run_resumes_at_its_failed_nodes_and_their_dependants() {
    let mut run = TestRun::of(vec![bash("a", &[]), bash("bad", &["a"]), bash("c", &["bad"])]);
    run.complete("a", "kept");
    run.fail("bad", FailureKind::Permanent);
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Failed));
    let plan = RerunPlan::from_failures(&run.graph, &run.state);
    for row in plan.reset_rows(&run.graph, &run.stored()) {
        run.nodes.insert((row.key.clone(), row.generation), row);
    }
    run.restart_process();
    assert_eq!(run.running(), ["bad"]);
    assert_eq!(run.active["bad"].0.start, 2, "activities continue to count");
    run.complete("bad", "");
    run.complete("c", "");
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Completed));
}

// spec: W7
#[test]
fn a_repeated_group_begins_at_its_first_iteration_with_new_rows() {
    let mut run = TestRun::of(vec![group("g", &[], until_done(2), vec![bash("x", &[])])]);
    run.complete("g/x", "1");
    run.complete("g/x", "2");
    let plan = RerunPlan::from_failures(&run.graph, &run.state);
    for row in plan.reset_rows(&run.graph, &run.stored()) {
        run.nodes.insert((row.key.clone(), row.generation), row);
    }
    run.restart_process();
    let progress = run.state.group_progress(run.index("g")).unwrap();
    assert_eq!((progress.iteration, progress.generation), (1, 3));
    assert_eq!(run.state.previous_outputs(&run.graph, run.index("g/x")), None);
    run.restart_process();
    assert_eq!(run.running(), ["g/x"]);
    run.complete("g/x", "DONE");
    assert_eq!(run.outcome("g"), "completed DONE");
}

// spec: W7, L13
#[test]
fn a_repeated_fan_out_does_not_take_the_results_of_its_earlier_list_after_a_crash() {
    let mut run = TestRun::of(vec![child("each", &[], fan_out(1, FanOutJoin::AllSuccess))]);
    run.end_activity("each", ActivityResult::ItemsFound(vec![1.into(), 2.into()]));
    run.complete("each#0", "of the first list");
    run.fail("each#1", FailureKind::Permanent);
    let plan = RerunPlan::from_failures(&run.graph, &run.state);
    for row in plan.reset_rows(&run.graph, &run.stored()) {
        run.nodes.insert((row.key.clone(), row.generation), row);
    }
    run.restart_process();
    run.end_activity("each", ActivityResult::ItemsFound(vec![3.into(), 4.into()]));
    run.restart_process();
    assert_eq!(run.running(), ["each#0"]);
    run.complete("each#0", "c");
    run.complete("each#1", "d");
    assert_eq!(run.outcome("each"), r#"completed ["c","d"]"#);
}
