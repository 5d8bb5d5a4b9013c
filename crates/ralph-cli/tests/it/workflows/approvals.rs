//! Approvals: the run waits, and only a person continues it.
use crate::harness::Project;
use crate::workflows::runs::{events_of, project_with, result_of, run_with};

const APPROVAL: &str = r#"
name: release
description: asks before it publishes
nodes:
  - id: build
    bash: echo v1
  - id: ask
    depends_on: [build]
    approval:
      message: Publish $build.output?
      capture_response: true
  - id: publish
    depends_on: [ask]
    bash: |
      printf 'published: %s' "$ask.output"
"#;

fn waiting_run(project: &Project) -> String {
    let output = run_with(project, "release", &[]).output().expect(6);
    let asked = events_of(&output, "question.asked");
    assert_eq!(asked[0]["text"], "Publish v1?");
    result_of(&output)["run"].as_str().unwrap().to_owned()
}

// spec: W13
#[test]
fn a_run_waits_without_a_terminal_and_prints_the_command_that_answers() {
    let project = project_with("release", APPROVAL);
    let output = project.ralph(["workflow", "run", "release"]).output().expect(6);
    assert!(output.stdout.contains("ask asks:\nPublish v1?"), "{}", output.stdout);
    assert!(output.stdout.contains("ralph workflow approve "), "{}", output.stdout);
    let status = project.ralph(["status"]).output().expect(0).stdout;
    assert!(status.contains("release") && status.contains("waiting"), "{status}");
}

// spec: W13
#[test]
fn an_approval_continues_the_run_with_the_text_of_the_person() {
    let project = project_with("release", APPROVAL);
    let run = waiting_run(&project);
    let output = project.ralph(["workflow", "approve", &run, "ship", "it", "--json"]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "published: ship it");
    let started: Vec<_> = events_of(&output, "node.started").iter().map(|event| event["node"].clone()).collect();
    assert_eq!(started, ["publish"], "nodes that have finished do not run again");
    let second = project.ralph(["workflow", "approve", &run]).output().expect(1).stderr;
    assert!(second.contains("asks nothing"), "{second}");
}

// spec: W13
#[test]
fn a_rejection_cancels_the_run() {
    let project = project_with("release", APPROVAL);
    let run = waiting_run(&project);
    let output = project.ralph(["workflow", "reject", &run, "not today", "--json"]).output().expect(9);
    assert_eq!(result_of(&output)["status"], "cancelled");
    assert!(result_of(&output)["reason"].as_str().unwrap().contains("not today"));
}

// spec: W13
#[test]
fn a_stored_answer_is_applied_by_resume() {
    let project = project_with("release", APPROVAL);
    let run = waiting_run(&project);
    project.ralph(["resume", &run, "--json"]).output().expect(6);
    project.ralph(["workflow", "approve", &run, "yes", "--no-resume"]).output().expect(0);
    let output = project.ralph(["resume", &run, "--json"]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "published: yes");
}

// spec: W13
#[test]
fn named_decisions_are_data_for_the_nodes_after_them() {
    let yaml = r#"
name: release
description: asks
nodes:
  - id: ask
    approval:
      message: Publish v1?
      decisions:
        - {id: approve, label: Publish}
        - {id: later, label: Not now}
  - id: note
    depends_on: [ask]
    when: $ask.output.decision == 'later'
    bash: printf '%s' "$ask.output.text"
"#;
    let project = project_with("release", yaml);
    let run = waiting_run(&project);
    let unknown = project.ralph(["workflow", "respond", &run, "maybe"]).output().expect(64).stderr;
    assert!(unknown.contains("approve, later"), "{unknown}");
    let output = project.ralph(["workflow", "respond", &run, "later", "after the audit", "--json"]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "after the audit");
}

// spec: W13
#[test]
fn an_agent_reworks_what_was_rejected_and_the_person_is_asked_again() {
    let yaml = r"
name: release
description: asks
nodes:
  - id: ask
    approval:
      message: Publish v1?
      on_reject: {prompt: 'Fix this: $REJECTION_REASON', max_attempts: 2}
";
    let project = project_with("release", yaml);
    let prompt = project.outside("prompt");
    let script = project.script(&format!("prompt {}\ntext fixed\n", prompt.display()));
    let first = run_with(&project, "release", &["script", &script]).output().expect(6);
    let run = result_of(&first)["run"].as_str().unwrap().to_owned();
    let again = project.ralph(["workflow", "reject", &run, "too long", "--json"]).output().expect(6);
    assert_eq!(std::fs::read_to_string(prompt).unwrap(), "Fix this: too long");
    assert_eq!(events_of(&again, "question.asked").len(), 1);
    project.ralph(["workflow", "approve", &run, "--json"]).output().expect(0);
}

// spec: W13, V17
#[test]
fn an_agent_of_the_project_cannot_answer() {
    let project = project_with("release", APPROVAL);
    let run = waiting_run(&project);
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let answer = format!("cat >/dev/null; {ralph} workflow approve {run} 2>&1; echo '<promise>COMPLETE</promise>'");
    project.run_shell(&answer).args(["--max-iterations", "1"]).output().expect(3);
    let log = String::from_utf8(project.log("iteration-001.ndjson")).unwrap();
    assert!(log.contains("an agent cannot answer a question of a workflow run"), "{log}");
    let shown = project.ralph(["show", &run, "--json"]).output().expect(0).json();
    assert_eq!(shown["status"], "waiting");
}
