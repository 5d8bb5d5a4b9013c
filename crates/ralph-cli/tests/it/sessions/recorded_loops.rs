//! The record of loops inside sessions: they are runs in the store, and the commands that show runs show them.
use std::fs;

use serde_json::{Value, json};

use super::hooks::{hook, start, stop};
use crate::harness::Project;

fn json_of<const N: usize>(project: &Project, command: [&str; N]) -> Value {
    let printed = project.ralph(command).output().expect(0).stdout;
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

// spec: D1, H4, V16
// finding: N34
#[test]
fn the_loop_of_a_session_is_a_run_that_runs_show_and_status_know() {
    let project = Project::new();
    start(&project, "s1", &["--check", "test -f done.txt", "--description", "the parser"]).output().expect(0);
    let active = json_of(&project, ["status", "--json"]);
    let expected = json!(["session", "running", "s1", "claude", 1, 100]);
    let fields = ["kind", "status", "session_id", "agent", "iteration", "max_iterations"];
    assert_eq!(Value::from(fields.map(|field| active[0][field].clone()).to_vec()), expected);
    hook(&project, "claude", &stop("s1", "<promise>DONE</promise>"));
    project.write("done.txt", "");
    hook(&project, "claude", &stop("s1", "Now. <promise>DONE</promise>"));
    assert_eq!(json_of(&project, ["status", "--json"]), json!([]));
    let runs = json_of(&project, ["runs", "--json"]);
    let expected = json!(["session", "completed", "s1", "claude", 2, "1 check passed"]);
    let fields = ["kind", "status", "session_id", "agent", "iterations", "reason"];
    assert_eq!(Value::from(fields.map(|field| runs[0][field].clone()).to_vec()), expected);
    let id = runs[0]["id"].as_str().unwrap();
    let shown = json_of(&project, ["show", id, "--json"]);
    let verdicts: Vec<&Value> = shown["iterations"].as_array().unwrap().iter().map(|one| &one["verdict"]).collect();
    assert_eq!(verdicts, [&json!("rejected"), &json!("accepted")]);
    assert_eq!((&shown["session_id"], &shown["proof"]), (&json!("s1"), &runs[0]["proof"]));
    let text = project.ralph(["show", id]).output().expect(0).stdout;
    assert!(text.contains("session  s1  (the parser)") && text.contains("test -f done.txt"), "{text}");
    let events = project.ralph(["events", id]).output().expect(0).stdout;
    assert!(events.contains("run.started") && events.contains("run.finished"), "{events}");
}

// spec: V15, H6
#[test]
fn a_session_that_changes_an_existing_test_is_checked_with_the_test_as_it_was_at_the_start() {
    let project = Project::new();
    fs::create_dir(project.root().join("tests")).unwrap();
    project.write("value.txt", "wrong");
    project.write("tests/test_value.sh", "grep -q right value.txt");
    project.commit();
    start(&project, "s", &["--check", "for t in tests/test_*.sh; do sh \"$t\" || exit 1; done"]).output().expect(0);
    project.write("tests/test_value.sh", "true");
    let answer = hook(&project, "claude", &stop("s", "<promise>DONE</promise>"));
    assert!(answer["reason"].as_str().unwrap().contains("tests/test_value.sh"), "{answer}");
    project.write("tests/test_value.sh", "grep -q right value.txt");
    project.write("value.txt", "right");
    let answer = hook(&project, "claude", &stop("s", "<promise>DONE</promise>"));
    assert!(answer["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"), "{answer}");
}

// spec: V15, H6
#[test]
fn a_session_that_starts_with_uncommitted_files_can_be_completed() {
    let project = Project::new();
    project.write("draft.txt", "not committed");
    start(&project, "s", &["--check", "test -f done.txt"]).output().expect(0);
    project.write("done.txt", "");
    let answer = hook(&project, "claude", &stop("s", "<promise>DONE</promise>"));
    assert!(answer["systemMessage"].as_str().unwrap().starts_with("Ralph Loop Complete!"), "{answer}");
}

// spec: D1, H4
// finding: N34
#[test]
fn a_hook_that_cannot_record_continues_the_loop_and_the_next_one_records_both() {
    let project = Project::new();
    start(&project, "s", &["--max-iterations=9"]).output().expect(0);
    let (database, elsewhere) = (project.state().join("ralph.db"), project.outside("ralph.db"));
    fs::rename(&database, &elsewhere).unwrap();
    let answer = hook(&project, "claude", &stop("s", "On it."));
    assert_eq!(answer["systemMessage"], "Ralph Loop: Iteration 2/9");
    let log = fs::read_to_string(project.home().join(".local/state/ralph/sessions/hook.log")).unwrap();
    assert!(log.contains("the loop continues, but its run is not recorded"), "{log}");
    fs::rename(&elsewhere, &database).unwrap();
    hook(&project, "claude", &stop("s", "Still on it."));
    let shown = json_of(&project, ["show", "--json"]);
    let numbers: Vec<&Value> = shown["iterations"].as_array().unwrap().iter().map(|one| &one["number"]).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

// spec: D1
// finding: N34
#[test]
fn loops_outside_of_a_repository_are_recorded_in_a_store_of_the_user() {
    let project = Project::new();
    let folder = project.outside("notes");
    fs::create_dir(&folder).unwrap();
    let start = ["loop", "start", "--host", "claude", "--prompt", "Sort the notes", "--session", "s"];
    project.ralph(start).folder(&folder).output().expect(0);
    hook(&project, "claude", &stop("s", "Sorted. <promise>DONE</promise>"));
    let printed = project.ralph(["runs", "--json"]).folder(&folder).output().expect(0).stdout;
    let runs: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&runs[0]["status"], &runs[0]["proof"]), (&json!("completed"), &json!("unverified")));
    assert_eq!(json_of(&project, ["runs", "--json"]), json!([]), "a project shows its own runs only");
}

// spec: H4
// finding: N34
#[test]
fn a_replaced_loop_ends_as_cancelled_and_only_its_session_controls_the_new_one() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    start(&project, "s", &["--max-iterations=7"]).output().expect(0);
    let runs = json_of(&project, ["runs", "--json"]);
    let states: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["status"]).collect();
    assert_eq!(states, ["running", "cancelled"]);
    let id = runs[0]["id"].as_str().unwrap();
    for command in [["cancel", id], ["pause", id], ["resume", id]] {
        let refused = project.ralph(command).output().expect(1);
        assert!(refused.stderr.contains("is a loop inside a session of claude"), "{}", refused.stderr);
        assert!(refused.stderr.contains("ralph loop cancel --session s"), "{}", refused.stderr);
    }
    project.ralph(["gc", "--all", "--older-than", "1ms"]).output().expect(0);
    let ids: Vec<Value> =
        json_of(&project, ["runs", "--json"]).as_array().unwrap().iter().map(|run| run["id"].clone()).collect();
    assert_eq!(ids, [json!(id)], "the active loop stays");
}
