//! Hook timeouts of each host, and edited hooks that are still recognised.
use std::fs;
use std::process::Command;

use super::{HOSTS, MERGED, SETTINGS, call, project_with_settings, read, snapshot_files, write};
use crate::harness::Project;

/// The file with the hook timeout of every host, and its text for half an hour.
const TIMEOUT_SETTINGS: &[(&str, &str, &str)] = &[
    ("claude", "home/.claude/settings.json", "\"timeout\": 1800"),
    ("codex", "home/.codex/hooks.json", "\"timeout\": 1800"),
    ("gemini", "home/.gemini/settings.json", "\"timeout\": 1800000"),
    ("qwen", "home/.qwen/settings.json", "\"timeout\": 1800"),
    ("copilot", "home/.copilot/hooks/ralph.json", "\"timeoutSec\": 1800"),
    ("opencode", "home/.config/opencode/plugin/ralph.js", "SECONDS = 1800"),
];

// spec: H2, H6
#[test]
fn every_host_accepts_a_longer_hook_timeout_and_an_update_keeps_it() {
    assert_eq!(TIMEOUT_SETTINGS.iter().map(|(host, ..)| *host).collect::<Vec<_>>(), HOSTS);
    for project in [Project::new(), project_with_settings()] {
        for (host, file, time) in TIMEOUT_SETTINGS {
            let before = snapshot_files(&project);
            project.ralph(["install", host]).output().expect(0);
            let usual = snapshot_files(&project);
            project.ralph(["install", host, "--seconds", "1800"]).output().expect(0);
            let raised = read(&project, file);
            assert!(raised.contains(time), "{raised}");
            assert!(raised.contains("--seconds 1800") || *host == "opencode", "{raised}");
            let again = project.ralph(["install", host]).output().expect(0).stdout;
            assert!(again.lines().all(|line| !line.starts_with("changed")), "{again}");
            assert_eq!(read(&project, file), raised, "{host}: an update keeps the time");
            project.ralph(["install", host, "--seconds", "600"]).output().expect(0);
            assert_eq!(snapshot_files(&project), usual, "{host}: as usual again");
            project.ralph(["install", host, "--seconds", "1800"]).output().expect(0);
            project.ralph(["uninstall", host]).output().expect(0);
            assert_eq!(snapshot_files(&project), before, "{host}");
        }
    }
}

// spec: H2
#[test]
fn hooks_whose_timeout_was_edited_are_recognised_and_keep_it() {
    for (host, (name, scope)) in ["claude", "codex", "gemini", "qwen"]
        .iter()
        .cycle()
        .zip(MERGED.iter().map(|name| (name, if name.starts_with("home") { "--user" } else { "--project" })))
    {
        let project = project_with_settings();
        call(&project, "install", host, scope).output().expect(0);
        let settings = read(&project, name);
        let ours = format!(" hook {host}");
        let count = settings.matches(&ours).count();
        let edited = settings.replace(&ours, &format!("{ours} --seconds 1800"));
        let edited = edited.replace("\"timeout\": 600", "\"timeout\": 1800");
        write(&project, name, &edited);
        let printed = call(&project, "install", host, scope).output().expect(0).stdout;
        assert!(printed.lines().all(|line| !line.starts_with("changed")), "{host} {scope}: {printed}");
        assert_eq!(read(&project, name), edited, "{host} {scope}");
        assert_eq!(edited.matches(&ours).count(), count, "{edited}");
        call(&project, "uninstall", host, scope).output().expect(0);
        assert_eq!(read(&project, name), SETTINGS, "{host} {scope}");
    }
}

// spec: H2
#[test]
fn if_only_one_of_the_two_timeouts_was_raised_doctor_reports_it_and_install_raises_the_other() {
    for (old, new) in [("\"timeout\": 600", "\"timeout\": 1800"), (" hook claude", " hook claude --seconds=1800")] {
        let project = project_with_settings();
        let name = "home/.claude/settings.json";
        project.ralph(["install", "claude"]).output().expect(0);
        write(&project, name, &read(&project, name).replace(old, new));
        let doctor = || project.ralph(["doctor", "claude", "--json"]).output().stdout;
        assert!(doctor().contains("update them with"), "{new}");
        project.ralph(["install", "claude"]).output().expect(0);
        let settings = read(&project, name);
        assert_eq!(settings.matches(" hook claude --seconds 1800\"").count(), 3, "{settings}");
        assert_eq!(settings.matches("\"timeout\": 1800").count(), 3, "{settings}");
        assert!(!doctor().contains("update them with"));
        project.ralph(["uninstall", "claude"]).output().expect(0);
        assert_eq!(read(&project, name), SETTINGS);
    }
}

// spec: H2
#[test]
fn a_renamed_ralph_recognises_its_hooks_also_after_it_has_moved() {
    let project = project_with_settings();
    let name = "home/.claude/settings.json";
    let run = |program: &str, verb: &str| {
        let mut command = Command::new(project.outside(program));
        let command = command.args([verb, "claude"]).env_clear().env("HOME", project.home()).current_dir("/");
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    fs::copy(env!("CARGO_BIN_EXE_ralph"), project.outside("agentloop")).unwrap();
    run("agentloop", "install");
    assert!(!run("agentloop", "install").contains("changed"));
    write(&project, name, &format!("{}// the end\n", read(&project, name)));
    assert!(!run("agentloop", "install").contains("changed"));
    fs::rename(project.outside("agentloop"), project.outside("looper")).unwrap();
    run("looper", "install");
    let settings = read(&project, name);
    assert_eq!((settings.matches("/looper hook claude").count(), settings.matches("agentloop").count()), (3, 0));
    write(&project, name, &format!("{settings}// really\n"));
    run("looper", "uninstall");
    assert_eq!(read(&project, name), format!("{SETTINGS}// the end\n// really\n"));
}

// spec: H2
#[test]
fn an_invalid_timeout_is_refused() {
    let project = Project::new();
    for seconds in ["0", "9", "86401", "-1", "soon", "18446744073709551616"] {
        let answer = project.ralph(["install", "claude", "--seconds", seconds]).output().expect(64);
        assert!(answer.stderr.contains("--seconds"), "{}", answer.stderr);
    }
    assert!(!project.home().join(".claude").exists());
}
