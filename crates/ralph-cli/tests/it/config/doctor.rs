//! `ralph doctor`: checks of agents and machine.
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::harness::{Call, CallOutput, Project};
use crate::terminal::Terminal;

/// Creates programs that answer `--version`, and a PATH with only them and the system's.
fn with_programs(project: &Project, programs: &[(&str, &str)]) -> String {
    let folder = project.outside("bin");
    fs::create_dir_all(&folder).unwrap();
    for (name, script) in programs {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:/usr/bin:/bin", folder.display())
}

fn doctor<'a>(project: &'a Project, programs: &[(&str, &str)], args: &[&str]) -> Call<'a> {
    let path = with_programs(project, programs);
    project.ralph(["doctor", "--json"]).args(args).env("PATH", path).env("RALPH_AGENT", "demo")
}

fn agent(answer: &CallOutput, name: &str) -> Value {
    let agents = answer.json()["agents"].clone();
    agents.as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap().clone()
}

fn finding(of: &Value, name: &str) -> Value {
    let list = of.get("findings").or(of.get("checks")).unwrap().as_array().unwrap();
    list.iter().find(|finding| finding["name"] == name).cloned().unwrap_or_default()
}

// spec: A8
#[test]
fn a_healthy_machine_is_reported_with_versions_logins_and_recordings() {
    let project = Project::new();
    let programs = [("codex", "echo codex-cli 0.166.0"), ("claude", "echo '2.1.325 (Claude Code)'")];
    let answer = doctor(&project, &programs, &[]).env("CODEX_API_KEY", "k").output().expect(0);
    let codex = agent(&answer, "codex");
    assert_eq!(codex["version"], "0.166.0");
    assert_eq!(finding(&codex, "login")["what"], "CODEX_API_KEY is set");
    assert_eq!(finding(&codex, "recordings")["status"], "good");
    let claude = agent(&answer, "claude");
    assert_eq!(finding(&claude, "login")["status"], "warning");
    assert!(finding(&claude, "login")["hint"].as_str().unwrap().contains("ANTHROPIC_API_KEY"));
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    fs::write(project.home().join(".claude/.credentials.json"), "{}").unwrap();
    let answer = doctor(&project, &programs, &[]).output().expect(0);
    assert_eq!(finding(&agent(&answer, "claude"), "login")["status"], "good");
    assert_eq!(finding(&agent(&answer, "gemini"), "program")["status"], "note", "no run uses it");
    for check in ["git", "state", "folder", "disk", "settings"] {
        assert_ne!(finding(&answer.json(), check), Value::Null, "{check}: {}", answer.stdout);
    }
}

// spec: A8
#[test]
fn an_agent_that_a_run_would_use_must_be_installed() {
    let project = Project::new();
    let answer = doctor(&project, &[], &[]).env("RALPH_AGENT", "gemini").output().expect(1);
    assert_eq!(answer.json()["status"], "bad");
    let program = finding(&agent(&answer, "gemini"), "program");
    assert_eq!(program["status"], "bad");
    assert!(program["hint"].as_str().unwrap().contains("npm install -g @google/gemini-cli"), "{program}");
    let asked = doctor(&project, &[], &["qwen"]).output().expect(1);
    assert_eq!(asked.json()["agents"].as_array().unwrap().len(), 1);
}

// spec: A8
#[test]
fn an_agent_that_never_answers_is_killed_with_its_children() {
    let project = Project::new();
    let hangs = "setsid sleep 600 & sleep 600";
    let answer = doctor(&project, &[("opencode", hangs)], &["--timeout", "1s", "opencode"]).output().expect(1);
    let version = finding(&agent(&answer, "opencode"), "version");
    assert_eq!(version["status"], "bad");
    assert!(version["what"].as_str().unwrap().contains("no answer to"), "{version}");
    let failing = doctor(&project, &[("opencode", "exit 3")], &["opencode"]).output().expect(1);
    let version = finding(&agent(&failing, "opencode"), "version");
    assert_eq!(version["what"], "`--version` exited with code 3");
    let odd = doctor(&project, &[("opencode", "echo hello")], &["opencode"]).output().expect(0);
    assert_eq!(finding(&agent(&odd, "opencode"), "version")["status"], "warning");
}

// spec: A8
#[test]
fn known_problems_of_a_version_are_reported() {
    let project = Project::new();
    let programs =
        [("claude", "echo 2.1.197"), ("opencode", "echo 1.18.33"), ("cline", "echo 3.0.65"), ("amp", "echo 0.0.1")];
    fs::create_dir_all(project.root().join(".opencode/plugin")).unwrap();
    let answer = doctor(&project, &programs, &[]).output().expect(0);
    let known = |name: &str| finding(&agent(&answer, name), "known");
    assert!(known("claude")["what"].as_str().unwrap().contains("older than 2.1.325"), "{}", known("claude"));
    assert!(known("opencode")["what"].as_str().unwrap().contains("plugin"), "{}", known("opencode"));
    assert!(known("cline")["what"].as_str().unwrap().contains("cannot resume"), "{}", known("cline"));
    assert!(finding(&agent(&answer, "amp"), "start")["what"].as_str().unwrap().contains("AMP_API_KEY"));
    assert_eq!(answer.json()["status"], "warning");
}

// spec: A1, A8
#[test]
fn unreadable_files_are_reported_with_their_path() {
    let project = Project::new();
    let unknown = doctor(&project, &[], &["gemni"]).output().expect(64);
    assert!(unknown.stderr.contains("hint: did you mean gemini?"), "{}", unknown.stderr);
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "agnt: claude\n");
    let settings = finding(&doctor(&project, &[], &[]).output().expect(1).json(), "settings");
    assert_eq!(settings["status"], "bad");
    assert!(settings["what"].as_str().unwrap().contains("config.yaml:1"), "{settings}");
    assert!(settings["hint"].as_str().unwrap().contains("agent"), "{settings}");
}

// spec: A8, U1
#[test]
fn people_get_one_line_for_each_finding_and_a_summary_at_the_end() {
    let project = Project::new();
    let path = with_programs(&project, &[("codex", "echo codex-cli 0.166.0")]);
    let outside = project.outside("nowhere");
    fs::create_dir_all(&outside).unwrap();
    let call = || project.ralph(["doctor", "codex"]).env("PATH", &path).env("RALPH_AGENT", "demo");
    let answer = call().env("CODEX_API_KEY", "k").output().expect(0);
    assert!(answer.stdout.contains("codex  0.166.0"), "{}", answer.stdout);
    assert!(answer.stdout.ends_with("no problems found\n"), "{}", answer.stdout);
    let answer = call().folder(&outside).output().expect(0);
    assert!(answer.stdout.contains("not inside a git repository"), "{}", answer.stdout);
    assert!(answer.stdout.ends_with("check the warnings\n"), "{}", answer.stdout);
}

// spec: A8, L6
#[test]
fn a_fallback_agent_counts_as_one_that_a_run_would_use() {
    let project = Project::new();
    let call = || doctor(&project, &[], &[]).env("RALPH_FALLBACK", "gemini");
    let answer = call().output().expect(1);
    assert_eq!(finding(&agent(&answer, "gemini"), "program")["status"], "bad");
    let settings = finding(&answer.json(), "settings");
    assert_eq!(settings["what"], "the agent is demo; fallback: gemini");
    let answer = call().env("RALPH_FALLBACK", "gmini").output().expect(1);
    assert_eq!(finding(&answer.json(), "settings")["status"], "bad");
}

// spec: A8, U1
#[test]
fn the_report_fits_a_terminal_and_is_readable_without_colour() {
    let project = Project::new();
    let path = with_programs(&project, &[("copilot", "echo 1.0.102"), ("gemini", "echo 0.61.0")]);
    let call = project.ralph(["doctor"]).env("PATH", path).env("RALPH_AGENT", "demo");
    let mut terminal = Terminal::start_with(call.env("TERM", "dumb").env("NO_COLOR", "1").command(), 80);
    assert_eq!(terminal.wait().code(), Some(0));
    let shown = terminal.shown();
    assert!(shown.contains("  note     known        it reports no cost"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let long = shown.lines().filter(|line| line.chars().count() > 80).find(|line| !line.contains('/'));
    assert_eq!(long, None, "{shown}");
}
