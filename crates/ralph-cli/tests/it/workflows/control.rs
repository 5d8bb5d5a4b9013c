//! Control of workflow runs from another terminal: pause, guidance, limits, following, background.
use serde_json::Value;

use crate::harness::{Project, wait_until};
use crate::workflows::runs::{events_of, project_with, result_of, run_with};

/// Two scripts; the first waits for a file.
const TWO: &str = r#"
name: two
description: two scripts
nodes:
  - id: first
    timeout: 600000
    bash: touch "$STATE_DIR/began"; until [ -e "$STATE_DIR/go" ]; do sleep 0.05; done; echo one >> "$STATE_DIR/log"
  - id: second
    depends_on: [first]
    bash: echo two >> "$STATE_DIR/log"; echo end
"#;

/// Runs a command beside a process that drives a run.
fn beside(project: &Project, args: &[&str]) -> String {
    let output = project.ralph(args.iter().copied()).command().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn newest_run(project: &Project) -> String {
    let runs: Value = serde_json::from_str(&beside(project, &["runs", "--json"])).unwrap();
    runs[0]["id"].as_str().unwrap().to_owned()
}

fn state_file(project: &Project, name: &str) -> std::path::PathBuf {
    project.state().join("workflow-state").join(name)
}

// spec: W7, L18
#[test]
fn a_paused_run_ends_its_nodes_starts_no_others_and_is_resumed() {
    let project = project_with("two", TWO);
    let running = run_with(&project, "two", &[]).start();
    wait_until("the first script runs", || state_file(&project, "began").exists());
    let run = newest_run(&project);
    let said = beside(&project, &["pause", &run]);
    assert!(said.contains("pauses when the nodes that run have ended"), "{said}");
    let paused = |log: &str| log.contains("pauses the run when the nodes that run have ended");
    let log = project.root().join(format!(".ralph/logs/workflow-{run}.jsonl"));
    wait_until("the order is taken", || paused(&std::fs::read_to_string(&log).unwrap()));
    std::fs::write(state_file(&project, "go"), "").unwrap();
    let result = result_of(&running.wait().expect(143));
    assert_eq!((&result["status"], &result["reason"]), (&"interrupted".into(), &"paused by a person".into()));
    assert_eq!(std::fs::read_to_string(state_file(&project, "log")).unwrap(), "one\n");
    project.ralph(["resume", &run, "--json"]).output().expect(0);
    assert_eq!(std::fs::read_to_string(state_file(&project, "log")).unwrap(), "one\ntwo\n");
}

// spec: W7, L18
#[test]
fn a_run_that_is_paused_at_once_stops_its_nodes_and_repeats_them() {
    let project = project_with("two", TWO);
    let running = run_with(&project, "two", &[]).start();
    wait_until("the first script runs", || state_file(&project, "began").exists());
    let run = newest_run(&project);
    beside(&project, &["pause", &run, "--now"]);
    assert_eq!(result_of(&running.wait().expect(143))["reason"], "paused by a person");
    assert!(!state_file(&project, "log").exists());
    std::fs::write(state_file(&project, "go"), "").unwrap();
    project.ralph(["resume", &run, "--json"]).output().expect(0);
    assert_eq!(std::fs::read_to_string(state_file(&project, "log")).unwrap(), "one\ntwo\n");
}

// spec: W3, L18
#[test]
fn a_pause_reaches_child_runs_too() {
    let child = TWO.replace("name: two", "name: child");
    let parent = "name: parent\ndescription: d\nnodes:\n  - id: c\n    workflow: child\n";
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(".ralph/workflows/child.yaml", child);
    project.write(".ralph/workflows/parent.yaml", parent);
    project.commit();
    project.trust();
    let running = run_with(&project, "parent", &[]).start();
    wait_until("the first script runs", || state_file(&project, "began").exists());
    let run = newest_run(&project);
    beside(&project, &["pause", &run]);
    let log = project.root().join(format!(".ralph/logs/workflow-{run}.jsonl"));
    wait_until("the order is taken", || std::fs::read_to_string(&log).unwrap().contains("pauses the run"));
    std::fs::write(state_file(&project, "go"), "").unwrap();
    assert_eq!(result_of(&running.wait().expect(143))["reason"], "paused by a person");
    assert_eq!(std::fs::read_to_string(state_file(&project, "log")).unwrap(), "one\n");
    assert_eq!(result_of(&project.ralph(["resume", &run, "--json"]).output().expect(0))["output"], "end");
    assert_eq!(std::fs::read_to_string(state_file(&project, "log")).unwrap(), "one\ntwo\n");
}

// spec: W7, L18
#[test]
fn guidance_is_in_the_prompt_of_the_next_agent_and_only_there() {
    let yaml = r"
name: asks
description: an approval, then two agents
nodes:
  - id: ok
    approval: {message: go on?}
  - id: first
    depends_on: [ok]
    context: fresh
    prompt: the first task
  - id: second
    depends_on: [first]
    context: fresh
    prompt: the second task
";
    let project = project_with("asks", yaml);
    run_with(&project, "asks", &["echo"]).output().expect(6);
    let run = newest_run(&project);
    let said = project.ralph(["guide", &run, "Leave the old parser alone"]).output().expect(0).stdout;
    assert!(said.contains("the next agent that starts gets it"), "{said}");
    project.ralph(["workflow", "approve", &run, "--json"]).output().expect(0);
    let shown = project.ralph(["show", &run, "--json"]).output().expect(0).json();
    let output_of = |node: &str| {
        let found = shown["nodes"].as_array().unwrap().iter().find(|found| found["node"] == node).unwrap();
        found["output"].as_str().unwrap().to_owned()
    };
    assert!(output_of("first").contains("Leave the old parser alone"), "{}", output_of("first"));
    assert!(!output_of("second").contains("Leave the old parser alone"), "{}", output_of("second"));
}

// spec: W7, L18
#[test]
fn guidance_that_is_kept_is_in_the_prompts_of_all_later_agents_until_it_is_cleared() {
    let yaml = r"
name: asks
description: an approval before each agent
nodes:
  - id: ok
    approval: {message: go on?}
  - id: first
    depends_on: [ok]
    context: fresh
    loop: {prompt: the first task, until: COMPLETE, max_iterations: 3}
  - id: second
    depends_on: [first]
    workflow: child
  - id: again
    depends_on: [second]
    approval: {message: go on?}
  - id: third
    depends_on: [again]
    context: fresh
    prompt: the third task
";
    let child = "name: child\ndescription: d\nnodes:\n  - id: only\n    prompt: the second task\n";
    let project = project_with("asks", yaml);
    project.write(".ralph/workflows/child.yaml", child);
    project.commit();
    project.trust();
    let prompt = |name: &str| project.outside(name).display().to_string();
    let script = project.script(&format!(
        "prompt {}\ntext not yet\n---\nprompt {}\ntext {{promise}}\n---\nprompt {}\ntext two\n---\nprompt {}\ntext three\n",
        prompt("1"),
        prompt("2"),
        prompt("3"),
        prompt("4")
    ));
    run_with(&project, "asks", &["script", &script]).output().expect(6);
    let run = newest_run(&project);
    let said = project.ralph(["guide", &run, "--keep", "Leave the old parser alone"]).output().expect(0).stdout;
    assert!(said.contains("it is part of every later prompt"), "{said}");
    assert_eq!(project.ralph(["guide", &run, "--list"]).output().expect(0).stdout, "Leave the old parser alone\n");
    project.ralph(["workflow", "approve", &run, "--json"]).output().expect(6);
    let read = |name: &str| std::fs::read_to_string(project.outside(name)).unwrap();
    for name in ["1", "2", "3"] {
        assert!(read(name).contains("Leave the old parser alone"), "prompt {name}: {}", read(name));
    }
    project.ralph(["guide", &run, "--clear"]).output().expect(0);
    assert_eq!(project.ralph(["guide", &run, "--list"]).output().expect(0).stdout, "");
    project.ralph(["workflow", "approve", &run, "--json"]).output().expect(0);
    assert!(!read("4").contains("Leave the old parser alone"), "{}", read("4"));
}

// spec: W7, L18
#[test]
fn a_stopped_run_is_in_the_inbox_and_continues_in_the_background() {
    let project = project_with("two", TWO);
    let running = run_with(&project, "two", &[]).start();
    wait_until("the first script runs", || state_file(&project, "began").exists());
    let run = newest_run(&project);
    let busy = project.ralph(["resume", &run, "--detach"]).command().output().unwrap();
    assert!(String::from_utf8_lossy(&busy.stderr).contains("another process drives workflow run"), "{busy:?}");
    beside(&project, &["pause", &run, "--now"]);
    running.wait().expect(143);
    let inbox = project.ralph(["inbox", "--json"]).output().expect(0).json();
    let item = &inbox[0];
    assert_eq!(
        (&item["kind"], &item["run"], &item["title"]),
        (&"interrupted".into(), &run.as_str().into(), &"two".into())
    );
    assert_eq!(item["reason"], "interrupted: paused by a person");
    assert_eq!(item["commands"][0], format!("ralph resume {}", item["id"].as_str().unwrap()));
    std::fs::write(state_file(&project, "go"), "").unwrap();
    let started: Value = serde_json::from_str(&beside(&project, &["resume", &run, "--detach", "--json"])).unwrap();
    assert_eq!(started["run"], run.as_str());
    let attached = project.ralph(["attach", &run]).output().expect(0).stdout;
    assert!(attached.contains("completed: all nodes have ended"), "{attached}");
    assert_eq!(project.ralph(["inbox", "--json"]).output().expect(0).stdout, "[]\n");
    let ended = project.ralph(["resume", &run, "--detach"]).output().expect(0);
    assert!(ended.stderr.contains("has ended; nothing was started"), "{}", ended.stderr);
}

// spec: L18
#[test]
fn a_workflow_run_is_not_resumed_with_guidance_or_limits_of_a_loop() {
    let project = project_with("w", "name: w\ndescription: d\nnodes:\n  - id: a\n    approval: {message: ok?}\n");
    run_with(&project, "w", &[]).output().expect(6);
    for args in [["--guide", "be quick"], ["--max-cost", "5"]] {
        let refused = project.ralph(["resume"]).args(args).output().expect(64).stderr;
        assert!(refused.contains("takes guidance and limits by commands of their own"), "{refused}");
    }
}

// spec: L8, L18
#[test]
fn a_new_spending_limit_holds_for_a_run_that_waits() {
    let yaml = "name: asks\ndescription: d\nnodes:\n  - id: a\n    prompt: work\n  - id: ok\n    depends_on: [a]\n    \
                approval: {message: ok?}\n  - id: b\n    depends_on: [ok]\n    prompt: work\n  - id: c\n    \
                depends_on: [b]\n    prompt: work\n";
    let project = project_with("asks", yaml);
    // One turn that costs a cent.
    project.agents(&[("mine", "init\nsay still at it\nresult still at it\n")], "");
    project.trust();
    project.ralph(["workflow", "run", "asks", "--agent", "mine", "--json"]).output().expect(6);
    let run = newest_run(&project);
    let no_limit = project.ralph(["limit", &run, "--max-cost", "+1"]).output().expect(64).stderr;
    assert!(no_limit.contains("has no spending limit to add to"), "{no_limit}");
    let said = project.ralph(["limit", &run, "--max-cost", "0.02"]).output().expect(0).stdout;
    assert!(said.contains("$0.02"), "{said}");
    let other = project.ralph(["limit", &run, "--max-iterations", "3"]).output().expect(64).stderr;
    assert!(other.contains("a workflow run has only a spending limit"), "{other}");
    let result = result_of(&project.ralph(["workflow", "approve", &run, "--json"]).output().expect(7));
    assert_eq!(result["status"], "over_budget");
}

// spec: W7
#[test]
fn a_run_in_the_background_is_followed_by_attach_and_logs() {
    let project = project_with("two", TWO);
    let started = project
        .ralph(["workflow", "run", "two", "--agent", "text", "--agent-cmd", crate::harness::FAKE_AGENT])
        .args(["--detach", "--json"])
        .command()
        .output()
        .unwrap();
    assert!(started.status.success(), "{started:?}");
    let started: Value = serde_json::from_slice(&started.stdout).unwrap();
    let run = started["run"].as_str().unwrap().to_owned();
    wait_until("the first script runs", || state_file(&project, "began").exists());
    let attached = project.ralph(["attach", &run]).start();
    let logs = project.ralph(["logs", &run, "-f"]).start();
    std::fs::write(state_file(&project, "go"), "").unwrap();
    for followed in [attached, logs] {
        let shown = followed.wait().expect(0).stdout;
        assert!(shown.contains("second  completed") && shown.contains("completed: all nodes have ended"), "{shown}");
    }
    let shown = project.ralph(["show", &run, "--json"]).output().expect(0).json();
    assert_eq!(shown["status"], "completed");
}

// spec: W8
#[test]
fn messages_that_cannot_be_printed_are_counted_and_do_not_stop_the_run() {
    let yaml = "name: w\ndescription: d\nnodes:\n  - id: a\n    bash: echo fine\n";
    let project = project_with("w", yaml);
    let call = project.ralph(["workflow", "run", "w"]);
    let redirect = ["-c".to_owned(), "exec \"$0\" \"$@\" 2> /dev/full".to_owned()];
    let output = call.run_under("sh", redirect).output().expect(0);
    assert!(output.stdout.contains("completed: all nodes have ended"), "{}", output.stdout);
    assert!(output.stdout.contains("lost      3 messages could not be printed"), "{}", output.stdout);
}

// spec: W7
#[test]
fn a_run_without_a_message_has_the_name_of_its_workflow_as_title() {
    let yaml = "name: slow\ndescription: d\nnodes:\n  - id: a\n    bash: 'true'\n";
    let project = project_with("slow", yaml);
    let output = run_with(&project, "slow", &[]).output().expect(0);
    assert_eq!(events_of(&output, "workflow.started").len(), 1);
    let listed = project.ralph(["runs"]).output().expect(0).stdout;
    assert!(listed.contains("slow") && !listed.contains("slow:"), "{listed}");
}
