//! Nodes that start other workflows: child runs, fan-outs, and what becomes of them after a crash.
use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};

use crate::harness::{Project, wait_until};
use crate::workflows::runs::{events_of, result_of, run_with};

const GREET: &str = r#"
name: greet
description: greets
inputs: {who: {required: true}}
nodes:
  - id: say
    bash: printf 'hello %s' "$INPUTS.who"
"#;

/// Returns a project with these workflows, which are committed and approved.
fn project_with_all(files: &[&str]) -> Project {
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    for (number, yaml) in files.iter().enumerate() {
        project.write(&format!(".ralph/workflows/w{number}.yaml"), yaml);
    }
    project.commit();
    project.trust();
    project
}

fn show(project: &Project, run: &str) -> Value {
    project.ralph(["show", run, "--json"]).output().expect(0).json()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

// spec: W3
#[test]
fn a_child_run_gets_its_inputs_gives_its_output_and_is_linked_both_ways() {
    let parent = r#"
name: parent
description: starts greet
nodes:
  - id: greeting
    workflow: greet
    with: {who: "$ARGUMENTS"}
  - id: after
    depends_on: [greeting]
    bash: printf '<%s>' "$greeting.output"
"#;
    let project = project_with_all(&[GREET, parent]);
    let output = run_with(&project, "parent", &[]).args(["the $(touch pwned) moon"]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "<hello the $(touch pwned) moon>");
    let run = text(&result_of(&output)["run"]).to_owned();
    let shown = show(&project, &run);
    let child = text(&shown["children"][0]["id"]).to_owned();
    assert_eq!(events_of(&output, "child.started")[0]["child"], child.as_str());
    let shown = show(&project, &child);
    assert_eq!((&shown["parent"], &shown["parent_node"]), (&json!(run), &json!("greeting")));
    assert_eq!((&shown["workflow"], &shown["status"]), (&json!("greet"), &json!("completed")));
    let listed = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "a child is listed with its parent only: {listed}");
    let readable = project.ralph(["show", &run]).output().expect(0).stdout;
    assert!(readable.contains(&child[child.len() - 8..]), "{readable}");
}

// spec: W3
#[test]
fn a_fan_out_starts_a_child_for_each_item_and_failed_items_are_data_in_their_place() {
    let one = r#"
name: one
description: one item
inputs: {part: {required: true}}
nodes:
  - id: work
    bash: |
      if [ "$INPUTS.part" = bad ]; then echo broken >&2; exit 4; fi
      printf 'did %s' "$INPUTS.part"
"#;
    let parent = r#"
name: parent
description: a list that is found at run time
nodes:
  - id: list
    bash: echo '["a", "bad", "c"]'
  - id: each
    depends_on: [list]
    workflow: one
    fan_out: {items: "$list.output", as: part, max_parallel: 2}
"#;
    let project = project_with_all(&[one, parent]);
    let output = run_with(&project, "parent", &[]).output().expect(0);
    let results: Value = serde_json::from_str(text(&result_of(&output)["output"])).unwrap();
    let failed = json!({
        "archon_failed": true,
        "error": "workflow one ended as failed: node work failed: exit code 4: broken",
        "status": "failed",
    });
    assert_eq!(results, json!(["did a", failed, "did c"]));
    let shown = show(&project, text(&result_of(&output)["run"]));
    let nodes: Vec<&str> = shown["children"].as_array().unwrap().iter().map(|it| text(&it["parent_node"])).collect();
    assert_eq!(nodes.len(), 3, "{nodes:?}");
    assert!(["each[0]", "each[1]", "each[2]"].iter().all(|node| nodes.contains(node)), "{nodes:?}");
}

// spec: W3
#[test]
fn with_all_success_a_failed_item_fails_the_run_and_a_resume_repeats_only_that_item() {
    let one = r#"
name: one
description: one item, which is its message
nodes:
  - id: work
    bash: |
      echo "$ARGUMENTS" >> "$STATE_DIR/started"
      [ "$ARGUMENTS" = a ] || [ -e "$STATE_DIR/repaired" ]
"#;
    let parent = r#"
name: parent
description: all items must succeed
nodes:
  - id: each
    workflow: one
    fan_out: {items: '["a", "b"]', max_parallel: 1, join: all_success}
"#;
    let project = project_with_all(&[one, parent]);
    let output = run_with(&project, "parent", &[]).output().expect(3);
    let result = result_of(&output);
    assert!(text(&result["reason"]).contains("item 2 of 2 failed"), "{result}");
    std::fs::write(project.state().join("workflow-state/repaired"), "").unwrap();
    project.ralph(["resume", text(&result["run"]), "--json"]).output().expect(0);
    let started = std::fs::read_to_string(project.state().join("workflow-state/started")).unwrap();
    assert_eq!(started, "a\nb\nb\n");
}

// spec: W3
#[test]
fn a_workflow_that_starts_itself_is_refused_before_anything_runs() {
    let node = |id: &str, name: &str| format!("  - id: {id}\n    workflow: {name}\n");
    let file = |name: &str, nodes: &str| format!("name: {name}\ndescription: d\nnodes:\n{nodes}");
    let first = file("first", &format!("  - id: mark\n    bash: touch ran\n{}", node("next", "second")));
    let second = file("second", &node("back", "first"));
    let project = project_with_all(&[&first, &second]);
    let refused = run_with(&project, "first", &[]).args(["--no-worktree"]).output().expect(1).stderr;
    assert!(refused.contains("the workflow first starts itself: first -> second -> first"), "{refused}");
    assert!(!project.root().join("ran").exists());
}

// spec: W3
#[test]
fn a_child_that_is_missing_or_lacks_an_input_is_refused_before_anything_runs() {
    let file = |node: &str| format!("name: parent\ndescription: d\nnodes:\n  - id: mark\n    bash: touch ran\n{node}");
    for (node, expected) in [
        ("  - id: c\n    workflow: gret\n", "gret"),
        ("  - id: c\n    workflow: greet\n", "the workflow greet needs the input who"),
        ("  - id: c\n    workflow: greet\n    with: {who: me, wo: x}\n", "the workflow greet has no input \"wo\""),
    ] {
        let project = project_with_all(&[GREET, &file(node)]);
        let refused = run_with(&project, "parent", &[]).args(["--no-worktree"]).output().expect(1).stderr;
        assert!(refused.contains(expected), "{refused}");
        assert!(!project.root().join("ran").exists());
    }
}

// spec: W3
#[test]
fn a_cancelled_child_fails_its_node_with_the_reason() {
    let child = "name: guard\ndescription: d\nnodes:\n  - id: stop\n    cancel: not on main\n";
    let parent = "name: parent\ndescription: d\nnodes:\n  - id: check\n    workflow: guard\n";
    let project = project_with_all(&[child, parent]);
    let output = run_with(&project, "parent", &[]).output().expect(3);
    assert_eq!(result_of(&output)["reason"], "node check failed: workflow guard ended as cancelled: not on main");
}

const ASKING_CHILD: &str = r#"
name: release
description: asks
nodes:
  - id: ask
    approval: {message: "Publish $ARGUMENTS?", capture_response: true}
  - id: publish
    depends_on: [ask]
    bash: printf 'published %s' "$ask.output"
"#;

const ASKING_PARENT: &str = r#"
name: parent
description: its child asks
nodes:
  - id: release
    workflow: release
    input: v1
  - id: done
    depends_on: [release]
    bash: printf '%s, done' "$release.output"
"#;

// spec: W13, W3
#[test]
fn a_question_of_a_child_makes_the_run_wait_and_is_answered_through_the_parent() {
    let project = project_with_all(&[ASKING_CHILD, ASKING_PARENT]);
    let output = run_with(&project, "parent", &[]).output().expect(6);
    let run = text(&result_of(&output)["run"]).to_owned();
    let shown = show(&project, &run);
    assert_eq!((&shown["status"], &shown["questions"][0]["text"]), (&json!("waiting"), &json!("Publish v1?")));
    assert_eq!(shown["children"][0]["status"], "waiting");
    let output = project.ralph(["workflow", "approve", &run, "today", "--json"]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "published today, done");
    assert_eq!(show(&project, &run)["children"].as_array().unwrap().len(), 1, "the child is continued");
}

// spec: W13, W3
#[test]
fn an_answer_to_the_child_itself_continues_its_parent() {
    let project = project_with_all(&[ASKING_CHILD, ASKING_PARENT]);
    run_with(&project, "parent", &[]).output().expect(6);
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    let child = text(&shown["children"][0]["id"]).to_owned();
    let output = project.ralph(["workflow", "reject", &child, "no", "--json"]).output().expect(3);
    assert_eq!(result_of(&output)["run"], shown["id"]);
    assert!(text(&result_of(&output)["reason"]).contains("workflow release ended as cancelled"));
}

// spec: W7, L13
// fault: 1
#[test]
fn after_a_crash_finished_children_are_not_started_again_and_the_others_continue() {
    let one = r#"
name: one
description: two steps; the second of the item b waits in the first process
nodes:
  - id: first
    bash: echo "first $ARGUMENTS" >> "$STATE_DIR/log"
  - id: second
    depends_on: [first]
    timeout: 600000
    bash: |
      echo "second $ARGUMENTS" >> "$STATE_DIR/log"
      if [ "$ARGUMENTS" = b ] && [ ! -e "$STATE_DIR/again" ]; then echo $$ > "$STATE_DIR/pid"; exec sleep 1000; fi
      printf '%s done' "$ARGUMENTS"
"#;
    let parent = r#"
name: parent
description: three items, one after the other
nodes:
  - id: each
    workflow: one
    fan_out: {items: '["a", "b", "c"]', max_parallel: 1}
"#;
    let project = project_with_all(&[one, parent]);
    let state = project.state().join("workflow-state");
    let running = run_with(&project, "parent", &[]).start();
    let hanging = || std::fs::read_to_string(state.join("pid")).ok()?.trim().parse().ok().and_then(Pid::from_raw);
    wait_until("the second item waits", || hanging().is_some());
    let script = hanging().unwrap();
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    wait_until("the script has ended with its run", || test_kill_process(script).is_err());
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    let run = text(&runs[0]["id"]).to_owned();
    assert_eq!(runs[0]["status"], "interrupted");
    std::fs::write(state.join("again"), "").unwrap();
    let output = project.ralph(["resume", &run, "--json"]).output().expect(0);
    assert_eq!(result_of(&output)["output"], r#"["a done","b done","c done"]"#);
    let log = std::fs::read_to_string(state.join("log")).unwrap();
    assert_eq!(log, "first a\nsecond a\nfirst b\nsecond b\nsecond b\nfirst c\nsecond c\n");
    assert_eq!(show(&project, &run)["children"].as_array().unwrap().len(), 3);
}

// spec: W3, W7
#[test]
fn the_children_of_a_cancelled_run_are_cancelled_with_it() {
    let child =
        "name: slow\ndescription: d\nnodes:\n  - id: a\n    bash: touch started; sleep 1000\n    timeout: 600000\n";
    let parent = "name: parent\ndescription: d\nnodes:\n  - id: c\n    workflow: slow\n";
    let project = project_with_all(&[child, parent]);
    let running = run_with(&project, "parent", &[]).args(["--no-worktree"]).start();
    wait_until("the script runs", || project.root().join("started").exists());
    let runs = project.ralph(["runs", "--json"]).command().output().unwrap();
    let runs: Value = serde_json::from_slice(&runs.stdout).unwrap();
    let run = text(&runs[0]["id"]).to_owned();
    assert!(project.ralph(["cancel", &run]).command().output().unwrap().status.success());
    running.wait().expect(9);
    assert_eq!(show(&project, &run)["children"][0]["status"], "cancelled");
}

// spec: W3
#[test]
fn a_child_works_in_the_files_of_its_parent_or_in_a_work_tree_of_its_own() {
    let child =
        "name: child\ndescription: d\nnodes:\n  - id: a\n    bash: cat made 2>/dev/null || echo none; touch by-child\n";
    let parent = r"
name: parent
description: d
nodes:
  - id: make
    bash: echo here > made
  - id: inherits
    depends_on: [make]
    workflow: child
  - id: separate
    depends_on: [inherits]
    workflow: child
    isolation: worktree
  - id: both
    depends_on: [separate]
    bash: echo $inherits.output $separate.output
";
    let project = project_with_all(&[child, parent]);
    let output = run_with(&project, "parent", &[]).args(["--no-worktree"]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "here none");
    assert!(project.root().join("by-child").exists());
    let messages = events_of(&output, "message");
    assert!(
        messages.iter().any(|it| text(&it["text"]).contains("the work is on the branch ralph/run-")),
        "{messages:?}"
    );
}

// spec: W3
#[test]
fn the_agents_of_all_children_share_the_slots_of_the_run() {
    let child = "name: child\ndescription: d\nnodes:\n  - id: a\n    prompt: work\n";
    let parent = "name: parent\ndescription: d\nnodes:\n  - id: each\n    workflow: child\n    \
                  fan_out: {items: '[1, 2, 3]', max_parallel: 3}\n";
    let project = project_with_all(&[child, parent]);
    let output = run_with(&project, "parent", &["work"]).args(["--slots", "1"]).output().expect(0);
    let shown = show(&project, text(&result_of(&output)["run"]));
    // Zeros at the end of a fraction are not printed.
    let sortable =
        |at: &Value| format!("{:0<23}", text(at).replace('Z', if text(at).contains('.') { "" } else { "." }));
    let mut times: Vec<(String, String)> = Vec::new();
    for child in shown["children"].as_array().unwrap() {
        let pass = text(&show(&project, text(&child["id"]))["nodes"][0]["runs"][0]).to_owned();
        let events = project.ralph(["events", &pass]).output().expect(0).stdout;
        let at: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        times.push((sortable(&at[0]["at"]), sortable(&at[at.len() - 1]["at"])));
    }
    times.sort_unstable();
    assert_eq!(times.len(), 3);
    assert!(times.is_sorted_by(|one, next| one.1 <= next.0), "one agent works at a time: {times:?}");
}

// spec: W3, V16
#[test]
fn a_child_run_counts_for_the_proof_of_its_parent_with_the_lowest_level_of_its_own_loops_and_checks() {
    let parent = "name: parent\ndescription: d\nnodes:\n  - id: work\n    loop: {prompt: go, until: COMPLETE, max_iterations: 2, \
                  checks: [test -e done]}\n  - id: call\n    depends_on: [work]\n    workflow: child\n";
    let child = |nodes: &str| format!("name: child\ndescription: d\nnodes:\n{nodes}");
    let table = [
        ("  - id: a\n    bash: echo nothing to verify\n", "proven"),
        ("  - id: a\n    checks: ['true']\n", "checked"),
        ("  - id: a\n    loop: {prompt: go, until: COMPLETE, max_iterations: 2}\n", "unverified"),
    ];
    for (nodes, level) in table {
        let project = project_with_all(&[parent, &child(nodes)]);
        let script = project.script("touch done\ntext {promise}\n");
        let output = run_with(&project, "parent", &["script", &script]).output().expect(0);
        assert_eq!(result_of(&output)["proof"], level, "{nodes}");
        let shown = show(&project, text(&result_of(&output)["run"]));
        assert_eq!(shown["proof"], level);
        assert_eq!(shown["children"][0]["proof"], if level == "checked" { "checked" } else { "unverified" });
    }
}
