//! A task has one who works on it, also where one comes by hand and the other is a worker, at the same moment.
use rustix::process::Signal;

use crate::harness::{Call, Project, Running, wait_until};
use crate::processes::state_of;
use crate::work::{holding, project, starts, statuses, wish, work};

fn by_hand(project: &Project) -> Call<'_> {
    let agent = project.outside("agent.sh").display().to_string();
    project.ralph(["task", "run", "T-1", "--agent", "text", "--agent-cmd", &agent, "--json"])
}

/// Starts a ralph that falls asleep at the last moment before it begins.
fn asleep(call: Call<'_>) -> Running<'_> {
    let running = call.env("RALPH_FAIL", "stage.begins:1:stop").start();
    wait_until("it sleeps", || state_of(running.pid()) == Some('T'));
    running
}

/// Wakes it, and returns why it begins nothing.
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
fn who_works_by_hand_begins_nothing_where_a_worker_was_quicker() {
    let project = project(&[("T-1", "")]);
    let sleeper = asleep(by_hand(&project));
    let worker = holding(&project, "coder", work(&project, &["T-1"]));
    let told = refused(sleeper);
    assert!(told.contains("another ralph is working on task T-1") && told.contains("ralph status"), "{told}");
    assert_eq!(starts(&project), ["T-1 coder"]);
    end(worker);
}

// spec: P1, L13, L14
// fault: 94
#[test]
fn who_goes_on_by_hand_goes_on_with_nothing_that_a_worker_has() {
    let project = project(&[("T-1", "")]);
    let first = holding(&project, "coder", by_hand(&project));
    let run = first.so_far().split('"').find(|part| part.len() == 36).unwrap().to_owned();
    end(first);
    let sleeper = asleep(project.ralph(["resume", &run, "--json"]));
    wish(&project, "wish-hold-T-1-coder");
    let worker = work(&project, &["T-1"]).start();
    wait_until("the worker's coder is at work", || starts(&project).len() == 2);
    let told = refused(sleeper);
    assert!(told.contains("another ralph is working on task T-1"), "{told}");
    let late = project.ralph(["resume", &run]).start().wait_without_invariants().expect(1).stderr;
    assert!(late.contains("a worker has task T-1: process "), "{late}");
    assert_eq!(starts(&project).len(), 2);
    end(worker);
}

// spec: P1, L14
#[test]
fn the_task_of_a_killed_worker_can_be_worked_on_by_hand_at_once() {
    let project = project(&[("T-1", "")]);
    let dead = holding(&project, "coder", work(&project, &["T-1"]).env("RALPH_PIPELINE_LEASE", "1h"));
    dead.signal(Signal::KILL);
    dead.wait_without_invariants();
    by_hand(&project).output().expect(0);
    assert_eq!(statuses(&project)[0].1, "reviewing");
}

// spec: P6
// fault: 94
#[test]
fn nobody_moves_a_task_whose_stage_began_by_hand_since_the_first_look() {
    let project = project(&[("T-1", "")]);
    let edit = ["task", "edit", "T-1", "--status", "blocked"];
    let sleeper = project.ralph(edit).env("RALPH_FAIL", "hold.looked:1:stop").start();
    wait_until("it sleeps", || state_of(sleeper.pid()) == Some('T'));
    let running = holding(&project, "coder", by_hand(&project));
    let told = refused(sleeper);
    assert!(told.contains("is working on task T-1"), "{told}");
    end(running);
    assert_eq!(statuses(&project)[0].1, "coding");
    by_hand(&project).output().expect(0);
}
