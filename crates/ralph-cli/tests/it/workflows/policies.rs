//! Promises of a workflow file about its run: evidence, unchanged files, models, results; metadata of the run; gc.
use serde_json::{Value, json};

use crate::harness::Project;
use crate::workflows::runs::{events_of, project_with, result_of, run_with};

// spec: W3
#[test]
fn a_run_that_must_leave_evidence_fails_without_it() {
    let yaml = |script: &str| {
        format!("name: w\ndescription: d\nevidence_policy: {{required: true}}\nnodes:\n  - id: a\n    bash: {script}\n")
    };
    let project = project_with("w", &yaml("'true'"));
    let result = result_of(&run_with(&project, "w", &[]).output().expect(3));
    assert_eq!(result["status"], "failed");
    assert!(result["reason"].as_str().unwrap().contains("$ARTIFACTS_DIR/evidence.json"), "{result}");
    let project = project_with("w", &yaml("echo '{}' > $ARTIFACTS_DIR/evidence.json"));
    run_with(&project, "w", &[]).output().expect(0);
}

// spec: W3
#[test]
fn with_mutates_checkout_false_a_node_that_changes_files_fails() {
    let yaml = r"
name: look
description: only reads
mutates_checkout: false
nodes:
  - id: reads
    bash: git log --oneline | wc -l; touch ignored.tmp
  - id: writes
    depends_on: [reads]
    bash: echo x > made
";
    let project = project_with("look", yaml);
    project.write(".gitignore", "*.tmp\n.ralph/\n");
    project.commit();
    for place in [&[][..], &["--no-worktree"]] {
        let result = result_of(&run_with(&project, "look", &[]).args(place.iter().copied()).output().expect(3));
        assert_eq!(
            result["reason"],
            "node writes failed: it has changed files, but the workflow says `mutates_checkout: false`: made",
            "the node `reads` has changed only an ignored file"
        );
        let _ = std::fs::remove_file(project.root().join("made"));
    }
}

// spec: W3
#[test]
fn the_result_is_the_output_of_the_node_that_returns_names_and_its_verdict_decides() {
    let yaml = |passed: bool| {
        format!(
            r#"
name: w
description: d
returns: verdict
outcome_field: passed
nodes:
  - id: verdict
    bash: echo '{{"passed":{passed},"note":"n"}}'
    output_format: {{type: object, properties: {{passed: {{type: boolean}}, note: {{type: string}}}}, required: [passed]}}
  - id: after
    depends_on: [verdict]
    bash: echo something else
"#
        )
    };
    let project = project_with("w", &yaml(true));
    let result = result_of(&run_with(&project, "w", &[]).output().expect(0));
    let output: Value = serde_json::from_str(result["output"].as_str().unwrap()).unwrap();
    assert_eq!(output, json!({ "passed": true, "note": "n" }));
    let project = project_with("w", &yaml(false));
    let result = result_of(&run_with(&project, "w", &[]).output().expect(3));
    assert_eq!(result["reason"], "`passed` of the result is not true");
}

// spec: W7
#[test]
fn the_metadata_has_the_iterations_and_the_last_output_and_the_start_names_the_agents() {
    let yaml = r"
name: w
description: d
nodes:
  - id: work
    loop: {prompt: work, until: DONE, max_iterations: 5}
  - id: note
    depends_on: [work]
    bash: echo noted
";
    let project = project_with("w", yaml);
    let script = project.script("text first\n---\ntext second <promise>DONE</promise>\n");
    let output = run_with(&project, "w", &["script", &script]).output().expect(0);
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(
        shown["metadata"],
        json!({ "iteration_count": 2, "max_iterations": 5, "last_output": "noted", "proof": "unverified" })
    );
    let started = &events_of(&output, "workflow.started")[0];
    assert_eq!(started["agents"]["work"]["agent"], "text");
    assert_eq!(started["file_sha256"].as_str().unwrap().len(), 64);
    assert!(started["base_commit"].is_string(), "{started}");
}

// spec: W7
#[test]
fn a_loop_that_is_exhausted_fails_and_keeps_its_last_output() {
    let yaml =
        "name: w\ndescription: d\nnodes:\n  - id: work\n    loop: {prompt: work, until: DONE, max_iterations: 2}\n";
    let project = project_with("w", yaml);
    let script = project.script("text first\n---\ntext second\n");
    let result = result_of(&run_with(&project, "w", &["script", &script]).output().expect(3));
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("Max iterations (2) reached without completion signal \"DONE\""), "{reason}");
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["metadata"]["last_output"], "second");
}

// spec: L8, W3
#[test]
fn the_spending_limit_covers_the_run_with_its_children() {
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    let child = "name: child\ndescription: d\nnodes:\n  - id: a\n    prompt: work\n";
    let parent = "name: parent\ndescription: d\nnodes:\n  - id: each\n    workflow: child\n    \
                  fan_out: {items: '[1, 2, 3, 4, 5]', max_parallel: 1}\n";
    project.write(".ralph/workflows/child.yaml", child);
    project.write(".ralph/workflows/parent.yaml", parent);
    // One turn that costs a cent.
    project.agents(&[("mine", "init\nsay still at it\nresult still at it\n")], "");
    project.commit();
    project.trust();
    let call = ["workflow", "run", "parent", "--agent", "mine", "--json", "--max-cost", "0.02"];
    let result = result_of(&project.ralph(call).output().expect(7));
    assert_eq!(result["status"], "over_budget");
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["cost_micros"], 20_000);
    let children: Vec<&Value> = shown["children"].as_array().unwrap().iter().map(|child| &child["status"]).collect();
    assert_eq!(children.len(), 2, "{children:?}");
}

// spec: W7
#[test]
fn gc_removes_ended_workflow_runs_with_their_children_and_keeps_those_that_wait() {
    let asks = "name: asks\ndescription: d\nnodes:\n  - id: a\n    prompt: work\n  - id: q\n    depends_on: [a]\n    \
                approval: {message: ok?}\n";
    let parent = "name: parent\ndescription: d\nnodes:\n  - id: c\n    workflow: child\n";
    let child = "name: child\ndescription: d\nnodes:\n  - id: a\n    prompt: work\n";
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    for (name, text) in [("asks", asks), ("parent", parent), ("child", child)] {
        project.write(&format!(".ralph/workflows/{name}.yaml"), text);
    }
    project.commit();
    project.trust();
    run_with(&project, "asks", &["work"]).output().expect(6);
    let waiting = project.ralph(["show", "--json"]).output().expect(0).json();
    let ended = result_of(&run_with(&project, "parent", &["work"]).output().expect(0));
    project.ralph(["gc", "--older-than", "1ms", "--all"]).output().expect(0);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
    assert_eq!(runs[0]["id"], waiting["id"]);
    assert!(!project.state().join("runs").join(ended["run"].as_str().unwrap()).exists());
    let shown = project.ralph(["show", runs[0]["id"].as_str().unwrap(), "--json"]).output().expect(0).json();
    assert_eq!(shown["nodes"][0]["runs"].as_array().unwrap().len(), 1, "the run of its agent is kept: {shown}");
    let worktree = project.state().join("trees");
    let kept = std::fs::read_dir(worktree).unwrap().count();
    assert_eq!(kept, 1, "the work tree of the run that waits is kept, the one without work is removed");
    project.ralph(["workflow", "approve", runs[0]["id"].as_str().unwrap(), "--json"]).output().expect(0);
}

// spec: W7
#[test]
fn the_log_has_the_text_and_the_tool_calls_of_agents_the_steps_and_the_errors() {
    let yaml = "name: w\ndescription: d\nnodes:\n  - id: think\n    prompt: work\n  - id: broken\n    \
                depends_on: [think]\n    bash: echo no >&2; exit 7\n";
    let project = project_with("w", yaml);
    project.agents(&[("mine", "init\nsay I look first\ntool Bash ls -l\nresult all is there\n")], "");
    project.trust();
    let call = ["workflow", "run", "w", "--agent", "mine", "--json"];
    let run = result_of(&project.ralph(call).output().expect(3))["run"].as_str().unwrap().to_owned();
    let log = std::fs::read_to_string(project.root().join(format!(".ralph/logs/workflow-{run}.jsonl"))).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find = |event: &str| {
        let found = lines.iter().find(|line| line["event"] == event);
        found.unwrap_or_else(|| panic!("no {event} in {log}"))
    };
    assert_eq!((&find("assistant")["node"], &find("assistant")["text"]), (&json!("think"), &json!("I look first")));
    assert_eq!((&find("tool")["name"], &find("tool")["node"]), (&json!("Bash"), &json!("think")));
    assert_eq!(find("node.failed")["reason"], "exit code 7: no");
    assert_eq!(find("workflow.finished")["status"], "failed");
}
