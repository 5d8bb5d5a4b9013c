//! Plugins: executables in `.ralph/verifiers` with JSON input and output.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;

use crate::harness::{CallOutput, Project};

/// A project with a plugin and a check that uses it.
fn with_plugin(lines: &str, more: &str) -> Project {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph/verifiers")).unwrap();
    write(&project, lines);
    project.write(
        ".ralph/config.yaml",
        format!("checks: [{{name: looks right, plugin: look, config: {{least: 80}}{more}}}]\n"),
    );
    project
}

fn write(project: &Project, lines: &str) {
    let path = project.write(".ralph/verifiers/look", format!("#!/bin/sh\n{lines}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(project: &Project) -> CallOutput {
    project.run(&["complete"]).output()
}

fn check(answer: &CallOutput) -> Value {
    answer.events_named("verdict").pop().unwrap()["checks"][0].clone()
}

// spec: V5
#[test]
fn a_plugin_receives_the_context_and_its_verdict_counts() {
    let project = with_plugin(
        "cat > \"$TMPDIR/asked\"; echo 'some words' >&2; echo '{\"verdict\":\"accepted\",\"reason\":\"fine\"}'",
        "",
    );
    project.trust();
    let answer = run(&project).expect(0);
    let seen = check(&answer);
    assert_eq!((&seen["method"], &seen["reason"]), (&"plugin".into(), &"fine".into()));
    assert_eq!(seen["tail"], "some words\n");
    let asked: Value = serde_json::from_slice(&fs::read(project.outside("asked")).unwrap()).unwrap();
    assert_eq!(asked["version"], 1);
    assert_eq!(asked["criterion"]["config"]["least"], 80);
    assert_eq!(asked["criterion"]["name"], "looks right");
    assert_eq!(asked["work_tree"].as_str().unwrap(), project.root().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(asked["claim"]["promise"], "COMPLETE");
    assert!(asked["claim"]["report"].as_str().unwrap().contains("<promise>COMPLETE</promise>"));
    let output = fs::read_to_string(asked["output_file"].as_str().unwrap()).unwrap();
    assert!(output.contains("<promise>COMPLETE</promise>"));
}

// spec: V5, V7
#[test]
fn invalid_plugin_output_is_not_a_verdict() {
    let table = [
        ("echo '{\"verdict\":\"rejected\",\"reason\":\"too little\"}'", 3, "too little"),
        ("echo yes", 6, "Plugin failed: its stdout is not"),
        ("echo '{\"verdict\":\"accepted\",\"reason\":\"\"}'; exit 1", 6, "Plugin failed: it exited with code 1"),
        ("kill -9 $$", 6, "Plugin failed: killed by signal 9 (SIGKILL)"),
        ("head -c 50000000 /dev/zero", 6, "Plugin failed: its answer is too long"),
        ("sleep 1000 & sleep 1000", 6, "Plugin failed: it timed out and was killed"),
    ];
    for (lines, code, why) in table {
        let project = with_plugin(lines, ", timeout: 2");
        project.trust();
        let answer = project.run(&["complete"]).args(["--max-iterations", "2"]).output().expect(code);
        assert!(check(&answer)["reason"].as_str().unwrap().starts_with(why), "{}", check(&answer));
    }
}

// spec: V5, X6
#[test]
fn a_plugin_must_be_approved_and_again_when_it_changes() {
    let accept = "echo '{\"verdict\":\"accepted\",\"reason\":\"\"}'";
    let project = with_plugin(accept, "");
    let answer = run(&project).expect(1);
    assert!(answer.stderr.contains("verifiers.look: "), "{}", answer.stderr);
    project.trust();
    run(&project).expect(0);
    write(&project, &format!("touch pwned; {accept}"));
    assert!(run(&project).expect(1).stderr.contains("have changed since you approved them"));
    assert!(!project.root().join("pwned").exists());
}

// spec: V5
#[test]
fn a_plugin_that_is_missing_or_outside_of_its_folder_is_not_started() {
    let project = with_plugin("", "");
    let path = project.root().join(".ralph/verifiers/look");
    fs::remove_file(&path).unwrap();
    project.trust();
    let missing = run(&project).expect(6);
    assert!(check(&missing)["reason"].as_str().unwrap().contains("there is no plugin look"), "{}", check(&missing));
    symlink("/bin/true", &path).unwrap();
    project.trust();
    let out = run(&project).expect(6);
    assert!(check(&out)["reason"].as_str().unwrap().contains("leads out of its folder"), "{}", check(&out));
}

// spec: V5, X6
#[test]
fn a_missing_plugin_is_named_without_a_hint_to_approve_it() {
    let project = Project::new();
    let config = project.outside("c.yaml");
    fs::write(&config, "checks: [{plugin: nope}]\n").unwrap();
    let config = config.display().to_string();
    let answer = project.run(&["complete"]).args(["--config", &config]).output().expect(1);
    assert!(answer.stderr.contains("there is no plugin nope in "), "{}", answer.stderr);
    assert!(!answer.stderr.contains("ralph trust"), "{}", answer.stderr);
}
