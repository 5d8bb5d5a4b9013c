//! Only one process works on a task, also when a manual run and a worker start at the same moment.
use rustix::process::Signal;

use crate::harness::{Call, Project, Running, wait_until};
use crate::process_table::state_of;
use crate::work::pipeline::{project, start_held_worker, starts, statuses, work, write_agent_command};

fn manual_run(project: &Project) -> Call<'_> {
    let agent = project.outside("agent.sh").display().to_string();
    project.ralph(["task", "run", "T-1", "--agent", "text", "--agent-cmd", &agent, "--json"])
}

/// Starts a ralph that stops right before it starts the stage.
fn start_stopped_at(call: Call<'_>) -> Running<'_> {
    let running = call.env("RALPH_FAIL", "stage.begins:1:stop").start();
    wait_until("it sleeps", || state_of(running.pid()) == Some('T'));
    running
}

/// Continues it and returns its error.
fn refused(sleeper: Running<'_>) -> String {
    sleeper.signal(Signal::CONT);
    sleeper.wait_without_invariants().expect(1).stderr
}

fn end(worker: Running<'_>) {
    worker.signal(Signal::INT);
    worker.wait().expect(130);
}

// spec: P1, L14
// fault: 94
#[test]
fn a_manual_run_does_not_start_if_a_worker_leased_the_task_first() {
    let project = project(&[("T-1", "")]);
    let sleeper = start_stopped_at(manual_run(&project));
    let worker = start_held_worker(&project, "coder", work(&project, &["T-1"]));
    let printed = refused(sleeper);
    assert!(printed.contains("another ralph is working on task T-1") && printed.contains("ralph status"), "{printed}");
    assert_eq!(starts(&project), ["T-1 coder"]);
    end(worker);
}

// spec: P1, L13, L14
// fault: 94
#[test]
fn a_manual_resume_is_refused_if_a_worker_has_the_task() {
    let project = project(&[("T-1", "")]);
    let first = start_held_worker(&project, "coder", manual_run(&project));
    let run = first.stdout_so_far().split('"').find(|part| part.len() == 36).unwrap().to_owned();
    end(first);
    let sleeper = start_stopped_at(project.ralph(["resume", &run, "--json"]));
    write_agent_command(&project, "wish-hold-T-1-coder");
    let worker = work(&project, &["T-1"]).start();
    wait_until("the worker's coder is at work", || starts(&project).len() == 2);
    let printed = refused(sleeper);
    assert!(printed.contains("another ralph is working on task T-1"), "{printed}");
    let late = project.ralph(["resume", &run]).start().wait_without_invariants().expect(1).stderr;
    assert!(late.contains("a worker has task T-1: process "), "{late}");
    assert_eq!(starts(&project).len(), 2);
    end(worker);
}

// spec: P1, L14
#[test]
fn the_task_of_a_killed_worker_can_be_run_manually_at_once() {
    let project = project(&[("T-1", "")]);
    let dead = start_held_worker(&project, "coder", work(&project, &["T-1"]).env("RALPH_PIPELINE_LEASE", "1h"));
    dead.signal(Signal::KILL);
    dead.wait_without_invariants();
    manual_run(&project).output().expect(0);
    assert_eq!(statuses(&project)[0].1, "reviewing");
}

// spec: P6
// fault: 94
#[test]
fn a_task_whose_stage_was_started_manually_meanwhile_is_not_changed() {
    let project = project(&[("T-1", "")]);
    let edit = ["task", "edit", "T-1", "--status", "blocked"];
    let sleeper = project.ralph(edit).env("RALPH_FAIL", "hold.looked:1:stop").start();
    wait_until("it sleeps", || state_of(sleeper.pid()) == Some('T'));
    let running = start_held_worker(&project, "coder", manual_run(&project));
    let printed = refused(sleeper);
    assert!(printed.contains("is working on task T-1"), "{printed}");
    end(running);
    assert_eq!(statuses(&project)[0].1, "coding");
    manual_run(&project).output().expect(0);
}
