//! The baseline of session loops: their checks run once when the loop starts.
use std::fs;

use serde_json::{Value, json};

use super::hooks::{hook, start, status, stop};
use crate::harness::Project;

const DONE: &str = "<promise>DONE</promise>";

fn slash_command(project: &Project, words: &str) -> Value {
    json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": project.root(), "prompt": format!("/ralph {words}")})
}

fn proof(project: &Project) -> Value {
    let printed = project.ralph(["runs", "--json"]).output().expect(0).stdout;
    serde_json::from_str::<Value>(&printed).unwrap()[0]["proof"].clone()
}

fn event_names(project: &Project) -> Vec<String> {
    let printed = project.ralph(["events", "--json"]).output().expect(0).stdout;
    let name = |line: &str| serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().to_owned();
    printed.lines().map(name).collect()
}

// spec: V16, H6
#[test]
fn a_session_whose_check_failed_when_it_was_asked_and_passes_at_the_claim_is_proven() {
    let project = Project::new();
    let answer = hook(&project, "claude", &slash_command(&project, "\"Make done.txt\" --check \"test -f done.txt\""));
    assert!(!answer["systemMessage"].as_str().unwrap().contains("baseline"), "{answer}");
    assert_eq!(status(&project, "s")["baseline"][0]["standing"], "fails");
    project.write("done.txt", "");
    let answer = hook(&project, "claude", &stop("s", DONE));
    let verified = "1 check passed (proven: `test -f done.txt` failed before the work and passes now)";
    assert!(answer["systemMessage"].as_str().unwrap().ends_with(verified), "{answer}");
    assert_eq!(proof(&project), "proven");
    let names = event_names(&project);
    assert_eq!(names.iter().filter(|name| *name == "baseline").count(), 1, "{names:?}");
}

// spec: V16, H6
#[test]
fn a_session_whose_check_passed_already_when_it_started_is_only_checked() {
    let project = Project::new();
    start(&project, "s", &["--check", "true"]).output().expect(0);
    hook(&project, "claude", &stop("s", DONE));
    assert_eq!(proof(&project), "checked");
}

// spec: V16, H6, F3
#[test]
fn a_check_that_does_not_finish_before_the_hook_must_answer_has_no_baseline_and_the_loop_starts() {
    let project = Project::new();
    let check = "test -f done.txt || { echo $$ > pid; sleep 1000; }";
    let prompt = slash_command(&project, &format!("\"Make done.txt\" --check \"{check}\""));
    let printed = project.ralph(["hook", "claude", "--seconds", "2"]).input(prompt.to_string()).output().expect(0);
    let answer: Value = serde_json::from_str(&printed.stdout).unwrap();
    let notice = answer["systemMessage"].as_str().unwrap();
    assert!(notice.contains(". No baseline was taken for `test -f done.txt ||"), "{notice}");
    let pid = fs::read_to_string(project.root().join("pid")).unwrap();
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "the check is still running");
    let shown = project.ralph(["loop", "status", "--session", "s"]).output().expect(0).stdout;
    assert!(shown.contains("claude s: iteration 1/100, no baseline was taken, started"), "{shown}");
    assert!(event_names(&project).iter().all(|name| name != "baseline"));
    project.write("done.txt", "");
    let answer = hook(&project, "claude", &stop("s", DONE));
    let verified = "1 check passed (checked: no check was run before the work)";
    assert!(answer["systemMessage"].as_str().unwrap().ends_with(verified), "{answer}");
    assert_eq!(proof(&project), "checked");
}

// spec: V16, H6
#[test]
fn a_plugin_that_waits_only_for_a_short_time_gets_its_loop_without_a_baseline() {
    let project = Project::new();
    let started = start(&project, "s", &["--seconds", "1", "--check", "sleep 1000"]).output().expect(0).stdout;
    assert!(started.contains("No baseline was taken for `sleep 1000`"), "{started}");
}

// spec: V16, H6
#[test]
fn a_check_that_cannot_run_before_the_work_does_not_prevent_the_loop() {
    let project = Project::new();
    let started = start(&project, "s", &["--check", "no-such-program-anywhere"]).output().expect(0).stdout;
    assert!(started.contains("No baseline was taken for `no-such-program-anywhere`"), "{started}");
    assert_eq!(status(&project, "s")["active"], true);
}

// spec: V16, V9
#[test]
fn without_a_baseline_in_the_settings_no_check_runs_at_the_start() {
    let project = Project::new();
    let start = start(&project, "s", &["--check", "touch ran.txt"]).env("RALPH_VERIFICATION_BASELINE", "false");
    let started = start.output().expect(0).stdout;
    assert!(!started.contains("baseline"), "{started}");
    assert!(!project.root().join("ran.txt").exists());
    hook(&project, "claude", &stop("s", DONE));
    assert_eq!(proof(&project), "checked");
}

// spec: V9, H6
#[test]
fn a_session_that_only_guards_files_rejects_a_claim_after_a_change_to_them() {
    let project = Project::new();
    project.write("spec.md", "as agreed");
    start(&project, "s", &["--guard", "spec.md"]).output().expect(0);
    project.write("spec.md", "as I like it");
    let answer = hook(&project, "claude", &stop("s", DONE));
    assert!(answer["reason"].as_str().unwrap().contains("spec.md"), "{answer}");
    project.write("spec.md", "as agreed");
    let answer = hook(&project, "claude", &stop("s", DONE));
    let notice = answer["systemMessage"].as_str().unwrap();
    assert!(notice.starts_with("Ralph Loop Complete!") && notice.contains("nothing was verified"), "{answer}");
    assert_eq!(proof(&project), "unverified");
}
