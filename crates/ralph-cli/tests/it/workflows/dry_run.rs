//! Dry runs and tests of workflows: every kind of node is walked, and nothing runs.
use serde_json::{Value, json};

use super::runs::{events_of, result_of};
use crate::harness::{CallOutput, Project};

/// A workflow with all kinds of nodes. Every command in it would leave the file `ran`.
const ALL_KINDS: &str = r#"
name: kinds
description: all kinds of nodes
inputs:
  depth: {default: full}
nodes:
  - id: plan
    prompt: Plan $ARGUMENTS with $INPUTS.depth
    output_format:
      type: object
      properties: {verdict: {type: string, enum: [good, bad]}, parts: {type: array, items: {type: string}}}
      required: [verdict, parts]
  - id: fix
    depends_on: [plan]
    when: $plan.output.verdict == 'bad'
    bash: touch ran
  - id: measure
    depends_on: [plan]
    bash: touch ran
  - id: code
    depends_on: [measure]
    when: $measure.output.count < 3
    script: open("ran", "w")
    runtime: uv
  - id: work
    depends_on: [code]
    loop: {prompt: Work, until: WORK_DONE, max_iterations: 3}
  - id: rounds
    depends_on: [work]
    loop_group:
      until_bash: touch ran
      max_iterations: 4
      nodes:
        - id: step
          bash: touch ran
  - id: ask
    depends_on: [rounds]
    approval: {message: 'Go on?', decisions: [{id: approve}, {id: hold}]}
  - id: parts
    depends_on: [ask]
    workflow: plan-build
    fan_out: {items: $plan.output.parts, as: part, max_parallel: 2, join: all_done}
  - id: verify
    depends_on: [parts]
    checks: ["touch ran"]
  - id: stop
    depends_on: [ask]
    when: $ask.output.decision == 'hold'
    cancel: it was held
"#;

/// Returns a project with files in its workflow folder, without an approval.
fn project_with_files(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    for (name, text) in files {
        project.write(&format!(".ralph/workflows/{name}"), text);
    }
    project.commit();
    project
}

fn dry_run(project: &Project, name: &str, stubs: &str, code: i32) -> CallOutput {
    project.write("stubs.yaml", stubs);
    project.ralph(["workflow", "run", name, "--dry-run", "--stubs", "stubs.yaml", "--json"]).output().expect(code)
}

// spec: W11
#[test]
fn a_dry_run_walks_every_kind_of_node_and_runs_nothing() {
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS)]);
    let output = project.ralph(["workflow", "run", "kinds", "the", "work", "--dry-run", "--json"]).output().expect(0);
    let result = result_of(&output);
    assert_eq!(
        result["nodes"],
        json!({ "plan": "completed", "fix": "skipped", "measure": "completed", "code": "completed",
            "work": "completed", "rounds": "completed", "rounds/step": "completed", "ask": "completed",
            "parts": "completed", "verify": "completed", "stop": "skipped",
            "parts[0] > start": "completed", "parts[0] > plan": "completed", "parts[0] > approve-plan": "completed",
            "parts[0] > build": "completed", "parts[0] > review": "completed", "parts[0] > repair": "skipped" })
    );
    assert_eq!(result["outputs"]["plan"], json!({ "verdict": "good", "parts": [""] }));
    assert_eq!(result["outputs"]["measure"], json!({ "count": 0 }));
    assert_eq!(result["outputs"]["ask"], json!({ "decision": "approve", "text": "" }));
    assert!(!project.root().join("ran").exists());
    let runs = project.ralph(["runs", "--json"]).output().expect(0).stdout;
    assert_eq!(runs, "[]\n");
}

// spec: W11
#[test]
fn stubs_decide_what_nodes_give() {
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS)]);
    let stubs = r#"
plan: {output: {verdict: bad, parts: [one, two]}}
measure: {output: {count: 2}}
rounds: [{done: false}, {done: true}]
ask: {decision: approve, text: fine}
parts: {each: [{output: first}, {fail: it broke}]}
"#;
    let output = dry_run(&project, "kinds", stubs, 0);
    let result = result_of(&output);
    assert_eq!(result["nodes"]["fix"], "completed");
    assert_eq!(result["outputs"]["ask"], json!({ "decision": "approve", "text": "fine" }));
    let failed = json!({ "archon_failed": true, "error": "it broke", "status": "failed" });
    assert_eq!(result["outputs"]["parts"], json!(["first", failed]));
    let steps = events_of(&output, "node.completed").into_iter().filter(|event| event["node"] == "rounds/step");
    assert_eq!(steps.count(), 2);
}

// spec: W11
#[test]
fn a_stub_decides_an_approval() {
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS)]);
    let result = result_of(&dry_run(&project, "kinds", "ask: {decision: hold}\n", 9));
    assert_eq!((&result["status"], &result["reason"]), (&json!("cancelled"), &json!("it was held")));
    let refused = dry_run(&project, "kinds", "ask: {decision: perhaps}\n", 64).stderr;
    assert!(
        refused.contains("stub of ask: perhaps is not a decision of this approval; use approve, hold"),
        "{refused}"
    );
}

// spec: W11
#[test]
fn a_stub_that_fails_is_retried_like_a_node() {
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS)]);
    let output = dry_run(
        &project,
        "kinds",
        "plan: [{fail: overloaded, transient: true}, '{\"verdict\": \"good\", \"parts\": []}']\n",
        0,
    );
    assert_eq!(events_of(&output, "node.retry")[0]["reason"], "overloaded");
    let failed = result_of(&dry_run(&project, "kinds", "plan: {fail: no idea}\n", 3));
    assert_eq!(failed["reason"], "node plan failed: no idea");
    let broken = result_of(&dry_run(&project, "kinds", "plan: {output: {verdict: good}}\n", 3));
    assert!(broken["reason"].as_str().unwrap().contains("the stub does not fit `output_format`"), "{broken}");
}

// spec: W11
#[test]
fn a_loop_whose_stub_is_never_done_ends_at_its_limit() {
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS)]);
    let result = result_of(&dry_run(&project, "kinds", "work: {output: still working, done: false}\n", 3));
    let reason = "node work failed: Max iterations (3) reached without completion signal \"WORK_DONE\"";
    assert_eq!(result["reason"], reason);
}

// spec: W11
#[test]
fn a_stub_that_no_node_can_use_is_an_error() {
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS)]);
    let unknown = dry_run(&project, "kinds", "paln: text\n", 64).stderr;
    assert!(unknown.contains("paln, which is not a node of the workflow; did you mean plan?"), "{unknown}");
    let useless = dry_run(&project, "kinds", "measure: {decision: approve}\n", 64).stderr;
    assert!(useless.contains("stub of measure: `decision` has no effect"), "{useless}");
    let misspelt = dry_run(&project, "kinds", "measure: {ouput: x}\n", 1).stderr;
    assert!(misspelt.contains("stub of measure: unknown field `ouput`"), "{misspelt}");
}

const PARENT: &str = r#"
name: parent
description: starts others
nodes:
  - id: build
    workflow: child
    with: {goal: $ARGUMENTS}
  - id: each
    depends_on: [build]
    when: $build.output.verdict == 'good'
    workflow: leaf
    fan_out: {items: '["a", "b"]', as: part, join: all_done}
  - id: last
    depends_on: [each]
    bash: touch ran
"#;

const CHILD: &str = r#"
name: child
description: has a child too
inputs:
  goal: {required: true}
nodes:
  - id: ask
    approval: {message: 'Build $INPUTS.goal?'}
  - id: work
    depends_on: [ask]
    prompt: Build $INPUTS.goal
    output_format: {type: object, properties: {verdict: {type: string, enum: [good, bad]}}, required: [verdict]}
  - id: check
    depends_on: [work]
    workflow: leaf
  - id: end
    depends_on: [check]
    bash: touch ran
returns: work
"#;

const LEAF: &str = "name: leaf\ndescription: one node\nnodes:\n  - id: only\n    prompt: Look at $ARGUMENTS\n";

const FAMILY: [(&str, &str); 3] = [("parent.yaml", PARENT), ("child.yaml", CHILD), ("leaf.yaml", LEAF)];

// spec: W3, W11
#[test]
fn a_dry_run_walks_into_the_workflows_that_nodes_start() {
    let project = project_with_files(&FAMILY);
    let result = result_of(&dry_run(&project, "parent", "", 0));
    assert_eq!(
        result["nodes"],
        json!({ "build": "completed", "build > ask": "completed", "build > work": "completed",
            "build > check": "completed", "build > check > only": "completed", "build > end": "completed",
            "each": "completed", "each[0] > only": "completed", "each[1] > only": "completed", "last": "completed" })
    );
    assert_eq!(result["outputs"]["build"], json!({ "verdict": "good" }), "the output of the node that it returns");
    assert!(!project.root().join("ran").exists());
}

// spec: W3, W11
#[test]
fn stubs_decide_what_the_nodes_of_child_workflows_give() {
    let project = project_with_files(&FAMILY);
    let stubs = r#"
build:
  nodes:
    work: {output: {verdict: good}}
    check: {nodes: {only: fine}}
each:
  each:
    - nodes: {only: first}
    - nodes: {only: {fail: no time}}
"#;
    let output = dry_run(&project, "parent", stubs, 0);
    let outputs = &result_of(&output)["outputs"];
    assert_eq!(outputs["build > check"], "fine");
    let failed = json!({ "archon_failed": true, "status": "failed",
        "error": "workflow leaf ended as failed: node only failed: no time" });
    assert_eq!(outputs["each"], json!(["first", failed]));
    let completed: Vec<_> = events_of(&output, "node.completed").iter().map(|event| event["node"].clone()).collect();
    assert_eq!(completed[..3], ["build > ask", "build > work", "build > check > only"]);
}

// spec: W3, W11
#[test]
fn a_child_workflow_that_does_not_complete_fails_its_node() {
    let project = project_with_files(&FAMILY);
    let rejected = result_of(&dry_run(&project, "parent", "build: {nodes: {ask: {decision: reject, text: no}}}\n", 3));
    assert_eq!(rejected["reason"], "node build failed: workflow child ended as cancelled: no");
    let given = result_of(&dry_run(&project, "parent", "build: {output: {verdict: bad}}\n", 0));
    assert_eq!(given["nodes"]["each"], "skipped");
    assert_eq!(given["nodes"].get("build > work"), None, "with an output the child does not run");
}

// spec: W3, W11
#[test]
fn a_stub_for_a_node_that_a_child_workflow_does_not_have_is_an_error() {
    let project = project_with_files(&FAMILY);
    for (stubs, message) in [
        ("build: {nodes: {wrok: x}}\n", "build > wrok, which is not a node of the workflow; did you mean work?"),
        (
            "build: {nodes: {check: {nodes: {only: {done: true}}}}}\n",
            "stub of build > check > only: `done` has no effect",
        ),
        ("each: {each: [{decision: approve}]}\n", "stub of each[0]: `decision` has no effect for an item of a fan-out"),
        ("last: {nodes: {only: x}}\n", "stub of last: `nodes` has no effect"),
    ] {
        let refused = dry_run(&project, "parent", stubs, 64).stderr;
        assert!(refused.contains(message), "{refused}");
    }
    let both = dry_run(&project, "parent", "build: {output: x, nodes: {work: y}}\n", 1).stderr;
    assert!(both.contains("stub of build: with `output` or `fail`, the `nodes`"), "{both}");
}

// spec: W3, W11
#[test]
fn a_child_workflow_that_cannot_start_fails_the_dry_run_as_it_would_refuse_a_run() {
    let cyclic = LEAF.replace("prompt: Look at $ARGUMENTS", "workflow: leaf");
    let project = project_with_files(&[("leaf.yaml", &cyclic)]);
    let result = result_of(&dry_run(&project, "leaf", "", 3));
    assert_eq!(result["reason"], "node only failed: the workflow leaf starts itself: leaf -> leaf");
    let needy = PARENT.replace("    with: {goal: $ARGUMENTS}\n", "");
    let project = project_with_files(&[("parent.yaml", &needy), FAMILY[1], FAMILY[2]]);
    let result = result_of(&dry_run(&project, "parent", "", 3));
    assert_eq!(result["reason"], "node build failed: the workflow child needs the input goal");
    let absent = PARENT.replace("workflow: child", "workflow: chidl");
    let project = project_with_files(&[("parent.yaml", &absent), FAMILY[1], FAMILY[2]]);
    let output = dry_run(&project, "parent", "", 0);
    assert!(output.stderr.contains("a run would fail: "), "{}", output.stderr);
    assert_eq!(result_of(&output)["outputs"]["build"], json!({ "verdict": "" }), "a default output");
}

// spec: W3, W11
#[test]
fn a_test_file_expects_nodes_of_child_workflows() {
    let tests = r#"
cases:
  - name: the child works
    message: a house
    stubs: {build: {nodes: {work: {output: {verdict: bad}}}}}
    expect:
      end: completed
      nodes: {build > end: completed, each: skipped}
      outputs: {build: {verdict: bad}, build > work: {verdict: bad}}
"#;
    let project = project_with_files(&[FAMILY[0], FAMILY[1], FAMILY[2], ("parent.test.yaml", tests)]);
    let passed = project.ralph(["workflow", "test", "parent"]).output().expect(0).stdout;
    assert_eq!(passed, "PASS  parent: the child works\n1 case: 1 passed, 0 failed\n");
}

const TESTS: &str = r#"
cases:
  - name: a bad plan is fixed
    message: please
    inputs: {depth: short}
    stubs: {plan: {output: {verdict: bad, parts: [a]}}}
    expect:
      end: completed
      nodes: {fix: completed, stop: skipped}
      outputs: {plan: {verdict: bad, parts: [a]}}
  - name: a held release is cancelled
    stubs: {ask: {decision: hold}}
    expect: {end: cancelled, reason: held}
"#;

// spec: W11
#[test]
fn the_cases_of_a_test_file_are_run() {
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS), ("kinds.test.yaml", TESTS)]);
    let passed = project.ralph(["workflow", "test"]).output().expect(0).stdout;
    assert_eq!(
        passed,
        "PASS  kinds: a bad plan is fixed\nPASS  kinds: a held release is cancelled\n2 cases: 2 passed, 0 failed\n"
    );
    assert!(!project.root().join("ran").exists());
}

// spec: W11
#[test]
fn a_case_that_fails_shows_what_differs() {
    let tests = TESTS.replace("fix: completed", "fix: skipped");
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS), ("kinds.test.yaml", &tests)]);
    let failed = project.ralph(["workflow", "test", "kinds"]).output().expect(3).stdout;
    let difference = "      nodes.fix\n        - expected \"skipped\"\n        + actual   \"completed\"\n";
    assert!(failed.starts_with(&format!("FAIL  kinds: a bad plan is fixed\n{difference}PASS  kinds:")), "{failed}");
    let rows = project.ralph(["workflow", "test", "--json"]).output().expect(3).json();
    assert_eq!(rows[0]["differences"], json!([{ "what": "nodes.fix", "expected": "skipped", "actual": "completed" }]));
    assert_eq!((&rows[0]["passed"], &rows[1]["passed"]), (&Value::Bool(false), &Value::Bool(true)));
}

// spec: W11
#[test]
fn a_case_that_could_not_fail_is_a_failure() {
    let tests = "cases:\n  - name: empty\n    expect: {}\n  - name: typo\n    expect: {nodes: {paln: completed}}\n";
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS), ("kinds.test.yaml", tests)]);
    let failed = project.ralph(["workflow", "test"]).output().expect(3).stdout;
    assert!(failed.contains("FAIL  kinds: empty\n      error: `expect` is empty"), "{failed}");
    assert!(failed.contains("the workflow has no node \"paln\"; did you mean plan?"), "{failed}");
}

// spec: W11
#[test]
fn workflows_without_tests_are_not_reported_as_passed() {
    let project = project_with_files(&[("kinds.yaml", ALL_KINDS)]);
    let refused = project.ralph(["workflow", "test", "kinds"]).output().expect(1).stderr;
    assert!(refused.contains("the workflow kinds has no test file"), "{refused}");
    project.ralph(["workflow", "test"]).output().expect(1);
}
