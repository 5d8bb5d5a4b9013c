//! The costs of events, counted in visits of nodes, not in time.
use super::*;

/// Every node visit of a whole run of this graph: half of the nodes are in a chain, half beside each other before a join.
fn visits_of_run(size: usize) -> u64 {
    let mut run = TestRun::with_slots(chain_and_fan(size), 4);
    run_to_end(&mut run);
    run.state.visits.get()
}

fn chain_and_fan(size: usize) -> Vec<Node> {
    let ids: Vec<String> = (0..size / 2).map(|number| format!("n{number}")).collect();
    let mut nodes: Vec<Node> = ids.windows(2).map(|pair| bash(&pair[1], &[&pair[0]])).collect();
    nodes.push(bash(&ids[0], &[]));
    nodes.extend((0..size / 2).map(|number| agent(&format!("wide{number}"), &[])));
    let wide: Vec<String> = (0..size / 2).map(|number| format!("wide{number}")).collect();
    nodes.push(bash("join", &wide.iter().map(String::as_str).collect::<Vec<_>>()));
    nodes
}

fn run_to_end(run: &mut TestRun) {
    while let Some(name) = run.active.keys().next().cloned() {
        run.complete(&name, "");
    }
    assert_eq!(run.end().map(GraphEnd::outcome), Some(crate::outcome::Outcome::Completed));
}

/// `large` is the cost of ten times the work of `small`.
fn assert_linear(small: u64, large: u64) {
    assert!(small > 0, "nothing was counted");
    assert!(large <= small * 11, "{small} visits became {large}");
}

// spec: W3
#[test]
fn the_costs_of_a_run_grow_linearly_with_its_nodes() {
    assert_linear(visits_of_run(200), visits_of_run(2_000));
}

// spec: W3
#[test]
fn an_event_costs_no_more_in_a_large_graph_than_in_a_small_one() {
    let visits_of_event = |size: usize| {
        let mut run = TestRun::with_slots(chain_and_fan(size), 4);
        let before = run.state.visits.get();
        run.complete("n0", "");
        run.state.visits.get() - before
    };
    assert_eq!(visits_of_event(20), visits_of_event(2_000));
}

// spec: L13
#[test]
fn the_costs_of_a_resume_past_finished_nodes_grow_linearly() {
    let visits_of_resume = |size: usize| {
        let mut run = TestRun::with_slots(chain_and_fan(size), 4);
        for _ in 0..size - 10 {
            let name = run.active.keys().next().cloned().unwrap();
            run.complete(&name, "");
        }
        run.restart_process();
        run.state.visits.get()
    };
    assert_linear(visits_of_resume(200), visits_of_resume(2_000));
}

// spec: W3
#[test]
fn the_costs_of_a_loop_group_grow_linearly_with_its_iterations() {
    let visits_of_iterations = |iterations: u32| {
        let members = (0..10).map(|number| bash(&format!("m{number}"), &[])).collect();
        let mut run = TestRun::of(vec![group("g", &[], until_done(iterations), members)]);
        while let Some(name) = run.active.keys().next().cloned() {
            run.complete(&name, "");
        }
        run.state.visits.get()
    };
    assert_linear(visits_of_iterations(20), visits_of_iterations(200));
}

// spec: W3
#[test]
fn the_stored_rows_of_a_fan_out_grow_linearly_with_its_items() {
    let written_bytes = |count: u64| {
        let mut run = TestRun::of(vec![child("each", &[], fan_out(4, FanOutJoin::AllDone))]);
        let items = (0..count).map(|item| serde_json::Value::from(item % 10)).collect();
        run.end_activity("each", ActivityResult::ItemsFound(items));
        run_to_end(&mut run);
        run.written_bytes
    };
    assert_linear(written_bytes(100), written_bytes(1_000));
}
