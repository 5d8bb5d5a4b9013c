//! Kills between the two writes of a session event: the loop file is written, the facts are not stored yet.
use serde_json::Value;

use super::hooks::{hook, start, status, stop};
use crate::harness::Project;

const DONE: &str = "<promise>DONE</promise>";

fn events(project: &Project) -> Vec<(i64, String)> {
    let printed = project.ralph(["events", "--json"]).output().expect(0).stdout;
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        (event["seq"].as_i64().unwrap(), event["event"].as_str().unwrap().to_owned())
    };
    printed.lines().map(event).collect()
}

/// Kills a hook after it has written the loop file for the N-th time.
fn kill_hook(project: &Project, message: &str, number: u32) {
    let call = project.ralph(["hook", "claude"]).input(stop("s", message).to_string());
    let killed = call.env("RALPH_FAIL", format!("loop.file.written:{number}")).start().wait_without_invariants();
    assert_eq!(killed.code(), -6, "{}", killed.stderr);
}

fn assert_recorded_once(project: &Project, expected: &[&str]) {
    let found = events(project);
    let numbers: Vec<i64> = found.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=i64::try_from(found.len()).unwrap()).collect::<Vec<_>>());
    let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, expected);
}

const OPENING: [&str; 3] = ["run.started", "iteration.started", "attempt.started"];

// spec: D1, H4
// finding: N34
#[test]
fn the_facts_of_a_hook_that_is_killed_before_it_stores_them_are_stored_once_by_the_next_one() {
    let project = Project::new();
    start(&project, "s", &["--max-iterations=9"]).output().expect(0);
    kill_hook(&project, "On it.", 1);
    assert_recorded_once(&project, &OPENING);
    assert_eq!(status(&project, "s")["iteration"], 2);
    hook(&project, "claude", &stop("s", "Still on it."));
    let turn = ["attempt.ended", "claim", "iteration.ended", "iteration.started", "attempt.started"];
    assert_recorded_once(&project, &[&OPENING[..], &turn, &turn].concat());
}

// spec: D1, H4
// finding: N34
#[test]
fn the_verdict_and_the_end_of_a_loop_are_stored_once_by_the_hook_after_a_killed_one() {
    let project = Project::new();
    start(&project, "s", &["--check", "test -f done.txt"]).output().expect(0);
    let opening = ["run.started", "run.sealed", "baseline", "iteration.started", "attempt.started"];
    assert_recorded_once(&project, &opening);
    // The second write is that of the verdict.
    kill_hook(&project, DONE, 2);
    let claim = ["attempt.ended", "claim"];
    assert_recorded_once(&project, &[&opening[..], &claim].concat());
    project.write("done.txt", "");
    hook(&project, "claude", &stop("s", DONE));
    let rejected = ["verdict", "iteration.ended", "iteration.started", "attempt.started"];
    let accepted = ["attempt.ended", "claim", "verdict", "iteration.ended", "run.finished"];
    assert_recorded_once(&project, &[&opening[..], &claim, &rejected, &accepted].concat());
}

// spec: D1, H4
// finding: N34
#[test]
fn a_loop_whose_start_is_killed_before_it_is_stored_is_stored_once_by_its_first_hook() {
    let project = Project::new();
    let call = start(&project, "s", &["--max-iterations=9"]).env("RALPH_FAIL", "loop.file.written");
    assert_eq!(call.start().wait_without_invariants().code(), -6);
    hook(&project, "claude", &stop("s", "On it."));
    let turn = ["attempt.ended", "claim", "iteration.ended", "iteration.started", "attempt.started"];
    assert_recorded_once(&project, &[&OPENING[..], &turn].concat());
}
