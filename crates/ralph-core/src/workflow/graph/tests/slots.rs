//! Limits of parallel work, and the order of starting.
use super::*;

// spec: W3
#[test]
fn agents_share_the_slots_and_start_in_the_order_of_the_file() {
    let nodes = vec![agent("d", &[]), agent("a", &[]), agent("c", &[]), agent_loop("b", until_done(3))];
    let mut run = TestRun::with_slots(nodes, 2);
    assert_eq!(run.started, ["d", "a"]);
    run.complete("a", "");
    run.complete("d", "");
    assert_eq!(run.started, ["d", "a", "c", "b"]);
}

// spec: W3
#[test]
fn an_earlier_node_that_becomes_ready_later_starts_before_queued_later_nodes() {
    let nodes = vec![agent("early", &["gate"]), bash("gate", &[]), agent("x", &[]), agent("y", &[])];
    let mut run = TestRun::with_slots(nodes, 1);
    assert_eq!(run.running(), ["gate", "x"]);
    run.complete("gate", "");
    run.complete("x", "");
    assert_eq!(run.running(), ["early"]);
}

// spec: W3
#[test]
fn commands_need_no_slot_and_have_a_limit_of_their_own() {
    let commands = (0..10).map(|number| bash(&format!("b{number}"), &[]));
    let mut run = TestRun::with_slots(commands.chain([agent("a", &[])]).collect(), 1);
    assert_eq!(run.running().len(), 9, "8 commands and the agent");
    run.complete("b0", "");
    assert_eq!(run.running().len(), 9);
}

// spec: W3
#[test]
fn zero_slots_are_one_slot() {
    assert_eq!(TestRun::with_slots(vec![agent("a", &[]), agent("b", &[])], 0).running(), ["a"]);
}

// spec: W4
#[test]
fn a_loop_at_its_gate_frees_its_slot() {
    let interactive = LoopControl { interactive: true, ..until_done(3) };
    let mut run = TestRun::with_slots(vec![agent_loop("loop", interactive), agent("next", &[])], 1);
    let gate = LoopGate { iteration: 1, output: "draft".into(), is_claimed: false, proof: ProofLevel::Unverified };
    run.end_activity("loop", ActivityResult::ReachedGate(gate));
    assert_eq!(run.running(), ["next"]);
    run.answer("loop", PersonAnswer::Approve { text: "more".to_string() });
    assert_eq!(run.running(), ["next"], "the loop waits for the slot");
    run.complete("next", "");
    assert_eq!(run.running(), ["loop"]);
}

// spec: W3
#[test]
fn a_late_report_of_an_activity_that_has_ended_is_ignored() {
    let mut run = TestRun::of(vec![agent("a", &[]), bash("b", &["a"])]);
    let (activity, _) = run.active["a"].clone();
    run.complete("a", "first");
    let again = ActivityResult::Completed(NodeSuccess { output: "second".into(), proof: None });
    run.send(GraphEvent::ActivityEnded { activity, result: again });
    assert_eq!((run.outcome("a").as_str(), run.effects.len()), ("completed first", 0));
}
