//! Hooks that fail: they reply in the format of the host, the session is neither trapped nor complete, and the reason
//! is shown.
use std::fs;

use serde_json::{Value, json};

use crate::harness::{Call, Project};
use crate::sessions::hooks::{hook, start, status, stop};
use crate::sessions::install::HOSTS;
use crate::state::disk_faults::run_in_mount_namespace;

fn hook_reply(call: Call<'_>, event: &Value) -> (Value, String) {
    let answer = call.input(event.to_string()).output().expect(0);
    let printed = serde_json::from_str(&answer.stdout);
    (printed.unwrap_or_else(|error| panic!("{error}: {}", answer.stdout)), answer.stderr)
}

fn log(project: &Project) -> String {
    fs::read_to_string(project.home().join(".local/state/ralph/sessions/hook.log")).unwrap()
}

/// Returns the message for the person, and asserts that the reply lets the session stop.
fn failure_message(host: &str, answer: &Value) -> String {
    let printed = match host {
        "opencode" => {
            assert_eq!(answer["action"], "stop", "{answer}");
            &answer["toast"]["message"]
        }
        _ => &answer["systemMessage"],
    };
    assert!(answer["decision"].is_null() && !answer.to_string().contains("Complete!"), "{answer}");
    printed.as_str().unwrap_or_default().to_owned()
}

// spec: H1, H8
#[test]
fn an_invalid_call_is_answered_in_the_format_of_each_host() {
    let project = Project::new();
    for host in HOSTS {
        let begin = ["loop", "start", "--session", "s", "--prompt", "x", "--host", host];
        for (bad, reason) in [
            (vec!["hook", host, "--brand-new=1"], "--brand-new"),
            (vec!["hook", "--brand-new", host], "--brand-new"),
            (vec!["hook", host, "Stop", "and", "more"], "'and'"),
            (vec!["hook", host, "--seconds", "soon"], "'soon'"),
        ] {
            let (answer, complaint) = hook_reply(project.ralph(&bad), &stop("s", "<promise>DONE</promise>"));
            assert_eq!(failure_message(host, &answer), "", "no session has a loop: {bad:?}");
            assert!(complaint.contains(reason), "{complaint}");
            project.ralph(begin).output().expect(0);
            let before = status(&project, "s");
            let (answer, _) = hook_reply(project.ralph(&bad), &stop("s", "<promise>DONE</promise>"));
            assert!(failure_message(host, &answer).contains(reason), "{bad:?}: {answer}");
            assert_eq!(status(&project, "s"), before);
            project.ralph(["loop", "cancel", "--session", "s"]).output().expect(0);
        }
        assert!(log(&project).contains(&format!("{host}: the session may stop: unexpected argument")));
    }
    project.ralph(["hook", "unheard-of"]).input("{}").output().expect(64);
}

// spec: H1, H8
#[test]
fn an_unknown_log_level_stops_no_hook() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let call = project.ralph(["hook", "claude"]).env("RALPH_LOG", "loud");
    let (answer, complaint) = hook_reply(call, &stop("s", "on it"));
    assert_eq!(answer["decision"], "block", "{answer}");
    assert!(complaint.contains("RALPH_LOG is \"loud\""), "{complaint}");
    assert!(log(&project).contains("claude: RALPH_LOG is \"loud\", which is not a log level"), "{}", log(&project));
    let refused = project.ralph(["loop", "status"]).env("RALPH_LOG", "loud").output();
    assert_eq!(refused.code(), 64, "who is asked by people says it");
}

// spec: H1, H8
#[test]
fn an_unreadable_configuration_ends_no_loop_and_is_reported_when_one_starts() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    fs::create_dir(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "session: [\n");
    let broken = |event: &Value| hook(&project, "claude", event);
    assert_eq!(broken(&stop("s", "on it"))["decision"], "block", "a loop keeps what it began with");
    let asks = |session: &str| json!({"session_id": session, "cwd": project.root(), "hook_event_name": "UserPromptSubmit", "prompt": "/ralph 'x'"});
    let answer = broken(&asks("t"));
    assert_eq!(answer["decision"], "block", "{answer}");
    assert!(answer["reason"].as_str().unwrap().contains("config.yaml"), "{answer}");
    assert_eq!(status(&project, "t"), Value::Null);
    let done = broken(&stop("s", "<promise>DONE</promise>"));
    assert!(done["systemMessage"].as_str().unwrap().contains("Complete!"), "{done}");
}

// spec: H1, H8
// fault: 56
#[test]
fn an_invalid_or_read_only_state_folder_is_reported_and_traps_no_session() {
    let project = Project::new();
    let state = project.home().join(".local/state/ralph");
    fs::create_dir_all(state.parent().unwrap()).unwrap();
    fs::write(&state, "a file").unwrap();
    let (answer, _) = hook_reply(project.ralph(["hook", "claude"]), &stop("s", "<promise>DONE</promise>"));
    assert!(failure_message("claude", &answer).contains(".local/state/ralph"), "{answer}");
    let asks = json!({"session_id": "s", "cwd": project.root(), "hook_event_name": "UserPromptSubmit", "prompt": "/ralph 'x'"});
    let (answer, _) = hook_reply(project.ralph(["hook", "claude"]), &asks);
    assert!(answer["reason"].as_str().unwrap().contains(".local/state/ralph"), "{answer}");
    fs::remove_file(&state).unwrap();
    start(&project, "s", &[]).output().expect(0);
    let before = status(&project, "s");
    fs::write(project.root().join("event"), stop("s", "<promise>DONE</promise>").to_string()).unwrap();
    let script = "mount --bind $HOME/.local $HOME/.local; mount -o remount,ro,bind $HOME/.local
        \"$RALPH\" hook claude < event";
    let answer = serde_json::from_str(&run_in_mount_namespace(&project, script).stdout).unwrap();
    assert!(failure_message("claude", &answer).contains("cannot be written: Read-only file system"), "{answer}");
    assert_eq!(status(&project, "s"), before);
}

// spec: H1, H8
// fault: 56
#[test]
fn a_full_disk_lets_the_session_stop_and_the_loop_continues_when_space_is_free() {
    let project = Project::new();
    let said_text = |message: &str| stop("s", message).to_string();
    fs::write(project.root().join("event"), said_text("<promise>DONE</promise>")).unwrap();
    let script = "mkdir -p $HOME/.local/state; mount -t tmpfs -o size=1m,mode=700 tmpfs $HOME/.local/state
        \"$RALPH\" loop start --session s --host claude --prompt x > /dev/null
        cat /dev/zero > $HOME/.local/state/fill 2> /dev/null || true
        \"$RALPH\" hook claude < event
        \"$RALPH\" loop status --session s --json
        rm $HOME/.local/state/fill
        \"$RALPH\" hook claude < event";
    let printed = run_in_mount_namespace(&project, script).stdout;
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [full, status, after] = lines.as_slice() else { panic!("{printed}") };
    assert!(failure_message("claude", full).contains("No space left on device"), "{full}");
    assert_eq!((&status[0]["active"], &status[0]["iteration"]), (&json!(true), &json!(1)), "{status}");
    assert!(after["systemMessage"].as_str().unwrap().contains("Complete!"), "{after}");
}
