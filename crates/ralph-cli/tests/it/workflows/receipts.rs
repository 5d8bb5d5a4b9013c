//! Receipts of loops that something else than the promise of their run completes.
use serde_json::{Value, json};

use crate::harness::{CallOutput, Project};
use crate::workflows::runs::{events_of, project_with, result_of, run_with};

fn loop_workflow(control: &str) -> String {
    format!(
        "name: story\ndescription: d\nnodes:\n  - id: work\n    loop:\n      prompt: work on it\n      \
         max_iterations: 3\n{control}"
    )
}

fn run_script(project: &Project, steps: &str) -> CallOutput {
    let script = project.script(steps);
    run_with(project, "story", &["script", &script]).output()
}

/// Returns the receipt of the first node in `ralph show`.
fn shown_receipt(project: &Project, output: &CallOutput) -> Value {
    let run = result_of(output)["run"].as_str().unwrap().to_owned();
    project.ralph(["show", &run, "--json"]).output().expect(0).json()["nodes"][0]["receipt"].clone()
}

// spec: W4, V14
#[test]
fn a_loop_that_a_command_completes_has_a_receipt_with_the_command_and_the_files() {
    let project = project_with("story", &loop_workflow("      until_bash: test -e ready\n"));
    let output = run_script(&project, "text not yet\n---\ntouch ready\ntext now\n").expect(0);
    let receipt = shown_receipt(&project, &output);
    assert_eq!(receipt["completed_by"], json!({"channel": "until_bash", "command": "test -e ready"}));
    assert_eq!(
        (&receipt["proof"], &receipt["verified"], &receipt["iterations"]),
        (&json!("checked"), &json!(true), &json!(2))
    );
    assert_eq!(
        (&receipt["kind"], &receipt["node"], &receipt["workflow"]),
        (&json!("loop_node"), &json!("work"), &json!("story"))
    );
    assert_eq!(receipt["repository"]["tree"].as_str().unwrap().len(), 40);
    assert_eq!(receipt["repository"]["committed"], false, "`ready` is not committed");
    let loop_run = receipt["run"].as_str().unwrap();
    assert_ne!(project.ralph(["show", loop_run, "--json"]).output().expect(0).json()["status"], "completed");
    let events: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place_of = |name: &str| events.iter().position(|event| event["event"] == name).unwrap();
    let place = place_of("receipt");
    assert!(place_of("node.completed") < place && place < place_of("workflow.finished"));
    assert_eq!((&events[place]["sha256"], &events[place]["receipt"]["node"]), (&receipt["sha256"], &json!("work")));
    let shown = project.ralph(["show", result_of(&output)["run"].as_str().unwrap()]).output().expect(0).stdout;
    assert!(shown.contains("receipt   work: completed by `until_bash`: test -e ready (checked)"), "{shown}");
}

// spec: W4
#[test]
fn a_loop_that_ends_with_its_signal_has_the_receipt_of_its_run_only() {
    let project = project_with("story", &loop_workflow("      until: DONE\n"));
    let output = run_script(&project, "text <promise>DONE</promise>\n").expect(0);
    assert_eq!(events_of(&output, "receipt").len(), 0);
    let shown =
        project.ralph(["show", result_of(&output)["run"].as_str().unwrap(), "--json"]).output().expect(0).json();
    assert_eq!(shown["nodes"][0]["receipt"], Value::Null);
    let run = shown["nodes"][0]["runs"][0].as_str().unwrap();
    let run = project.ralph(["show", run, "--json"]).output().expect(0).json();
    assert_eq!((&run["status"], &run["receipt"]["verified"]), (&json!("completed"), &json!(false)));
}

// spec: W4, V14
#[test]
fn a_loop_that_its_checks_complete_names_them_with_their_verdicts() {
    let project = project_with("story", &loop_workflow("      checks: [test -e ready]\n"));
    let output = run_script(&project, "text not yet\n---\ntouch ready\ntext now\n").expect(0);
    let receipt = shown_receipt(&project, &output);
    assert_eq!(receipt["completed_by"], json!({"channel": "checks"}));
    assert_eq!(receipt["proof"], result_of(&output)["proof"]);
    let checks: Vec<_> = receipt["checks"].as_array().unwrap().iter().collect();
    let commands: Vec<_> = checks.iter().filter(|check| check["method"] == "external").collect();
    assert_eq!((&commands[0]["command"], &commands[0]["verdict"]), (&json!("test -e ready"), &json!("accepted")));
}

// spec: W4
#[test]
fn a_field_completes_a_loop_by_the_word_of_the_agent_and_its_receipt_says_so() {
    let workflow = loop_workflow("      until_field: done\n").replace(
        "    loop:\n",
        "    output_format: {type: object, properties: {done: {type: boolean}}, required: [done]}\n    loop:\n",
    );
    let project = project_with("story", &workflow);
    let output = run_script(&project, "text {\"done\": true}\n").expect(0);
    let receipt = shown_receipt(&project, &output);
    assert_eq!(receipt["completed_by"], json!({"channel": "until_field", "field": "done"}));
    assert_eq!((&receipt["proof"], &receipt["verified"]), (&json!("unverified"), &json!(false)));
}

const GROUP: &str = "name: story
description: d
nodes:
  - id: group
    loop_group:
      CONTROL
      max_iterations: 3
      nodes:
        - id: step
          bash: |
            echo step >> steps
            if [ $(wc -l < steps) -ge 2 ]; then echo '<promise>DONE</promise>'; else echo more; fi
";

// spec: W4
#[test]
fn a_group_of_nodes_has_a_receipt_whatever_completes_it() {
    let cases = [
        ("until: DONE", json!({"channel": "signal"}), false),
        (
            "until_bash: test $(wc -l < steps) -ge 2",
            json!({"channel": "until_bash", "command": "test $(wc -l < steps) -ge 2"}),
            true,
        ),
        ("checks: [test $(wc -l < steps) -ge 2]", json!({"channel": "checks"}), true),
    ];
    for (control, channel, verified) in cases {
        let project = project_with("story", &GROUP.replace("CONTROL", control));
        let output = run_with(&project, "story", &[]).output().expect(0);
        let receipt = shown_receipt(&project, &output);
        assert_eq!(receipt["completed_by"], channel);
        assert_eq!((&receipt["verified"], &receipt["iterations"]), (&json!(verified), &json!(2)), "{control}");
        assert_eq!(receipt["run"], Value::Null);
    }
}

// spec: W4, W13
#[test]
fn the_receipt_of_a_loop_that_a_person_completes_names_the_person() {
    let project = project_with(
        "story",
        &loop_workflow("      interactive: true\n      gate_message: Good?\n      until: DONE\n"),
    );
    let waiting = run_script(&project, "text a try\n").expect(6);
    let run = result_of(&waiting)["run"].as_str().unwrap().to_owned();
    let done = project.ralph(["workflow", "respond", &run, "complete", "--json"]).output().expect(0);
    let person = events_of(&done, "question.answered")[0]["person"].clone();
    let receipt = shown_receipt(&project, &done);
    assert_eq!((&receipt["completed_by"], &receipt["accepted_by"]), (&json!({"channel": "person"}), &person));
    assert_eq!((&receipt["proof"], &receipt["iterations"]), (&json!("unverified"), &json!(1)));
}
