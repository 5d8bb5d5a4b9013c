//! The plugin that `ralph install opencode` writes, with the real binary and a simulated OpenCode.
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::Project;
use crate::sessions::hooks::status;

const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/opencode_host.mjs");

fn message(role: &str, id: &str, parts: &Value) -> Value {
    json!({"info": {"id": id, "role": role, "sessionID": "s"}, "parts": parts})
}

fn asked(id: &str) -> Value {
    message("user", id, &json!([{"type": "text", "text": "Go on. <promise>DONE</promise>"}]))
}

fn says(id: &str, text: &str) -> Value {
    let thought = "I could say <promise>DONE</promise>";
    message("assistant", id, &json!([{"type": "reasoning", "text": thought}, {"type": "text", "text": text}]))
}

fn works(id: &str) -> Value {
    message("assistant", id, &json!([{"type": "tool", "tool": "bash", "state": {"output": "<promise>DONE</promise>"}}]))
}

/// Lets a session be idle, each time with what it holds and with as many prompts as it must have been given by then, and
/// returns what the plugin did.
fn play_events(project: &Project, idles: &[(Vec<Value>, usize)]) -> Value {
    let step = |(messages, prompts): &(Vec<Value>, usize)| json!({"messages": messages, "prompts": prompts});
    plugin_actions(project, &idles.iter().map(step).collect::<Vec<_>>())
}

/// Calls commands with the words behind them.
fn called(project: &Project, commands: &[(&str, &str)]) -> Value {
    let step = |(command, words): &(&str, &str)| json!({"command": command, "arguments": words});
    plugin_actions(project, &commands.iter().map(step).collect::<Vec<_>>())
}

fn plugin_actions(project: &Project, steps: &[Value]) -> Value {
    project.ralph(["install", "opencode"]).output().expect(0);
    let plugin = fs::read_to_string(project.home().join(".config/opencode/plugin/ralph.js")).unwrap();
    let (watched, ended) = (project.outside("watched-ralph"), project.outside("ended"));
    let own = fs::canonicalize(env!("CARGO_BIN_EXE_ralph")).unwrap();
    let script = format!("#!/bin/sh\n'{}' \"$@\"\ncode=$?\necho >> '{}'\nexit $code\n", own.display(), ended.display());
    write_program(&watched, &script);
    let ours = project.outside("ralph.mjs");
    fs::write(&ours, plugin.replace(own.to_str().unwrap(), watched.to_str().unwrap())).unwrap();
    let mut node = Command::new("node");
    node.args([Path::new(HOST), &ours, &ended]);
    // OpenCode sets this variable for everything that it starts, also for its plugins.
    let host = project.ralph([""]).env("OPENCODE", "1");
    host.replace_program(node).input(json!(steps).to_string()).output().expect(0).json()
}

fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn begin(project: &Project, more: &[&str]) {
    let usual = ["loop", "start", "--session", "s", "--prompt", "Make done.txt", "--host", "opencode"];
    project.ralph(usual).args(more).output().expect(0);
}

// spec: H1, H5
// fault: 113
#[test]
fn an_idle_event_sent_twice_by_opencode_counts_once() {
    let project = Project::new();
    begin(&project, &[]);
    let spoken = vec![asked("u1"), says("a1", "Working.")];
    let silent = [spoken.clone(), vec![asked("u2"), works("a2")]].concat();
    let unnamed = |id: &str| message("user", id, &json!([]));
    let silent_again = [silent.clone(), vec![unnamed("u3"), works("a3")]].concat();
    let still_silent = [silent_again.clone(), vec![unnamed("u4"), works("a4")]].concat();
    let done = play_events(
        &project,
        &[
            (spoken.clone(), 1),
            (spoken, 1),
            (silent.clone(), 2),
            (silent, 2),
            (silent_again, 3),
            (still_silent, 4),
            (vec![asked("u5")], 5),
            (vec![asked("u5")], 5),
        ],
    );
    assert_eq!(done["prompts"].as_array().unwrap().len(), 5, "{done}");
    assert_eq!(status(&project, "s")["iteration"], 6);
    assert_eq!(done["notes"], json!([]));
}

// spec: H1, H7, S2
#[test]
fn only_messages_of_the_agent_in_this_turn_are_claims_in_opencode() {
    let project = Project::new();
    begin(&project, &["--check", "test -f done.txt", "--max-iterations", "9"]);
    let lie = vec![asked("u1"), says("a1", "Done. <promise>DONE</promise>")];
    let silent = [lie.clone(), vec![asked("u2"), works("a2")]].concat();
    let honest = [silent.clone(), vec![asked("u3"), works("a3"), says("a4", "Done. <promise>DONE</promise>")]].concat();
    let done = play_events(&project, &[(lie, 1), (silent, 2)]);
    let prompt = |at: usize| done["prompts"][at].as_str().unwrap().to_owned();
    assert!(prompt(0).contains("rejected: `test -f done.txt`"), "{done}");
    assert!(prompt(1).contains("did not output the completion promise"), "an old claim is none: {done}");
    let answer = |title: &str, message: &str, variant: &str, time: u32| json!({"title": title, "message": message, "variant": variant, "duration": time});
    assert_eq!(done["toasts"][1], answer("Ralph Loop", "Iteration 3/9", "info", 2000));
    project.write("done.txt", "");
    fs::remove_file(project.outside("ended")).unwrap();
    let done = play_events(&project, &[(honest, 0)]);
    assert_eq!(status(&project, "s")["status"], "completed", "{done}");
}

// spec: H2, H8
#[test]
fn a_refused_command_only_asks_the_agent_to_report_it() {
    let project = Project::new();
    let printed =
        called(&project, &[("ralph", "x --verify y"), ("ralph", "'Fix it' --max-iterations 3"), ("cancel-ralph", "")]);
    let parts = |at: usize| printed["parts"][at].as_array().unwrap().clone();
    assert_eq!(parts(0).len(), 1, "{printed}");
    assert!(
        parts(0)[0]["text"].as_str().unwrap().contains("--verify")
            && parts(0)[0]["text"].as_str().unwrap().contains("do nothing else"),
        "{printed}"
    );
    assert_eq!(parts(1).len(), 2, "{printed}");
    assert!(parts(1)[1]["text"].as_str().unwrap().contains("Ralph Loop Started: Max 3 iterations"), "{printed}");
    assert!(parts(1)[1]["text"].as_str().unwrap().contains("Fix it"), "{printed}");
    let titles: Vec<_> = printed["toasts"].as_array().unwrap().iter().map(|toast| toast["title"].clone()).collect();
    assert_eq!(titles, ["Ralph", "Ralph Loop Started", "Ralph Loop Cancelled"]);
    assert_eq!(printed["toasts"][0]["variant"], "warning");
}
