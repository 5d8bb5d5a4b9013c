//! Requests that arrive exactly between two loops of a task: between stages, between attempts, in the set-up.
use std::fs;

use rustix::process::Signal;

use crate::control::cancel::beside;
use crate::harness::{Call, Project, Running, wait_until};
use crate::process_table::state_of;
use crate::work::leases::query_numbers;
use crate::work::pipeline::{project, shown, starts, statuses, work, write_agent_command};
use crate::work::setup_commands::configure_setup;

fn status_of(project: &Project, task: &str) -> String {
    let loops = beside(project, &["status", "--json"]).expect(0).json();
    let found = loops.as_array().unwrap().iter().find(|found| found["task"] == task).cloned();
    found.map(|found| found["status"].as_str().unwrap().to_owned()).unwrap_or_default()
}

fn has_status(project: &Project, status: &str) -> bool {
    statuses(project) == [("T-1".to_owned(), status.to_owned())]
}

/// A worker with two stages.
fn worker(project: &Project) -> Call<'_> {
    work(project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder,reviewer")
}

/// Starts a worker that stops itself at a point of the code, and waits for that.
fn start_stopped_worker<'a>(call: Call<'a>, point: &str) -> Running<'a> {
    let working = call.env("RALPH_FAIL", format!("{point}:1:stop")).start();
    wait_until("the worker has stopped itself", || state_of(working.pid()) == Some('T'));
    working
}

/// Sends a request to a worker that is stopped, and lets it continue once the request is stored.
fn request_while_stopped(project: &Project, working: &Running<'_>, args: &[&str]) -> String {
    let count = || {
        let waiting = query_numbers(project, "SELECT 'all', COUNT(*) FROM orders WHERE taken_at IS NULL");
        waiting.get("all").copied().unwrap_or_default()
    };
    let before = count();
    let call = project.ralph(args.iter().copied()).start();
    wait_until("the request is stored", || count() > before);
    working.signal(Signal::CONT);
    call.wait_without_invariants().expect(0).stdout
}

/// Makes the coder wait for a file before it claims.
fn gate_coder(project: &Project) {
    let agent = fs::read_to_string(project.outside("agent.sh")).unwrap();
    let gate = "[ $role = coder ] && { touch \"$marks/holding\"; while [ ! -e \"$marks/go\" ]; do sleep 0.05; done; }\ncase $role in";
    fs::write(project.outside("agent.sh"), agent.replacen("case $role in", gate, 1)).unwrap();
}

fn assert_paused_before(project: &Project, working: Running<'_>, started: &[&str]) {
    wait_until("the next stage is paused", || status_of(project, "T-1") == "paused");
    assert_eq!(starts(project), started, "no agent works during the pause");
    beside(project, &["resume", "T-1"]).expect(0);
    working.wait().expect(0);
    assert!(has_status(project, "done"));
}

// spec: L11, U3
// finding: N16
#[test]
fn a_pause_between_two_stages_pauses_the_next_stage() {
    let project = project(&[("T-1", "")]);
    let working = start_stopped_worker(worker(&project), "accept.begins");
    let printed = request_while_stopped(&project, &working, &["pause", "T-1"]);
    assert_eq!(printed, "Paused Ralph loop for T-1 at iteration 0/5\n");
    assert_paused_before(&project, working, &["T-1 coder"]);
}

// spec: L11, U3
// finding: N16
#[test]
fn a_pause_in_the_last_iteration_of_a_stage_pauses_the_next_stage() {
    let project = project(&[("T-1", "")]);
    gate_coder(&project);
    let working = worker(&project).start();
    wait_until("the coder holds", || project.outside("marks/holding").exists());
    let printed = beside(&project, &["pause", "T-1"]).expect(0).stdout;
    assert_eq!(printed, "The Ralph loop for T-1 at iteration 1/15 pauses after this iteration\n");
    write_agent_command(&project, "go");
    assert_paused_before(&project, working, &["T-1 coder"]);
}

// spec: L11, U3
// finding: N16
#[test]
fn a_pause_while_the_accepting_verification_runs_pauses_the_next_stage() {
    let project = project(&[("T-1", "")]);
    let working = start_stopped_worker(worker(&project), "verify.started");
    request_while_stopped(&project, &working, &["pause", "T-1"]);
    assert_paused_before(&project, working, &["T-1 coder"]);
}

// spec: L11, P5
// finding: N16
#[test]
fn a_pause_in_the_last_iteration_of_a_failed_attempt_pauses_the_next_attempt() {
    let project = project(&[("T-1", "")]);
    let agent = fs::read_to_string(project.outside("agent.sh")).unwrap();
    let gate = "if [ ! -e \"$marks/holding\" ]; then touch \"$marks/holding\"; while [ ! -e \"$marks/go\" ]; do sleep 0.05; done; exit 0; fi\ncase $role in";
    fs::write(project.outside("agent.sh"), agent.replacen("case $role in", gate, 1)).unwrap();
    let working = worker(&project).env("RALPH_CODER_MAX_ITERATIONS", "1").start();
    wait_until("the coder holds", || project.outside("marks/holding").exists());
    beside(&project, &["pause", "T-1"]).expect(0);
    write_agent_command(&project, "go");
    assert_paused_before(&project, working, &["T-1 coder"]);
    assert_eq!(shown(&project, "T-1")["runs"].as_array().unwrap().len(), 3, "two attempts of the coder");
}

// spec: L11, U3
// finding: N16
#[test]
fn a_pause_during_the_set_up_pauses_the_first_stage() {
    let project = project(&[("T-1", "")]);
    let marks = project.outside("marks");
    let setup = format!("touch {0}/setup; while [ ! -e {0}/go ]; do sleep 0.05; done", marks.display());
    configure_setup(&project, &[setup]);
    let working = worker(&project).start();
    wait_until("the set-up runs", || marks.join("setup").exists());
    let call = project.ralph(["pause", "T-1"]).start();
    wait_until("the pause is stored", || {
        query_numbers(&project, "SELECT kind, COUNT(*) FROM orders GROUP BY kind").contains_key("pause")
    });
    write_agent_command(&project, "go");
    assert_eq!(call.wait_without_invariants().expect(0).stdout, "Paused Ralph loop for T-1 at iteration 0/15\n");
    assert_paused_before(&project, working, &[]);
}

// spec: L11, L13
// finding: N16
#[test]
fn a_task_without_a_worker_is_paused_for_the_next_worker_until_it_is_resumed() {
    let project = project(&[("T-1", "")]);
    let printed = project.ralph(["pause", "T-1"]).output().expect(0).stdout;
    assert_eq!(printed, "T-1 has no loop at the moment; its next one starts paused\n");
    let working = worker(&project).start();
    assert_paused_before(&project, working, &[]);

    let project = self::project(&[("T-1", "")]);
    project.ralph(["pause", "T-1"]).output().expect(0);
    let printed = project.ralph(["resume", "T-1"]).output().expect(0).stdout;
    assert_eq!(printed, "T-1 is not paused any more; its next loop starts as usual\n");
    worker(&project).output().expect(0);
}

// spec: L11, U3
// finding: N16
#[test]
fn a_pause_that_no_stage_could_reach_ends_with_the_task() {
    let project = project(&[("T-1", "")]);
    gate_coder(&project);
    let working = work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder").start();
    wait_until("the coder holds", || project.outside("marks/holding").exists());
    beside(&project, &["pause", "T-1"]).expect(0);
    write_agent_command(&project, "go");
    working.wait().expect(0);
    assert!(has_status(&project, "done"));
    let left = query_numbers(&project, "SELECT kind, COUNT(*) FROM orders WHERE taken_at IS NULL GROUP BY kind");
    assert!(left.is_empty(), "{left:?}");
    let refused = project.ralph(["pause", "T-1"]).output().expect(1);
    assert!(refused.stderr.contains("no loop is running for T-1"), "{}", refused.stderr);
}

// spec: L11, U3
// finding: N16
#[test]
fn a_cancel_between_two_stages_cancels_the_task() {
    let project = project(&[("T-1", "")]);
    let working = start_stopped_worker(worker(&project), "accept.begins");
    assert_eq!(request_while_stopped(&project, &working, &["cancel", "T-1"]), "Cancelled T-1\n");
    let answer = working.wait().expect(3);
    assert_eq!(answer.events_named("task.over")[0]["reason"], "cancelled before its next loop started");
    assert!(has_status(&project, "cancelled"));
    assert_eq!(starts(&project), ["T-1 coder"]);
}

// spec: U3
// finding: N16
#[test]
fn guidance_between_two_stages_is_in_the_prompt_of_the_next() {
    let project = project(&[("T-1", "")]);
    let working = start_stopped_worker(worker(&project), "accept.begins");
    request_while_stopped(&project, &working, &["guide", "T-1", "mind the gap"]);
    working.wait().expect(0);
    let prompt = fs::read_to_string(project.outside("marks/prompt-T-1-reviewer")).unwrap();
    assert!(prompt.contains("> mind the gap\n"), "{prompt}");
}
