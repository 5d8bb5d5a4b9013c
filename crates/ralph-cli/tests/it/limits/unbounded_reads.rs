//! Files that cannot be read to their end: every read of the work tree is bounded, and a stop ends it.
use std::fs;
use std::time::Instant;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;

use crate::harness::{Call, Project, WAIT_TIMEOUT, wait_until};

fn make_pipe(project: &Project, name: &str) {
    mkfifoat(CWD, project.root().join(name), Mode::RWXU).unwrap();
}

/// A run that seals a folder with a file of 15 terabytes, all of it a hole.
fn run_with_huge_guarded_file(project: &Project) -> Call<'_> {
    fs::create_dir(project.root().join("tests")).unwrap();
    project.write("tests/a", "a test\n");
    project.commit();
    fs::File::create(project.root().join("tests/big")).unwrap().set_len(15 << 40).unwrap();
    project.run(&["complete"]).args(["--check", "true", "--guard", "tests/**"])
}

// finding: N40
#[test]
fn a_guarded_file_that_is_too_large_to_hash_stops_the_run_at_once() {
    let project = Project::new();
    let answer = run_with_huge_guarded_file(&project).output();
    assert!(answer.stdout.contains("tests/big") && answer.stdout.contains("larger than 4 GB"), "{}", answer.stdout);
    assert!(project.starts().is_empty());
}

// finding: N40
#[test]
fn pipes_in_the_work_tree_block_nothing() {
    let project = Project::new();
    fs::create_dir(project.root().join("tests")).unwrap();
    project.write("tests/a", "a test\n");
    project.commit();
    make_pipe(&project, "tests/pipe");
    make_pipe(&project, "pipe");
    project.run(&["complete"]).args(["--check", "true", "--guard", "tests/**"]).output().expect(0);
}

/// Starts a run whose first snapshot blocks on a pipe, and waits until git reads it.
fn blocked_snapshot(project: &Project) -> Call<'_> {
    project.commit();
    make_pipe(project, ".gitignore");
    project.run(&["complete"])
}

fn has_git(project: &Project) -> bool {
    project.processes().iter().any(|process| format!("{process:?}").contains("git --no-optional-locks"))
}

// finding: N40
#[test]
fn a_snapshot_that_blocks_ends_with_every_kind_of_stop() {
    for (signals, code) in [(&[Signal::INT][..], 130), (&[Signal::INT, Signal::INT], 130), (&[Signal::TERM], 143)] {
        let project = Project::new();
        let running = blocked_snapshot(&project).start();
        wait_until("git blocks", || has_git(&project));
        running.wait_for_event("run.started");
        let asked = Instant::now();
        signals.iter().for_each(|signal| running.signal(*signal));
        running.wait().expect(code);
        assert!(asked.elapsed() < WAIT_TIMEOUT / 4, "{:?}", asked.elapsed());
        assert!(project.starts().is_empty() && !has_git(&project), "no agent was started, and no git is left");
    }
}

// finding: N40
#[test]
fn a_cancel_and_a_time_limit_end_a_snapshot_that_blocks() {
    let project = Project::new();
    let running = blocked_snapshot(&project).start();
    let run = running.wait_for_event("run.started")["run"].as_str().unwrap().to_owned();
    project.ralph(["cancel", &run]).output().expect(0);
    running.wait();
    assert!(project.starts().is_empty() && !has_git(&project));
    let limited = project.run(&["complete"]).args(["--max-duration", "1s"]).output();
    assert!(limited.stdout.contains("over_budget"), "{}", limited.stdout);
    assert!(project.starts().is_empty() && !has_git(&project));
}

// finding: N40
#[test]
fn no_git_outlives_a_killed_ralph() {
    let project = Project::new();
    let running = blocked_snapshot(&project).start();
    wait_until("git blocks", || has_git(&project));
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    wait_until("git has ended", || !has_git(&project));
}
