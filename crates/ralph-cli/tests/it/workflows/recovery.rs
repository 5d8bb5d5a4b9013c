//! Workflow runs whose process was killed or stopped, and reruns.
use rustix::process::Signal;

use crate::harness::{CallOutput, wait_until};
use crate::workflows::runs::{events_of, project_with, result_of, run_with};

const THREE: &str = r#"
name: three
description: three nodes
nodes:
  - id: first
    bash: echo once >> "$STATE_DIR/first"; printf 'the %s output' first
  - id: second
    depends_on: [first]
    prompt: work
  - id: third
    depends_on: [second]
    bash: printf '%s and %s' "$first.output" "$second.output"
"#;

// spec: W7, L13
// fault: 1
#[test]
fn a_killed_run_resumes_at_the_nodes_that_were_not_finished() {
    let project = project_with("three", THREE);
    let script = project.script("text half\nhang\n---\ntext whole\n");
    let running = run_with(&project, "three", &["script", &script]).start();
    project.wait_for("ready");
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs[0]["status"], "interrupted");
    let run = runs[0]["id"].as_str().unwrap().to_owned();
    let output = project.ralph(["resume", &run, "--json"]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "the first output and whole");
    let first = std::fs::read_to_string(project.state().join("workflow-state/first")).unwrap();
    assert_eq!(first, "once\n", "a finished node does not run again");
    let shown = project.ralph(["show", &run, "--json"]).output().expect(0).json();
    let agents = shown["nodes"].as_array().unwrap().iter().find(|node| node["node"] == "second").unwrap();
    assert_eq!(agents["runs"].as_array().unwrap().len(), 1, "the run of the agent is resumed: {agents}");
}

// spec: W7, L11
#[test]
fn a_stopped_run_can_be_resumed_and_its_programs_are_gone() {
    let yaml =
        "name: slow\ndescription: d\nnodes:\n  - id: a\n    bash: touch started; sleep 1000\n    timeout: 600000\n";
    let project = project_with("slow", yaml);
    let running = run_with(&project, "slow", &[]).args(["--no-worktree"]).start();
    wait_until("the script runs", || project.root().join("started").exists());
    running.signal(Signal::INT);
    let output = running.wait().expect(130);
    assert_eq!(result_of(&output)["status"], "interrupted");
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["status"], "interrupted");
}

// spec: W7
#[test]
fn a_run_is_cancelled_from_another_terminal() {
    let yaml =
        "name: slow\ndescription: d\nnodes:\n  - id: a\n    bash: touch started; sleep 1000\n    timeout: 600000\n";
    let project = project_with("slow", yaml);
    let running = run_with(&project, "slow", &[]).args(["--no-worktree"]).start();
    wait_until("the script runs", || project.root().join("started").exists());
    let runs = project.ralph(["runs", "--json"]).command().output().unwrap();
    let runs: serde_json::Value = serde_json::from_slice(&runs.stdout).unwrap();
    let run = runs[0]["id"].as_str().unwrap().to_owned();
    let cancel = project.ralph(["cancel", &run]).command().output().unwrap();
    assert!(cancel.status.success(), "{cancel:?}");
    assert_eq!(result_of(&running.wait().expect(9))["status"], "cancelled");
}

// spec: W12
#[test]
fn a_rerun_reuses_the_nodes_before_the_named_one() {
    let project = project_with("three", THREE);
    let script = project.script("text one\n---\ntext two\n");
    let output = run_with(&project, "three", &["script", &script]).output().expect(0);
    let run = result_of(&output)["run"].as_str().unwrap().to_owned();
    let again = project.ralph(["workflow", "rerun", &run, "--from", "second", "--json"]).output().expect(0);
    assert_eq!(result_of(&again)["output"], "the first output and two");
    let started: Vec<_> = events_of(&again, "node.started").iter().map(|event| event["node"].clone()).collect();
    assert_eq!(started, ["second", "third"]);
    let new = result_of(&again)["run"].as_str().unwrap().to_owned();
    let shown = project.ralph(["show", &new, "--json"]).output().expect(0).json();
    assert_eq!(shown["rerun_of"], run.as_str());
    let first = project.ralph(["show", &run, "--json"]).output().expect(0).json();
    assert_eq!(first["reruns"][0], new.as_str());
    let unknown = project.ralph(["workflow", "rerun", &run, "--from", "secnd"]).output().expect(64).stderr;
    assert!(unknown.contains("second"), "{unknown}");
}

// spec: W7
#[test]
fn the_log_has_text_and_events_as_json_lines() {
    let project = project_with("three", THREE);
    let output = run_with(&project, "three", &["work"]).output().expect(0);
    let run = result_of(&output)["run"].as_str().unwrap().to_owned();
    let log = std::fs::read_to_string(project.root().join(format!(".ralph/logs/workflow-{run}.jsonl"))).unwrap();
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert_eq!((of("workflow.started"), of("node.completed"), of("workflow.finished")), (1, 3, 1));
    assert!(of("assistant") > 0, "{log}");
    let shown = project.ralph(["logs", &run]).output().expect(0).stdout;
    assert!(shown.contains("first  completed"), "{shown}");
}

const ASKED: &str = r#"
name: asked
description: two agents that read an input
inputs:
  depth: {default: short}
nodes:
  - id: first
    prompt: first, $INPUTS.depth
    context: fresh
  - id: second
    depends_on: [first]
    context: fresh
    prompt: second, $INPUTS.depth
"#;

// spec: W12
#[test]
fn a_rerun_takes_another_agent_another_model_and_other_inputs() {
    let project = project_with("asked", ASKED);
    project.agents(&[("mine", "init\nsay mine\nresult mine\n")], "");
    project.trust();
    let run = result_of(&run_with(&project, "asked", &["echo"]).output().expect(0))["run"].as_str().unwrap().to_owned();
    let rerun = |args: &[&str]| {
        let call = project.ralph(["workflow", "rerun", &run, "--from", "second", "--json"]).args(args);
        call.output().expect(0)
    };
    let output_of = |output: &CallOutput, node: &str| {
        let run = result_of(output)["run"].as_str().unwrap().to_owned();
        let shown = project.ralph(["show", &run, "--json"]).output().expect(0).json();
        let nodes = shown["nodes"].as_array().unwrap().clone();
        nodes.iter().find(|found| found["node"] == node).unwrap()["output"].as_str().unwrap().to_owned()
    };
    let longer = rerun(&["--input", "depth=long"]);
    assert!(output_of(&longer, "second").contains("second, long"), "{}", output_of(&longer, "second"));
    assert!(output_of(&longer, "first").contains("first, short"), "the first node is reused");
    let other = rerun(&["--agent", "mine", "--model", "small-1"]);
    assert_eq!((output_of(&other, "second").as_str(), starts_of(&other)), ("mine", 1));
    let agents = &events_of(&other, "workflow.started")[0]["agents"];
    assert_eq!(agents["second"], serde_json::json!({ "agent": "mine", "model": "small-1" }));
    let unknown =
        project.ralph(["workflow", "rerun", &run, "--from", "second", "--input", "dept=x"]).output().expect(64);
    assert!(unknown.stderr.contains("has no input \"dept\""), "{}", unknown.stderr);
}

/// How many nodes a run has started.
fn starts_of(output: &CallOutput) -> usize {
    events_of(output, "node.started").len()
}
