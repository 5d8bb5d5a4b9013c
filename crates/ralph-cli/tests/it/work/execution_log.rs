//! The execution log: one line for each iteration of a stage. The store is authoritative.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Call, FAKE_AGENT, Project, wait_until};
use crate::invariants::CANARY;

/// A task whose coder is checked by a command and has four iterations.
fn project() -> Project {
    let project = Project::new();
    let task = "task:\n  id: T-1\n  spec_id: auth\n  title: Add a login\n  completion:\n    outcome: People can log in\n    \
         acceptance_criteria: [a bad password gives 401]\n    coder:\n      promise: AUTH_DONE\n      \
         verification_config: {command: test -e fixed}\n      max_iterations: 4\n";
    project.write("task.yaml", task);
    project.ralph(["task", "import", "task.yaml"]).output().expect(0);
    project
}

/// A coder that speaks Claude's format and commits nothing.
fn coder<'a>(project: &'a Project, steps: &str) -> Call<'a> {
    let script = project.script(steps);
    let agent = ["task", "run", "T-1", "--agent", "text", "--agent-cmd", FAKE_AGENT, "--json"];
    let call = project.ralph(agent).args(["--output-format", "claude"]);
    let call = call.env("RALPH_VERIFICATION_ROLE_CHECKS", "off").env("FA_PROMISE", "AUTH_DONE");
    call.args(["--agent-arg=script", &format!("--agent-arg={script}")])
}

fn log(project: &Project) -> PathBuf {
    project.root().join(".ralph/logs/execution.jsonl")
}

fn lines(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(log(project)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(project: &Project) -> Vec<Value> {
    lines(project).iter().map(|line| line["ralph_iteration"].clone()).collect()
}

const WORK: &str = "init\nsay still at it\nresult still at it\n";
const DONE: &str = "init\nwrite fixed yes\nsay Done.\\n\\n{promise}\nresult Done.\\n\\n{promise}\n";

// spec: P8
#[test]
fn each_iteration_of_a_stage_is_one_line_with_the_known_names() {
    let project = project();
    let unproven = DONE.replace("write fixed yes\n", "");
    let run = coder(&project, &format!("{WORK}---\n{unproven}---\n{DONE}")).output().expect(0);
    let lines = lines(&project);
    assert_eq!(lines.len(), 3);
    let last = &lines[2];
    assert_eq!(
        [&last["task_id"], &last["stage"], &last["ralph_iteration"], &last["ralph_max"], &last["status"]],
        [&json!("T-1"), &json!("coder"), &json!(3), &json!(4), &json!("finished")]
    );
    assert_eq!((&last["run"], &last["cost_usd"]), (&run.finished()["run"], &json!(0.01)));
    let bools = |line: &Value| ["promise_found", "verified", "continuing"].map(|key| line[key].as_bool().unwrap());
    assert_eq!(bools(&lines[0]), [false, false, true]);
    assert_eq!(bools(&lines[1]), [true, false, true]);
    assert_eq!(bools(&lines[2]), [true, true, false]);
    assert_eq!(lines[1]["reason"], "`test -e fixed`: Command exited with 1, expected 0", "{}", lines[1]);
    for line in &lines {
        assert!(line["duration_ms"].is_u64(), "{line}");
        line["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    }
    assert_eq!(fs::metadata(log(&project)).unwrap().permissions().mode() & 0o777, 0o600);
    project.run(&["complete"]).output().expect(0);
    assert_eq!(self::lines(&project).len(), 3, "other runs are no stages");
}

// spec: P8, L13
// fault: 2
#[test]
fn lines_missing_after_a_crash_are_added_once_on_resume() {
    let project = project();
    let steps = format!("{WORK}---\n{WORK}---\n{DONE}");
    let crash = coder(&project, &steps).env("RALPH_FAIL", "iteration.started.recorded:3").output();
    assert_eq!(crash.code(), -6, "{}", crash.stderr);
    assert_eq!(numbers(&project), [1], "the second was stored, and ralph died");
    project.ralph(["resume", "--json"]).env("FA_PROMISE", "AUTH_DONE").output().expect(0);
    assert_eq!(numbers(&project), [1, 2, 3]);
}

// spec: P8, L12
#[test]
fn an_interrupted_iteration_has_its_line_when_it_has_ended() {
    let project = project();
    let run = coder(&project, &format!("{WORK}---\ninit\nhang\n---\n{DONE}")).start();
    project.wait_for("ready");
    run.signal(Signal::INT);
    run.wait().expect(130);
    assert_eq!(numbers(&project), [1]);
    project.ralph(["resume", "--json"]).env("FA_PROMISE", "AUTH_DONE").output().expect(0);
    assert_eq!(numbers(&project), [1, 2]);
}

// spec: P8, X3
// fault: 62
#[test]
fn a_log_that_is_not_ralph_s_own_is_kept_with_one_warning() {
    let project = project();
    let foreign = project.outside("foreign");
    fs::write(&foreign, "precious").unwrap();
    fs::create_dir_all(log(&project).parent().unwrap()).unwrap();
    project.make_private(log(&project).parent().unwrap());
    symlink(&foreign, log(&project)).unwrap();
    let answer = coder(&project, &format!("{WORK}---\n{DONE}")).output().expect(0);
    let events = answer.events_named("warning");
    assert_eq!(events.len(), 1, "{}", answer.stdout);
    let words = events[0]["message"].as_str().unwrap();
    assert!(words.contains("execution.jsonl is incomplete") && words.contains("a symbolic link"), "{words}");
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "precious");
}

// spec: P8
// fault: 56
#[test]
fn a_log_on_a_full_disk_is_reported_once_and_stops_nothing() {
    let project = project();
    let command = coder(&project, &format!("{WORK}---\n{DONE}"));
    let mount = "mkdir -p .ralph/logs && mount -t tmpfs -o size=4k,mode=700 tmpfs .ralph/logs \
                 && cat /dev/zero > .ralph/logs/fill 2> /dev/null; exec \"$@\"";
    let answer = command.run_under("unshare", ["-rm", "sh", "-c", mount, "sh"]).output().expect(0);
    assert!(!answer.stderr.contains("unshare:"), "mounts need a user namespace: {}", answer.stderr);
    let events = answer.events_named("warning");
    assert_eq!(events.len(), 1, "{}", answer.stdout);
    assert!(events[0]["message"].as_str().unwrap().contains("No space left"), "{}", events[0]);
}

// spec: P8, X3
#[test]
fn a_secret_in_a_reason_is_not_in_the_log() {
    let project = project();
    let blocked = format!("init\nsay <blocked>{CANARY}</blocked>\nresult <blocked>{CANARY}</blocked>\n");
    coder(&project, &blocked).output().expect(6);
    let [line] = lines(&project).try_into().unwrap();
    assert!(line["reason"].as_str().unwrap().contains("[redacted:CANARY_TOKEN]"), "{line}");
}

fn metadata(project: &Project) -> Value {
    let shown = project.ralph(["task", "show", "T-1", "--json"]).start().wait_without_invariants();
    shown.expect(0).json()["metadata"]["ralph"].clone()
}

// spec: P8
#[test]
fn a_task_has_the_status_of_its_active_stage() {
    let project = project();
    assert_eq!(metadata(&project), Value::Null);
    let run = coder(&project, &format!("{WORK}---\ninit\nhang\n")).start();
    project.wait_for("ready");
    let state = metadata(&project);
    assert_eq!(
        (&state["stage"], &state["iteration"], &state["max_iterations"], &state["completion_promise"]),
        (&json!("coder"), &json!(2), &json!(4), &json!("AUTH_DONE"))
    );
    state["started_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    run.signal(Signal::TERM);
    run.wait().expect(143);
    assert_eq!(metadata(&project), Value::Null, "no run is active");
}

// spec: P8, D5
#[test]
fn gc_removes_the_rotated_log_and_keeps_the_current_one() {
    let project = project();
    coder(&project, DONE).output().expect(0);
    let old = log(&project).with_file_name("execution.1.jsonl");
    fs::write(&old, "{}\n").unwrap();
    project.make_private(&old);
    project.ralph(["gc"]).output().expect(0);
    assert!(old.exists(), "it is not old enough");
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 86_400);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    let planned = project.ralph(["gc", "--dry-run", "--json"]).output().expect(0).json();
    assert_eq!((&planned["old_execution_log_bytes"], old.exists()), (&json!(3), true));
    let done = project.ralph(["gc"]).output().expect(0);
    assert!(done.stdout.contains("removed the old execution log: 3 bytes"), "{}", done.stdout);
    wait_until("the old log is gone", || !old.exists());
    assert_eq!(numbers(&project), [1]);
}
