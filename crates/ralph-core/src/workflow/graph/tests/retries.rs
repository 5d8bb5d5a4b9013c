//! Retries of failed nodes.
use super::*;
use crate::workflow::{NodeRetry, RetryScope};

fn retried(max_attempts: u32, on_error: RetryScope, node: Node) -> Node {
    Node { retry: Some(NodeRetry { max_attempts, delay_ms: 1_000, on_error }), ..node }
}

/// Fails the node with this kind until it is not retried any more. Returns the delays.
fn delays_until_failure(node: Node, kind: FailureKind) -> Vec<u64> {
    let id = node.id.to_string();
    let mut run = TestRun::of(vec![node]);
    let mut delays = Vec::new();
    loop {
        run.fail(&id, kind);
        let Some((_, delay)) = run.timers.get(&id) else { break };
        delays.push(*delay);
        run.expire_timer(&id);
    }
    assert_eq!(run.outcome(&id), format!("failed: {id} broke"));
    delays
}

// spec: W3
#[test]
fn agents_are_retried_twice_after_transient_failures_with_a_doubling_delay() {
    assert_eq!(delays_until_failure(agent("a", &[]), FailureKind::Transient), [3_000, 6_000]);
    assert_eq!(delays_until_failure(agent("a", &[]), FailureKind::Permanent), [0; 0]);
}

// spec: W3
#[test]
fn commands_loops_and_child_runs_are_not_retried_by_default() {
    for node in [bash("a", &[]), agent_loop("a", until_done(3)), child("a", &[], None), checks("a", &[])] {
        assert_eq!(delays_until_failure(node, FailureKind::Transient), [0; 0]);
    }
}

// spec: W3
#[test]
fn a_node_with_retry_is_retried_as_it_says() {
    let node = |scope| retried(3, scope, bash("a", &[]));
    assert_eq!(delays_until_failure(node(RetryScope::Transient), FailureKind::Transient), [1_000, 2_000, 4_000]);
    assert_eq!(delays_until_failure(node(RetryScope::Transient), FailureKind::Permanent), [0; 0]);
    assert_eq!(delays_until_failure(node(RetryScope::All), FailureKind::Permanent), [1_000, 2_000, 4_000]);
}

// spec: W3
#[test]
fn retry_has_no_effect_on_loops_and_child_runs() {
    for node in [agent_loop("a", until_done(3)), child("a", &[], None)] {
        assert_eq!(delays_until_failure(retried(3, RetryScope::All, node), FailureKind::Transient), [0; 0]);
    }
}

// spec: W3
#[test]
fn checks_that_could_not_be_evaluated_are_repeated_once_at_once() {
    assert_eq!(delays_until_failure(checks("a", &[]), FailureKind::CouldNotEvaluate), [0]);
    assert_eq!(delays_until_failure(checks("a", &[]), FailureKind::Permanent), [0; 0]);
}

// spec: W3
#[test]
fn a_retry_that_succeeds_completes_the_node() {
    let mut run = TestRun::of(vec![agent("a", &[]), bash("b", &["a"])]);
    run.fail("a", FailureKind::Transient);
    assert_eq!((run.running(), run.outcome("a").as_str()), (vec![], "open"));
    run.expire_timer("a");
    assert_eq!(run.active["a"].1.attempt, 2);
    run.complete("a", "done");
    assert_eq!(run.running(), ["b"]);
}

// spec: W3
#[test]
fn a_waiting_retry_keeps_the_run_running_and_frees_the_slot() {
    let mut run = TestRun::with_slots(vec![agent("a", &[]), agent("b", &[])], 1);
    run.fail("a", FailureKind::Transient);
    assert_eq!(run.running(), ["b"]);
    run.complete("b", "");
    assert_eq!(*run.state.phase(), GraphPhase::Running);
}
