//! Checks in workflows: judges and plugins, completions that a command or a field claims, and proof levels.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::harness::{CallOutput, Project};
use crate::workflows::runs::{events_of, result_of, run_with};

/// Reads the question; `$id` is its id.
const READ_QUESTION: &str = "cat > \"$TMPDIR/question\"\n\
    id=$(grep -o 'mark [0-9a-f]\\{32\\}' \"$TMPDIR/question\" | head -1 | cut -d' ' -f2)\n";

/// Returns a project with a workflow and other files, all of them approved.
fn project_of(yaml: &str, files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for folder in ["workflows", "verifiers"] {
        fs::create_dir_all(project.root().join(".ralph").join(folder)).unwrap();
    }
    project.write(".ralph/workflows/w.yaml", format!("name: w\ndescription: d\n{yaml}"));
    for (name, text) in files {
        fs::create_dir_all(project.root().join(name).parent().unwrap()).unwrap();
        let path = project.write(name, text);
        make_executable(&path);
    }
    project.commit();
    project.trust();
    project
}

fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A configuration with a judge that gives this finding about the first criterion.
fn judged_project(yaml: &str, is_met: bool, quotation: &str) -> Project {
    let answer = format!(
        "printf '{{\"id\":\"%s\",\"findings\":[{{\"criterion\":1,\"met\":{is_met},\"quotation\":\"{quotation}\",\
         \"reason\":\"I saw it\"}}]}}' \"$id\""
    );
    let judge = format!("#!/bin/sh\n{READ_QUESTION}{answer}\n");
    let config = "agents: {judge: {type: text, cli: ./judge.sh}}\nverification: {judge: {agent: judge}}\n";
    project_of(yaml, &[("judge.sh", &judge), (".ralph/config.yaml", config)])
}

fn run_script(project: &Project, steps: &str) -> CallOutput {
    let script = project.script(steps);
    run_with(project, "w", &["script", &script]).output()
}

fn reason_of(output: &CallOutput) -> String {
    result_of(output)["reason"].as_str().unwrap().to_owned()
}

fn loop_of(control: &str) -> String {
    format!("nodes:\n  - id: work\n    loop:\n      prompt: work on it\n{control}")
}

const JUDGED: &str = "nodes:
  - id: work
    prompt: write a greeting
  - id: verify
    depends_on: [work]
    checks: [{name: reviewed, check_for: [a greeting exists]}]
";

// spec: W3, V3
#[test]
fn a_judge_in_a_checks_node_reads_the_changes_and_the_report_of_the_agent() {
    let project = judged_project(JUDGED, true, "fn greet() {}");
    let output = run_script(&project, "write greet.rs fn greet() {}\ntext All is done.\n").expect(0);
    assert_eq!(result_of(&output)["proof"], "checked");
    let question = fs::read_to_string(project.outside("question")).unwrap();
    assert!(question.contains("+fn greet() {}") && question.contains("All is done."), "{question}");
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["proof"], "checked");
    assert_eq!(shown["nodes"][1]["proof"], "checked");
}

// spec: W3, V3
#[test]
fn a_judge_that_finds_a_criterion_unmet_fails_the_node() {
    let project = judged_project(JUDGED, false, "");
    let output = run_script(&project, "text All is done.\n").expect(3);
    assert!(reason_of(&output).contains("Criterion not evident: a greeting exists"), "{}", reason_of(&output));
}

// spec: W4, V3
#[test]
fn a_judge_decides_about_the_completion_of_a_loop() {
    let control = "      until: COMPLETE\n      max_iterations: 1\n      checks: [{check_for: [a greeting exists]}]\n";
    let script = "write greet.rs fn greet() {}\ntext {promise}\n";
    let project = judged_project(&loop_of(control), true, "fn greet() {}");
    let output = run_script(&project, script).expect(0);
    assert_eq!(result_of(&output)["proof"], "checked");
    let refused = judged_project(&loop_of(control), false, "");
    run_script(&refused, script).expect(3);
}

// spec: W4, V3
#[test]
fn a_judge_decides_when_a_command_says_that_the_loop_is_done() {
    let control =
        "      until_bash: test -e greet.rs\n      max_iterations: 2\n      checks: [{check_for: [it exists]}]\n";
    let script = "write greet.rs fn greet() {}\ntext Written.\n";
    let project = judged_project(&loop_of(control), true, "fn greet() {}");
    let output = run_script(&project, script).expect(0);
    assert_eq!((result_of(&output)["proof"].as_str(), project.starts().len()), (Some("checked"), 1));
    assert!(fs::read_to_string(project.outside("question")).unwrap().contains("Written."));
}

// spec: W3, V3, X6
#[test]
fn a_judge_of_the_project_is_not_started_before_it_is_approved() {
    let project = judged_project(JUDGED, true, "fn greet() {}");
    let config = project.root().join(".ralph/config.yaml");
    let text = fs::read_to_string(&config).unwrap();
    project.write(".ralph/config.yaml", text.replace("./judge.sh", "./other.sh"));
    let output = run_script(&project, "text x\n").expect(1);
    assert!(output.stderr.contains("the commands of this project have changed"), "{}", output.stderr);
    assert!(project.starts().is_empty());
}

const PLUGIN: &str = "#!/bin/sh\ncat > \"$TMPDIR/asked\"\nif [ -e good ]; then v=accepted; else v=rejected; fi\n\
                      printf '{\"verdict\":\"%s\",\"reason\":\"it is not good\"}' \"$v\"\n";

// spec: W3, V5
#[test]
fn a_plugin_verifies_a_checks_node() {
    let yaml = "nodes:
  - id: work
    prompt: do it
  - id: verify
    depends_on: [work]
    checks: [{name: looks right, plugin: look, config: {least: 80}}]
";
    let project = project_of(yaml, &[(".ralph/verifiers/look", PLUGIN)]);
    let failed = run_script(&project, "text I did it.\n").expect(3);
    assert!(reason_of(&failed).contains("it is not good"), "{}", reason_of(&failed));
    let asked: Value = serde_json::from_slice(&fs::read(project.outside("asked")).unwrap()).unwrap();
    assert_eq!(asked["criterion"]["config"]["least"], 80);
    assert!(asked["claim"]["report"].as_str().unwrap().contains("I did it."), "{asked}");
    let good = project_of(yaml, &[(".ralph/verifiers/look", PLUGIN)]);
    let output = run_script(&good, "touch good\ntext I did it.\n").expect(0);
    assert_eq!(result_of(&output)["proof"], "checked");
}

// spec: W4, V5, S13
#[test]
fn a_plugin_that_rejects_a_completion_is_explained_in_the_next_prompt() {
    let control = "      until_bash: test -e ready\n      max_iterations: 3\n      checks: [{plugin: look}]\n";
    let project = project_of(&loop_of(control), &[(".ralph/verifiers/look", PLUGIN)]);
    let prompt = project.outside("prompt");
    let steps = format!("touch ready\ntext one\n---\nprompt {}\ntouch good\ntext two\n", prompt.display());
    let output = run_script(&project, &steps).expect(0);
    assert_eq!((result_of(&output)["output"].as_str(), project.starts().len()), (Some("two"), 2));
    let told = fs::read_to_string(prompt).unwrap();
    assert!(told.starts_with("work on it"), "{told}");
    assert!(told.contains("`until_bash` exited with 0, but "), "{told}");
    assert!(told.contains("it is not good"), "{told}");
}

// spec: W4, S13
#[test]
fn a_rejected_completion_of_a_loop_group_is_explained_in_the_prompts_of_its_next_iteration() {
    let yaml = "nodes:
  - id: rounds
    loop_group:
      until: COMPLETE
      max_iterations: 4
      checks: [{name: ready, command: 'test -e ready || { echo it is missing; exit 1; }'}]
      nodes:
        - id: work
          prompt: work on it
        - id: review
          depends_on: [work]
          loop: {prompt: 'review it, then say COMPLETE', until: COMPLETE, max_iterations: 2}
        - id: end
          depends_on: [review]
          bash: echo COMPLETE
";
    let project = project_of(yaml, &[]);
    let prompt = |name: &str| project.outside(name).display().to_string();
    let steps = format!(
        "prompt {}\ntext one\n---\ntext {{promise}}\n---\nprompt {}\ntouch ready\ntext two\n---\nprompt {}\ntext {{promise}}\n",
        prompt("first"),
        prompt("second"),
        prompt("review")
    );
    run_script(&project, &steps).expect(0);
    let read = |name: &str| fs::read_to_string(project.outside(name)).unwrap();
    assert_eq!(read("first").trim(), "work on it");
    for (name, start) in [("second", "work on it"), ("review", "review it")] {
        let told = read(name);
        assert!(told.starts_with(start), "{told}");
        assert!(told.contains("## The work does not count as done"), "{told}");
        assert!(told.contains("`ready`: Command exited with 1"), "{told}");
        assert!(told.contains("it is missing"), "the output of the check: {told}");
    }
}

// spec: W4, V15, S13
#[test]
fn a_command_cannot_complete_a_loop_whose_agent_changed_a_check_script() {
    let control = "      until_bash: test -e ready\n      max_iterations: 4\n      checks: [sh tests/run.sh]\n";
    let project = project_of(&loop_of(control), &[("tests/run.sh", "exit 1\n")]);
    let prompt = project.outside("prompt");
    let steps = format!("prompt {}\nwrite tests/run.sh exit 0\ntouch ready\ntext done\n", prompt.display());
    let output = run_script(&project, &steps).expect(3);
    assert!(fs::read_to_string(prompt).unwrap().contains("tests/run.sh"), "the next prompt says why");
    assert_eq!(result_of(&output)["proof"], Value::Null);
}

// spec: W4, V7
#[test]
fn a_verdict_between_two_that_could_not_be_evaluated_starts_the_count_again() {
    let control = "      until_bash: |\n        if [ -e second ]; then exit 1; fi; no-such-command-here\n      max_iterations: 3\n";
    let project = project_of(&loop_of(control), &[]);
    let output =
        run_script(&project, "text one\n---\ntouch second\ntext two\n---\nremove second\ntext three\n").expect(3);
    assert!(reason_of(&output).contains("Max iterations (3)"), "{}", reason_of(&output));
    assert_eq!(project.starts().len(), 3);
}

// spec: W4, V7, S13
#[test]
fn a_command_that_could_not_run_is_explained_in_the_next_prompt() {
    let control = "      until_bash: ./check\n      max_iterations: 4\n";
    let project = project_of(&loop_of(control), &[]);
    let prompt = project.outside("prompt");
    let steps = format!("text one\n---\nprompt {}\ntext two\n", prompt.display());
    let output = run_script(&project, &steps).expect(3);
    assert!(fs::read_to_string(prompt).unwrap().contains("could not be evaluated"));
    assert!(reason_of(&output).contains("the loop cannot be evaluated"), "{}", reason_of(&output));
    assert!(reason_of(&output).contains("./check"), "{}", reason_of(&output));
}

const FIELD: &str = "nodes:
  - id: work
    output_format: {type: object, properties: {done: {type: boolean}}, required: [done]}
    loop:
      prompt: work on it
      until_field: done
      max_iterations: 3
";

// spec: W4
#[test]
fn a_field_that_is_true_completes_the_loop_by_the_word_of_the_agent() {
    let project = project_of(FIELD, &[]);
    let prompt = project.outside("prompt");
    let steps = format!("prompt {}\ntext {{\"done\": false}}\n---\ntext {{\"done\": true}}\n", prompt.display());
    let output = run_script(&project, &steps).expect(0);
    assert_eq!((result_of(&output)["proof"].as_str(), project.starts().len()), (Some("unverified"), 2));
    let sent = fs::read_to_string(prompt).unwrap();
    assert!(sent.contains("\"done\""), "the prompt describes the format: {sent}");
    let never = project_of(FIELD, &[]);
    let output = run_script(&never, "text {\"done\": false}\n").expect(3);
    assert!(reason_of(&output).contains("Max iterations (3)"), "{}", reason_of(&output));
}

// spec: W4, V16
#[test]
fn checks_alone_complete_a_loop_once_they_accept() {
    let control = "      max_iterations: 4\n      checks: [{name: ready, command: test -e ready}]\n";
    let project = project_of(&loop_of(control), &[]);
    let prompt = project.outside("prompt");
    let steps = format!("text one\n---\nprompt {}\ntouch ready\ntext two\n", prompt.display());
    let output = run_script(&project, &steps).expect(0);
    assert_eq!((result_of(&output)["output"].as_str(), project.starts().len()), (Some("two"), 2));
    assert_eq!(result_of(&output)["proof"], "proven", "the check failed before the work");
    assert!(fs::read_to_string(prompt).unwrap().contains("ready"), "the next prompt says what fails");
}

// spec: V16
#[test]
fn a_workflow_has_the_lowest_proof_level_of_its_loops_and_checks() {
    let proven = "  - id: work
    loop:
      prompt: go <promise>COMPLETE</promise>
      until: COMPLETE
      max_iterations: 2
      checks: [test -e done]
";
    let table = [
        ("", "proven"),
        ("  - id: more\n    depends_on: [work]\n    checks: ['true']\n", "checked"),
        (
            "  - id: more\n    depends_on: [work]\n    loop: {prompt: go COMPLETE, until: COMPLETE, max_iterations: 2}\n",
            "unverified",
        ),
        (
            "  - id: more\n    depends_on: [work]\n    loop: {prompt: go, until_bash: 'true', max_iterations: 2}\n",
            "checked",
        ),
        ("  - id: more\n    depends_on: [work]\n    bash: echo it does not count\n", "proven"),
    ];
    for (more, level) in table {
        let project = project_of(&format!("nodes:\n{proven}{more}"), &[]);
        let output = run_script(&project, "touch done\ntext {promise}\n").expect(0);
        assert_eq!(result_of(&output)["proof"], level, "{more}: {}", output.stdout);
        let shown = project.ralph(["show"]).output().expect(0).stdout;
        assert!(shown.contains(&format!("proof     {level}")), "{shown}");
        let listed = project.ralph(["runs", "--json"]).output().expect(0).json();
        let run = listed.as_array().unwrap().iter().find(|run| run["kind"] == "workflow").unwrap();
        assert_eq!((&run["proof"], &run["status"]), (&level.into(), &"completed".into()));
        let listed = project.ralph(["runs"]).output().expect(0).stdout;
        assert!(listed.contains(&format!("completed ({level})")), "{listed}");
    }
    let without = project_of("nodes:\n  - id: a\n    bash: 'true'\n", &[]);
    let output = run_script(&without, "").expect(0);
    assert_eq!(result_of(&output)["proof"], "unverified");
}

// spec: W4, V16
#[test]
fn a_command_gives_at_most_the_level_checked() {
    let control = "      until_bash: test -e done\n      max_iterations: 2\n      checks: [test -e done]\n";
    let project = project_of(&loop_of(control), &[]);
    let output = run_script(&project, "touch done\ntext done\n").expect(0);
    assert_eq!(result_of(&output)["proof"], "checked");
    assert_eq!(events_of(&output, "node.completed")[0]["proof"], "checked");
}

const GATE: &str = "nodes:
  - id: work
    loop:
      prompt: work on it
      until: COMPLETE
      interactive: true
      gate_message: Good?
      max_iterations: 4
      checks: [{name: ready, command: test -e ready}]
";

// spec: W4, W13
#[test]
fn the_signal_of_an_interactive_loop_counts_only_if_its_checks_accept() {
    let project = project_of(GATE, &[]);
    let prompt = project.outside("prompt");
    let steps =
        format!("text first\\n{{promise}}\n---\nprompt {}\ntouch ready\ntext second\\n{{promise}}\n", prompt.display());
    let output = run_script(&project, &steps).expect(6);
    let run = result_of(&output)["run"].as_str().unwrap().to_owned();
    let done = project.ralph(["workflow", "respond", &run, "continue", "once more", "--json"]).output().expect(0);
    assert_eq!(result_of(&done)["output"], "second", "a person has been asked before this iteration");
    assert!(fs::read_to_string(prompt).unwrap().contains("the agent gave the completion signal, but "));
    assert_eq!(result_of(&done)["proof"], "proven");
}
