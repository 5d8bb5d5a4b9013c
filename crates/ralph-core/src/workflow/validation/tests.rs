//! One test for each sentence about graphs.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{GraphProblem, validate_workflow};
use crate::workflow::Workflow;

fn workflow(nodes: &Value) -> Workflow {
    serde_json::from_value(json!({
        "name": "w", "description": "d", "form": "nodes", "agent": {"provider": null, "model": null, "effort": null},
        "worktree": "default", "mutates_checkout": true, "nodes": nodes,
    }))
    .unwrap()
}

fn bash(id: &str, depends_on: &[&str], script: &str) -> Value {
    json!({"id": id, "depends_on": depends_on, "kind": "bash", "script": script, "timeout_ms": 1})
}

fn prompt(id: &str, depends_on: &[&str], text: &str) -> Value {
    json!({"id": id, "depends_on": depends_on, "kind": "agent", "prompt": {"inline": text}})
}

fn group(id: &str, control: &Value, nodes: &Value) -> Value {
    json!({"id": id, "kind": "loop_group", "control": control, "nodes": nodes})
}

fn describe(problem: &GraphProblem) -> String {
    let severity = if problem.is_note() { "note" } else { "error" };
    format!("{severity} {:?} {}: {}", problem.path, problem.field, problem.kind)
}

fn problems_of(nodes: &Value) -> Vec<String> {
    validate_workflow(&workflow(nodes)).iter().map(describe).collect()
}

// spec: W3
#[test]
fn a_graph_whose_ids_and_references_are_known_has_no_problems() {
    let nodes = json!([
        bash("a", &[], "echo"),
        prompt("b", &["a"], "read $a.output"),
        bash("c", &["a", "b"], "test $a.output = \"$b.output\""),
    ]);
    assert_eq!(problems_of(&nodes), Vec::<String>::new());
}

// spec: W3
#[test]
fn an_id_can_be_used_once() {
    let inner = json!([bash("a", &[], "x")]);
    let nodes = json!([bash("a", &[], "x"), group("g", &json!({"until": "X", "max_iterations": 1}), &inner)]);
    assert_eq!(problems_of(&nodes), ["error [1, 0] id: another node has the id a"]);
}

// spec: W3
#[test]
fn an_unknown_dependency_is_an_error_with_a_suggestion() {
    let found = validate_workflow(&workflow(&json!([bash("run-tests", &[], "x"), bash("b", &["run_test"], "x")])));
    assert_eq!(found.iter().map(describe).collect::<Vec<_>>(), ["error [1] depends_on: there is no node run_test"]);
    assert_eq!(found[0].hint().unwrap(), "did you mean run-tests?");
    assert_eq!(found[0].part.as_deref(), Some("run_test"));
}

// spec: W3
#[test]
fn a_circular_dependency_is_named_with_its_nodes() {
    let nodes = json!([bash("a", &["c"], "x"), bash("b", &["a"], "x"), bash("c", &["b"], "x"), bash("d", &["a"], "x")]);
    assert_eq!(problems_of(&nodes), ["error [0] depends_on: circular dependency: a -> c -> b -> a"]);
    assert_eq!(problems_of(&json!([bash("a", &["a"], "x")])), ["error [0] depends_on: circular dependency: a -> a"]);
}

// spec: W3
#[test]
fn an_unknown_node_in_a_script_is_an_error_and_in_a_prompt_a_note() {
    assert_eq!(
        problems_of(&json!([bash("a", &[], "echo $b.output"), prompt("p", &[], "explain $b.output")])),
        [
            "error [0] bash: $b.output: there is no node b",
            "note [1] prompt: $b.output stays as it is: there is no node b",
        ]
    );
}

// spec: W3
#[test]
fn a_comment_of_a_script_may_name_any_node() {
    let found = problems_of(&json!([bash("a", &[], "true # like $b.output")]));
    assert_eq!(found, ["note [0] bash: $b.output stays as it is: there is no node b"]);
}

// spec: W3
#[test]
fn an_unknown_node_in_when_is_an_error() {
    let condition = json!({
        "any_of": [[{"left": {"output": {"node": "b", "field": "x"}}, "operator": "equal", "literal": "1"}]],
        "source": "$b.output.x == '1'",
    });
    let mut node = bash("a", &[], "true");
    node["when"] = condition;
    assert_eq!(problems_of(&json!([node])), ["error [0] when: $b.output.x: there is no node b"]);
}

// spec: W3
#[test]
fn an_unknown_node_in_with_is_an_error() {
    let child = json!({"id": "c", "kind": "workflow", "workflow": "w", "with": {"v": ["$b.output"]}});
    assert_eq!(problems_of(&json!([child])), ["error [0] with.v: $b.output: there is no node b"]);
}

// spec: W3
#[test]
fn an_undeclared_field_is_a_note() {
    let mut producer = prompt("a", &[], "x");
    producer["output_format"] = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
    let nodes = json!([producer, bash("b", &["a"], "echo $a.output.ok $a.output.no")]);
    assert_eq!(
        problems_of(&nodes),
        ["note [1] bash: $a.output.no fails this node: the output_format of a does not declare the field no"]
    );
}

// spec: W3
#[test]
fn reading_a_node_that_does_not_run_before_is_a_note() {
    let nodes = json!([bash("a", &[], "x"), bash("b", &[], "echo $a.output")]);
    assert_eq!(problems_of(&nodes), ["note [1] bash: $a.output: a does not run before this node"]);
    let chain = json!([bash("a", &[], "x"), bash("b", &["a"], "x"), bash("c", &["b"], "echo $a.output")]);
    assert_eq!(problems_of(&chain), Vec::<String>::new());
}

// spec: W4
#[test]
fn a_loop_needs_a_limit_and_a_way_to_complete() {
    let looping = json!({"id": "l", "kind": "loop", "prompt": {"inline": "x"}, "control": {"max_iterations": 0}});
    assert_eq!(
        problems_of(&json!([looping])),
        ["error [0] loop.max_iterations: max_iterations is 0", "error [0] loop: the loop has no way to complete"]
    );
}

// spec: W4
#[test]
fn until_field_must_be_a_required_boolean() {
    let looping = |format: &Value| {
        json!([{"id": "l", "kind": "loop", "prompt": {"inline": "x"}, "control": {"max_iterations": 1},
            "until_field": "done", "output_format": format}])
    };
    let wrong = ["error [0] loop.until_field: done is not a required boolean field of output_format"];
    assert_eq!(problems_of(&looping(&Value::Null)), wrong);
    assert_eq!(problems_of(&looping(&json!({"properties": {"done": {"type": "boolean"}}}))), wrong);
    assert_eq!(
        problems_of(&looping(&json!({"properties": {"done": {"type": "string"}}, "required": ["done"]}))),
        wrong
    );
    let right = json!({"properties": {"done": {"type": "boolean"}}, "required": ["done"]});
    assert_eq!(problems_of(&looping(&right)), Vec::<String>::new());
}

// spec: W3
#[test]
fn nodes_of_a_loop_group_are_not_visible_outside() {
    let inner = json!([bash("in", &[], "echo $out.output"), bash("in2", &["out"], "x")]);
    let control = json!({"until_bash": "test $in.output = x", "max_iterations": 2});
    let nodes =
        json!([bash("out", &[], "x"), group("g", &control, &inner), bash("late", &["g", "in"], "echo $in.output")]);
    assert_eq!(
        problems_of(&nodes),
        [
            "error [1, 1] depends_on: out is inside a loop group, so that only nodes of that group can depend on it",
            "error [2] depends_on: in is inside a loop group, so that only nodes of that group can depend on it",
            "error [2] bash: $in.output: there is no node in",
        ]
    );
}

// spec: W3
#[test]
fn the_previous_iteration_exists_only_in_a_loop_group() {
    let control = json!({"until": "X", "max_iterations": 2});
    let inner = json!([bash("in", &[], "echo $LOOP_PREV.in.output")]);
    let nodes = json!([group("g", &control, &inner), bash("late", &["g"], "echo $LOOP_PREV.in.output")]);
    assert_eq!(
        problems_of(&nodes),
        ["error [1] bash: $LOOP_PREV.in.output has a value only inside a loop group that contains in"]
    );
}

// spec: W3
#[test]
fn a_child_workflow_cannot_run_in_a_loop_group() {
    let inner = json!([{"id": "c", "kind": "workflow", "workflow": "w"}]);
    let nodes = json!([group("g", &json!({"until": "X", "max_iterations": 2}), &inner)]);
    assert_eq!(problems_of(&nodes), ["error [0, 0] workflow: a child workflow cannot run inside a loop group"]);
}

// spec: W3
#[test]
fn only_the_session_of_an_agent_can_be_resumed() {
    let mut resuming = prompt("p", &["a"], "x");
    resuming["options"] = json!({"context": {"resume": "a"}});
    assert_eq!(
        problems_of(&json!([bash("a", &[], "x"), resuming])),
        ["error [1] context.resume: context: a is not an agent node"]
    );
}

// spec: W3
#[test]
fn returns_and_outcome_field_are_checked() {
    let mut it = workflow(&json!([bash("a", &[], "x")]));
    it.outcome_field = Some("ok".to_string());
    let found: Vec<String> = validate_workflow(&it).iter().map(describe).collect();
    assert_eq!(
        found,
        ["error [] outcome_field: outcome_field: ok is not a boolean field of the output_format of the result"]
    );
    it.returns = Some(crate::workflow::NodeId("b".to_string()));
    let found: Vec<String> = validate_workflow(&it).iter().map(describe).collect();
    assert_eq!(found, ["error [] returns: returns: there is no node b"]);
}

// spec: W3
#[test]
fn a_long_chain_is_checked_without_recursion() {
    let mut nodes = vec![bash("n0", &[], "x")];
    nodes.extend((1..20_000).map(|at| {
        let before = format!("n{}", at - 1);
        bash(&format!("n{at}"), &[&before], &format!("echo ${before}.output"))
    }));
    nodes.push(bash("last", &["last"], "x"));
    assert_eq!(problems_of(&Value::Array(nodes)), ["error [20000] depends_on: circular dependency: last -> last"]);
}

proptest! {
    // spec: W3
    #[test]
    fn a_cycle_is_found_exactly_if_no_order_exists(edges in proptest::collection::vec((0_usize..8, 0_usize..8), 0..16)) {
        let mut dependencies = vec![Vec::new(); 8];
        for (from, to) in edges {
            dependencies[from].push(format!("n{to}"));
        }
        let nodes: Vec<Value> = dependencies
            .iter()
            .enumerate()
            .map(|(at, needed)| bash(&format!("n{at}"), &needed.iter().map(String::as_str).collect::<Vec<_>>(), "x"))
            .collect();
        let has_cycle = problems_of(&Value::Array(nodes)).iter().any(|problem| problem.contains("circular"));
        // Removes nodes without open dependencies until none is left.
        let mut open: Vec<usize> = (0..8).collect();
        while let Some(free) =
            open.iter().position(|at| !dependencies[*at].iter().any(|id| open.iter().any(|other| *id == format!("n{other}"))))
        {
            open.remove(free);
        }
        prop_assert_eq!(has_cycle, !open.is_empty());
    }
}
