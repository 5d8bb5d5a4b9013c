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
    let programs = [("codex", "echo codex-cli 0.169.0"), ("claude", "echo '2.1.327 (Claude Code)'")];
    let answer = doctor(&project, &programs, &[]).env("CODEX_API_KEY", "k").output().expect(0);
    let codex = agent(&answer, "codex");
    assert_eq!(codex["version"], "0.169.0");
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
    assert!(known("claude")["what"].as_str().unwrap().contains("older than 2.1.327"), "{}", known("claude"));
    assert!(known("opencode")["what"].as_str().unwrap().contains("plugin"), "{}", known("opencode"));
    assert!(known("cline")["what"].as_str().unwrap().contains("cannot resume"), "{}", known("cline"));
    assert!(finding(&agent(&answer, "amp"), "start")["what"].as_str().unwrap().contains("AMP_API_KEY"));
    assert_eq!(answer.json()["status"], "warning");
}

// spec: A12
#[test]
fn a_version_that_is_newer_than_the_tested_one_is_named_by_doctor_and_by_the_run() {
    let project = Project::new();
    let programs = [("codex", "echo codex-cli 999.1.0")];
    let path = with_programs(&project, &programs);
    let run = || {
        let run = project.ralph(["run", "x", "--agent", "codex", "--max-retries", "0"]).env("PATH", &path);
        run.output().expect(4).stderr
    };
    assert!(!run().contains("is newer than"), "nothing is known about the version, and no program is started to ask");
    let answer = project.ralph(["doctor", "--json", "codex"]).env("PATH", &path).env("RALPH_AGENT", "demo").output();
    let known = finding(&agent(&answer, "codex"), "known");
    let note = "version 999.1.0 is newer than 0.169.0, the newest that ralph is tested with";
    assert_eq!((&known["status"], &known["what"]), (&Value::from("note"), &Value::from(note)));
    let header = run();
    assert!(header.contains(&format!("codex {note}")), "{header}");
}

// finding: N71
// spec: A8
#[test]
fn agents_lists_the_version_that_doctor_has_read_until_the_program_changes() {
    let project = Project::new();
    let path = with_programs(&project, &[("goose", "echo 1.34.0")]);
    let listed = || {
        let answer = project.ralph(["agents", "--json"]).env("PATH", &path).output().expect(0).json();
        answer.as_array().unwrap().iter().find(|agent| agent["name"] == "goose").unwrap()["version"].clone()
    };
    assert_eq!(listed(), Value::Null);
    doctor(&project, &[("goose", "echo 1.34.0")], &["goose"]).output().expect(0);
    assert_eq!(listed(), "1.34.0");
    with_programs(&project, &[("goose", "echo another program")]);
    assert_eq!(listed(), Value::Null);
}

// finding: N71
// spec: A8
#[test]
fn a_settings_file_of_copilot_is_a_login_only_if_it_names_a_user() {
    let project = Project::new();
    let login = || {
        let answer = doctor(&project, &[("copilot", "echo 1.0.102")], &["copilot"]).output();
        finding(&agent(&answer, "copilot"), "login")["status"].clone()
    };
    fs::create_dir_all(project.home().join(".copilot")).unwrap();
    let settings = project.home().join(".copilot/config.json");
    fs::write(&settings, r#"{"trusted_folders":["/p"],"logged_in_users":[]}"#).unwrap();
    assert_eq!(login(), "warning");
    fs::write(&settings, r#"{"logged_in_users":[{"host":"https://github.com","login":"me"}]}"#).unwrap();
    assert_eq!(login(), "good");
}

// finding: N75
// spec: A12
#[test]
fn an_adapter_that_was_never_run_with_its_program_says_so() {
    let project = Project::new();
    let answer =
        doctor(&project, &[("kimi", "echo kimi 1.2.0")], &["kimi"]).env("KIMI_API_KEY", "k").output().expect(0);
    let tested = finding(&agent(&answer, "kimi"), "tested");
    assert_eq!(tested["status"], "note");
    assert!(tested["what"].as_str().unwrap().contains("was never run with the program"), "{tested}");
    let path = with_programs(&project, &[("kimi", "echo not a protocol; exit 3")]);
    let run =
        project.ralph(["run", "x", "--agent", "kimi", "--max-retries", "0"]).env("PATH", &path).output().expect(4);
    assert!(run.stderr.contains("kimi: ralph's adapter follows the program's documentation"), "{}", run.stderr);
}

// finding: N69
#[test]
fn a_placeholder_of_npm_is_named_with_its_path_and_its_message() {
    let project = Project::new();
    let path = with_programs(&project, &[("claude", "exit 0")]);
    let stub = project.outside("bin/claude");
    fs::write(&stub, "echo \"Error: claude native binary not installed.\" >&2\nexit 1\n").unwrap();
    let run = project.ralph(["run", "x", "--agent", "claude"]).env("PATH", &path).output().expect(1);
    let problem = format!("{} is not a program that this machine can run", stub.display());
    assert!(run.stderr.contains(&problem), "{}", run.stderr);
    assert!(run.stderr.contains("the file says: Error: claude native binary not installed."), "{}", run.stderr);
    assert!(run.stderr.contains("install the agent again and allow them"), "{}", run.stderr);
    let answer = doctor(&project, &[], &["claude"]).output().expect(1);
    let program = finding(&agent(&answer, "claude"), "program");
    assert!(program["what"].as_str().unwrap().contains(&problem), "{program}");
    assert!(program["what"].as_str().unwrap().contains("Error: claude native binary not installed."), "{program}");
    assert!(program["hint"].as_str().unwrap().contains("install the agent again and allow them"), "{program}");
}

// finding: N69
#[test]
fn a_program_that_cannot_be_started_is_named_with_its_path_and_what_helps() {
    let project = Project::new();
    let path = with_programs(&project, &[("claude", "exit 0")]);
    let program = project.outside("bin/claude");
    fs::set_permissions(&program, PermissionsExt::from_mode(0o644)).unwrap();
    let chmod = format!("chmod +x {}", program.display());
    let run = project.ralph(["run", "x", "--agent", "claude"]).env("PATH", &path).output().expect(1);
    assert!(run.stderr.contains(&chmod), "{}", run.stderr);
    let answer = doctor(&project, &[], &["claude"]).output().expect(1);
    let found = finding(&agent(&answer, "claude"), "program");
    assert_eq!(found["hint"], format!("make it executable: {chmod}"), "{found}");
}

// finding: N53
// spec: A8
#[test]
fn without_a_choice_the_only_installed_agent_is_used() {
    let project = Project::new();
    let alone = with_programs(&project, &[("codex", "exit 3")]);
    let run = |path: &str| project.ralph(["run", "x", "--max-retries", "0"]).env("PATH", path).output();
    let answer = run(&alone).expect(4);
    assert!(answer.stderr.contains("agent codex"), "{}", answer.stderr);
    let several = with_programs(&project, &[("gemini", "exit 3")]);
    let refused = run(&several).expect(1);
    assert!(refused.stderr.contains("the agent claude was not found on PATH"), "{}", refused.stderr);
    assert!(refused.stderr.contains("these agents are installed: codex, gemini"), "{}", refused.stderr);
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
    let path = with_programs(&project, &[("codex", "echo codex-cli 0.169.0")]);
    let outside = project.outside("nowhere");
    fs::create_dir_all(&outside).unwrap();
    let call = || project.ralph(["doctor", "codex"]).env("PATH", &path).env("RALPH_AGENT", "demo");
    let answer = call().env("CODEX_API_KEY", "k").output().expect(0);
    assert!(answer.stdout.contains("codex  0.169.0"), "{}", answer.stdout);
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
