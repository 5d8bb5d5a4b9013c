//! Requests for tasks of a worker: one process has many loops, and each receives only its own requests.
use std::fs;

use rustix::process::Signal;

use crate::control::cancel::beside;
use crate::harness::{Call, Project, wait_until};
use crate::work::pipeline::{project, start_held_worker, starts, statuses, wait_for_end, work, write_agent_command};

fn status_of(project: &Project, task: &str) -> String {
    let loops = beside(project, &["status", "--json"]).expect(0).json();
    let found = loops.as_array().unwrap().iter().find(|found| found["task"] == task).cloned();
    found.map(|found| found["status"].as_str().unwrap().to_owned()).unwrap_or_default()
}

fn has_status(project: &Project, task: &str, status: &str) -> bool {
    statuses(project).contains(&(task.to_owned(), status.to_owned()))
}

/// A worker whose only stage is the coder.
fn coder_only_worker(project: &Project) -> Call<'_> {
    work(project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder")
}

// spec: L11, U3
#[test]
fn a_cancelled_task_frees_the_worker_for_the_others() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    let working = start_held_worker(&project, "coder", coder_only_worker(&project));
    let call = beside(&project, &["cancel", "T-1"]).expect(0);
    assert_eq!(call.stdout, "Cancelled Ralph loop for T-1 at iteration 1/15\n");
    let answer = working.wait().expect(3);
    assert!(
        has_status(&project, "T-1", "cancelled") && has_status(&project, "T-2", "done"),
        "{:?}",
        statuses(&project)
    );
    assert_eq!(starts(&project), ["T-1 coder", "T-2 coder"]);
    assert_eq!(answer.events_named("stop.requested").len(), 1, "the other loop heard nothing");
    assert_eq!(beside(&project, &["retry", "T-1"]).expect(0).stdout, "T-1 is ready again\n");
    coder_only_worker(&project).output().expect(0);
    assert!(has_status(&project, "T-1", "done"));
}

// spec: L11, U3
#[test]
fn a_task_is_paused_guided_and_resumed_by_its_name() {
    let project = project(&[("T-1", "")]);
    let working = start_held_worker(&project, "coder", coder_only_worker(&project));
    let call = beside(&project, &["pause", "T-1", "--now"]).expect(0);
    assert_eq!(call.stdout, "Paused Ralph loop for T-1 at iteration 1/15\n");
    assert_eq!(status_of(&project, "T-1"), "paused");
    beside(&project, &["guide", "T-1", "mind the gap"]).expect(0);
    let call = beside(&project, &["resume", "T-1"]).expect(0);
    assert_eq!(call.stdout, "Resumed Ralph loop for T-1 at iteration 1/15\n");
    working.wait().expect(0);
    let prompt = fs::read_to_string(project.outside("marks/prompt-T-1-coder")).unwrap();
    assert!(prompt.contains("> mind the gap\n"), "{prompt}");
    assert_eq!(starts(&project), ["T-1 coder", "T-1 coder"]);
}

// spec: L11, P1
#[test]
fn a_paused_task_frees_its_slot_and_continues_on_resume() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    let working = start_held_worker(&project, "coder", coder_only_worker(&project));
    beside(&project, &["pause", "T-1", "--now"]).expect(0);
    wait_for_end(&working, "T-2");
    assert_eq!(status_of(&project, "T-1"), "paused");
    assert!(working.is_alive(), "it is not idle while a task is paused");
    beside(&project, &["resume", "T-1"]).expect(0);
    working.wait().expect(0);
    assert_eq!(starts(&project), ["T-1 coder", "T-2 coder", "T-1 coder"]);
    assert!(has_status(&project, "T-1", "done"));
}

// spec: L11, L13
// fault: 1
#[test]
fn a_paused_task_whose_worker_was_killed_stays_paused_for_the_next_worker() {
    let project = project(&[("T-1", "")]);
    let working = start_held_worker(&project, "coder", coder_only_worker(&project));
    beside(&project, &["pause", "T-1", "--now"]).expect(0);
    working.signal(Signal::KILL);
    working.wait_without_invariants();
    assert_eq!(status_of(&project, "T-1"), "died");
    let printed = beside(&project, &["status"]).expect(0).stdout;
    assert!(printed.contains("    died; ralph work resumes it\n"), "{printed}");
    let working = coder_only_worker(&project).start();
    wait_until("it is paused again", || status_of(&project, "T-1") == "paused");
    assert_eq!(starts(&project).len(), 1, "no agent works during a pause");
    beside(&project, &["resume", "T-1"]).expect(0);
    working.wait().expect(0);
    assert!(has_status(&project, "T-1", "done"));
}

// spec: L11
#[test]
fn a_task_cancelled_before_its_stage_started_never_starts_an_agent() {
    let project = project(&[("T-1", "")]);
    let working = start_held_worker(&project, "coder", coder_only_worker(&project));
    working.signal(Signal::STOP);
    beside(&project, &["cancel", "T-1", "--no-wait"]).expect(0);
    working.signal(Signal::KILL);
    working.wait_without_invariants();
    coder_only_worker(&project).output().expect(3);
    assert!(has_status(&project, "T-1", "cancelled"), "{:?}", statuses(&project));
    assert_eq!(starts(&project).len(), 1);
}

// spec: U3
#[test]
fn guidance_that_a_stage_did_not_receive_goes_to_the_next() {
    let project = project(&[("T-1", "")]);
    // The coder works until it is released, and its claim is then accepted at once.
    let agent = fs::read_to_string(project.outside("agent.sh")).unwrap();
    let gate = "[ $role = coder ] && { touch \"$marks/holding\"; while [ ! -e \"$marks/go\" ]; do sleep 0.05; done; }\ncase $role in";
    fs::write(project.outside("agent.sh"), agent.replacen("case $role in", gate, 1)).unwrap();
    let working = work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder,reviewer").start();
    wait_until("the coder holds", || project.outside("marks/holding").exists());
    beside(&project, &["guide", "T-1", "mind the gap"]).expect(0);
    write_agent_command(&project, "go");
    working.wait().expect(0);
    let prompt = |role: &str| fs::read_to_string(project.outside(&format!("marks/prompt-T-1-{role}"))).unwrap();
    assert!(!prompt("coder").contains("mind the gap"));
    assert!(prompt("reviewer").contains("> mind the gap\n"), "{}", prompt("reviewer"));
}

// spec: L11
#[test]
fn of_two_concurrent_cancels_of_a_worker_s_task_one_cancels_before_it_reports() {
    let project = project(&[("T-1", "")]);
    let working = start_held_worker(&project, "coder", coder_only_worker(&project));
    let both = [(); 2].map(|()| project.ralph(["cancel", "T-1"]).start());
    let answer = both.map(|call| call.wait_without_invariants().expect(0).stdout);
    let cancelled = answer.iter().filter(|answer| answer.starts_with("Cancelled Ralph loop for T-1")).count();
    assert_eq!(cancelled, 1, "{answer:?}");
    assert!(has_status(&project, "T-1", "cancelled"));
    working.wait().expect(3);
}
