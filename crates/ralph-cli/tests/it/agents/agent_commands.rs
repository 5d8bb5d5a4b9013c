//! `ralph agents`: lists installed agents and parses recorded output.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::Project;

fn recording(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-agents/transcripts").join(name);
    fs::read(path).unwrap()
}

/// Creates a folder for PATH with programs of these names that do nothing.
fn programs(project: &Project, names: &[&str]) -> PathBuf {
    let folder = project.outside("bin");
    fs::create_dir_all(&folder).unwrap();
    for name in names {
        let path = folder.join(name);
        fs::write(&path, "#!/bin/sh\nexit 97\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

// spec: A8
#[test]
fn installed_agents_are_found_without_starting_them() {
    let project = Project::new();
    let path = programs(&project, &["gemini"]);
    let package = project.outside("node_modules/@openai/codex");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("package.json"), r#"{"name":"@openai/codex","version":"0.166.0"}"#).unwrap();
    fs::copy(path.join("gemini"), package.join("codex.js")).unwrap();
    symlink(package.join("codex.js"), path.join("codex")).unwrap();
    let answer = project.ralph(["agents", "--json"]).env("PATH", &path).output().expect(0);
    let all = answer.json();
    let agent = |name: &str| all.as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap().clone();
    assert_eq!(agent("codex")["status"], "installed");
    assert_eq!(agent("codex")["version"], "0.166.0");
    assert_eq!(agent("codex")["can_resume"], true);
    assert_eq!(agent("gemini")["version"], Value::Null, "no package tells it, and it is not asked");
    assert_eq!(agent("claude")["status"], "missing");
    assert_eq!(agent("cline")["can_resume"], false);
    assert_eq!(agent("cline")["permissions"]["edits"], Value::Null);
    assert_eq!(agent("demo")["status"], "built_in");
    let people = project.ralph(["agents"]).env("PATH", &path).output().expect(0);
    assert_eq!(people.stdout.lines().count(), 24, "{}", people.stdout);
}

// spec: A8
#[test]
fn a_recording_becomes_events_and_ends_with_the_attempt() {
    let project = Project::new();
    let read = |agent: &str, exit: &str, file: &str| {
        let args = ["agents", "parse", agent, "--exit-code", exit];
        let answer = project.ralph(args).input(recording(file)).output().expect(0);
        answer.events().pop().unwrap()
    };
    let done = read("copilot", "0", "copilot/ok.stdout");
    assert_eq!(done["event"], "attempt");
    assert_eq!(done["ok"], true);
    assert_eq!(done["final_text"], "The work is finished. <promise>COMPLETE</promise>");
    assert_eq!(done["session"], "aded63ee-f850-46a8-9f41-ef2decb37d91");
    assert_eq!((&done["model"], &done["error"]), (&Value::from("mock-model"), &Value::Null));
    assert_eq!((&done["input_tokens"], &done["cost_usd"]), (&Value::Null, &Value::Null));
    let refused = read("goose", "0", "goose/401.stdout");
    assert_eq!((&refused["ok"], &refused["error"]["kind"]), (&Value::from(false), &Value::from("auth")));
    let limited = read("codex", "1", "codex/x429usage.stdout");
    assert_eq!(limited["error"]["kind"], "rate_limit");
    assert!(limited["error"]["reset_at"].is_i64(), "{limited}");
    let killed = read("opencode", "-15", "opencode/mid-term.stdout");
    assert_eq!(killed["error"]["kind"], "crash");
}

// spec: A8
#[test]
fn without_an_exit_code_the_output_alone_decides() {
    let project = Project::new();
    let good = project.ralph(["agents", "parse", "claude"]).input(recording("claude/text.stdout")).output().expect(0);
    assert_eq!(good.events().pop().unwrap()["ok"], true);
    for (agent, output) in [("claude", "hello"), ("gemini", ""), ("qwen", "{\"type\":\"new\"}\n\u{fffd}[[[")] {
        let answer = project.ralph(["agents", "parse", agent]).input(output).output().expect(0);
        let attempt = answer.events().pop().unwrap();
        assert_eq!((&attempt["ok"], &attempt["error"]["kind"]), (&false.into(), &"format".into()), "{agent}");
    }
}

// spec: A1, A8
#[test]
fn a_mistyped_agent_is_refused_with_a_suggestion() {
    let project = Project::new();
    let answer = project.ralph(["agents", "parse", "codx"]).output().expect(64);
    assert!(answer.stderr.contains("there is no agent named \"codx\""), "{}", answer.stderr);
    assert!(answer.stderr.contains("hint: did you mean codex?"), "{}", answer.stderr);
    let answer = project.ralph(["run", "x", "--agent", "gemni"]).output().expect(64);
    assert!(answer.stderr.contains("did you mean gemini?"), "{}", answer.stderr);
}

// spec: A4, A8
#[test]
fn a_recording_of_any_size_is_read_in_little_memory() {
    let project = Project::new();
    let big = format!(
        "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"content\":\"{}\"}}]}}}}\n",
        "z".repeat(1 << 20)
    );
    let mut recorded = big.repeat(150).into_bytes();
    recorded.extend(recording("claude/text.stdout"));
    let answer = project.ralph(["agents", "parse", "claude"]).input(recorded).output().expect(0);
    assert_eq!(answer.events().pop().unwrap()["ok"], true);
    assert!(answer.peak_memory_kb < 100_000, "{} kB", answer.peak_memory_kb);
}
