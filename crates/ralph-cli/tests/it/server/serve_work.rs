//! `ralph serve --work`: the server also works on tasks.
use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::served_project::ServedProject;
use super::server_process::ServerProcess;
use crate::harness::{Project, wait_until};
use crate::work::pipeline::{self, write_agent_command};

/// A project with these tasks whose configuration names the agent of `pipeline`.
fn project(tasks: &[(&str, &str)]) -> Project {
    let project = pipeline::project(tasks);
    let agent = project.outside("agent.sh").display().to_string();
    let folder = project.home().join(".config/ralph");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), format!("agent: mine\nagents: {{mine: {{type: text, cli: '{agent}'}}}}\n"))
        .unwrap();
    project
}

fn status_of(project: &Project, task: &str) -> String {
    let shown = project.ralph(["task", "show", task, "--json"]).start().wait_without_invariants().expect(0).json();
    shown["status"].as_str().unwrap().to_owned()
}

fn starts(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.outside("marks/starts")).unwrap_or_default();
    text.lines().map(|line| line.split(" /").next().unwrap().to_owned()).collect()
}

// spec: U5
#[test]
fn a_server_with_a_worker_finishes_the_ready_tasks_and_answers_requests() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    let server = ServerProcess::start(&project, &["--work", "--slots", "2"]);
    for task in ["T-1", "T-2"] {
        wait_until(&format!("{task} is done"), || status_of(&project, task) == "done");
    }
    server.running.wait_for_stderr("no task is ready; waiting for tasks");
    server.get("/").expect(200);
    let output = server.stop();
    assert!(output.stderr.contains("T-1  done"), "{}", output.stderr);
}

// spec: U5
#[test]
fn a_worker_that_an_order_starts_finishes_the_ready_tasks_and_ends() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    let served = ServedProject::start(&project);
    let order = json!({ "slots": 2, "until_idle": true });
    assert_eq!(served.post("/api/work", &order).expect(201).json()["slots"], 2);
    for task in ["T-1", "T-2"] {
        wait_until(&format!("{task} is done"), || {
            served.get(&format!("/api/tasks/{task}")).expect(200).json()["status"] == "done"
        });
    }
    served.server.wait_for_stderr("the worker has stopped; the server continues without it");
    assert_eq!(served.get("/api/status").expect(200).json()["deferred_tasks"], json!([]));
    // The next order starts another one.
    served.post("/api/work", &order).expect(201);
    let output = served.stop();
    assert!(output.stderr.contains("T-1  done"), "{}", output.stderr);
    let mut worked = starts(&project);
    worked.sort();
    assert_eq!(
        worked,
        ["T-1 coder", "T-1 qa", "T-1 reviewer", "T-1 tester", "T-2 coder", "T-2 qa", "T-2 reviewer", "T-2 tester"]
    );
}

// spec: U5, U6
#[test]
fn why_a_worker_cannot_start_a_task_is_shown_wherever_the_task_is() {
    let project = project(&[("T-1", "")]);
    fs::remove_file(project.outside("agent.sh")).unwrap();
    let served = ServedProject::start(&project);
    served.post("/api/work", &json!({})).expect(201);
    let mut deferred = Value::Null;
    wait_until("the task is deferred", || {
        deferred = served.get("/api/status").expect(200).json()["deferred_tasks"][0].clone();
        deferred["task"] == "T-1"
    });
    let reason = deferred["reason"].as_str().unwrap();
    assert!(reason.contains("agent.sh"), "{reason}");
    served.server.wait_for_stderr("T-1  skipped: ");
    let page = served.get("/tasks/T-1").expect(200).body;
    assert!(page.contains("The worker could not start it"), "{page}");
    assert!(page.contains("agent.sh"), "{page}");
    let board = served.get("/board").expect(200).body;
    assert!(board.contains("not started: "), "{board}");
    served.stop();
}

// spec: U5, L13
// fault: 1
#[test]
fn a_stopped_server_interrupts_its_stage_politely_and_the_next_one_resumes_it() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-hold-T-1-coder");
    let server = ServerProcess::start(&project, &["--work"]);
    wait_until("the coder is at work", || project.outside("marks/holding").exists());
    let output = server.stop();
    assert!(output.stderr.contains("T-1  stopped in coder"), "{}", output.stderr);
    let server = ServerProcess::start(&project, &["--work"]);
    wait_until("T-1 is done", || status_of(&project, "T-1") == "done");
    server.stop();
    assert_eq!(starts(&project), ["T-1 coder", "T-1 coder", "T-1 reviewer", "T-1 tester", "T-1 qa"]);
}

// spec: L18
// fault: 1
#[test]
fn a_parked_task_survives_a_killed_server_and_the_next_one_continues_it_once() {
    let project = project(&[("T-1", "")]);
    fs::write(project.outside("marks/wish-wait-T-1-coder"), "3s").unwrap();
    let start = || {
        let call = project.ralph(["serve", "--port", "0", "--work"]).env("RALPH_LIMITS_PARK_AFTER", "1s");
        ServerProcess::start_call(call)
    };
    let server = start();
    server.running.wait_for_stderr("coder is parked until");
    server.running.signal(Signal::KILL);
    server.running.wait_without_invariants();
    let server = start();
    wait_until("T-1 is done", || status_of(&project, "T-1") == "done");
    server.stop();
    assert_eq!(starts(&project), ["T-1 coder", "T-1 coder", "T-1 reviewer", "T-1 tester", "T-1 qa"]);
}

// spec: U5
#[test]
fn a_worker_that_ends_is_reported_and_the_server_continues() {
    let tasks = [("T-1", ""), ("T-2", ""), ("T-3", "")];
    let project = project(&tasks);
    for (task, _) in tasks {
        write_agent_command(&project, &format!("always-fail-{task}-coder"));
    }
    let server = ServerProcess::start_call(
        project.ralph(["serve", "--port", "0", "--work"]).env("RALPH_LIMITS_MAX_RETRIES", "0"),
    );
    server.running.wait_for_stderr("3 tasks failed in a row");
    server.running.wait_for_stderr("the worker has stopped; the server continues without it");
    server.get("/").expect(200);
    server.stop();
}
