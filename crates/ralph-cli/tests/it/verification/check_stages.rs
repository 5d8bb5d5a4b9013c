//! Checks in several stages, in parallel and with retries.
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, CallOutput, Project, wait_until};

/// Without a baseline: these checks record how often and in which order they run.
fn run<'a>(project: &'a Project, checks: &str) -> Call<'a> {
    let config = project.outside("stages.yaml");
    fs::write(&config, format!("checks:\n  - {checks}\n")).unwrap();
    let call = project.run(&["complete"]).args(["--config", &config.display().to_string()]);
    call.args(["--no-baseline", "--max-iterations", "1"])
}

fn check(answer: &CallOutput) -> Value {
    answer.events_named("verdict").pop().unwrap()["checks"][0].clone()
}

/// Touches one file and waits for another.
fn touch_and_wait(own: &str, other: &str) -> String {
    format!("{{name: {own}, command: 'touch {own}; until test -e {other}; do sleep 0.01; done'}}")
}

// spec: V4
#[test]
fn commands_of_one_stage_run_in_parallel_if_configured() {
    let project = Project::new();
    let stages =
        format!("{{parallel: true, stages: [{}, {}, 'exit 0']}}", touch_and_wait("a", "b"), touch_and_wait("b", "a"));
    let answer = run(&project, &stages).output().expect(0);
    let seen = check(&answer);
    let names: Vec<&str> =
        seen["stages"].as_array().unwrap().iter().filter_map(|stage| stage["name"].as_str()).collect();
    assert_eq!(names, ["a", "b"], "in the order in which they are written");
    assert_eq!(seen["reason"], "All 3 verification stages passed");
}

// spec: V4, L12
#[test]
fn a_stop_ends_all_parallel_commands() {
    let project = Project::new();
    let waits = |name: &str| format!("'touch {name}; sleep 1000'");
    let running = run(&project, &format!("{{parallel: true, stages: [{}, {}]}}", waits("a"), waits("b"))).start();
    wait_until("both run", || ["a", "b"].iter().all(|name| project.root().join(name).exists()));
    running.signal(Signal::INT);
    running.wait().expect(130);
}

// spec: V4
#[test]
fn a_required_failure_ends_the_stages_and_an_optional_one_only_warns() {
    let project = Project::new();
    let stages =
        "{stages: [{name: lint, command: exit 1, required: false}, {name: test, command: exit 2}, touch later]}";
    let answer = run(&project, stages).output().expect(3);
    assert_eq!(check(&answer)["reason"], "Stage 'test' failed: Command exited with 2, expected 0");
    assert!(!project.root().join("later").exists());
    let stages = stages.replace("stages:", "require_all: false, stages:");
    let answer = run(&project, &stages).output().expect(3);
    assert_eq!(check(&answer)["reason"], "Failed stages: test: Command exited with 2, expected 0");
    assert!(project.root().join("later").exists());
}

// fault: 77
// spec: V12
#[test]
fn a_flaky_check_passes_and_is_reported_as_flaky() {
    let project = Project::new();
    let answer = run(&project, "{command: 'test -e tried || { touch tried; exit 1; }', retries: 2}").output().expect(0);
    let seen = check(&answer);
    assert_eq!((&seen["tries"], &seen["verdict"]), (&2.into(), &"accepted".into()));
    assert_eq!(seen["reason"], "External verification passed (flaky: passed at try 2 of 3)");
    let again = Project::new();
    let answer = run(&again, "{command: 'echo x >> tries; exit 1', retries: 2}").output().expect(3);
    assert_eq!(check(&answer)["reason"], "Command exited with 1, expected 0 (at try 3 of 3)");
    assert_eq!(fs::read_to_string(again.root().join("tries")).unwrap(), "x\nx\nx\n");
}

// spec: V12, L12
#[test]
fn a_stop_ends_the_retries_of_a_check() {
    let project = Project::new();
    let running = run(&project, "{command: 'echo x >> tries; sleep 1000', retries: 9}").start();
    wait_until("it runs", || project.root().join("tries").exists());
    running.signal(Signal::INT);
    running.wait().expect(130);
    assert_eq!(fs::read_to_string(project.root().join("tries")).unwrap(), "x\n");
}

// spec: V2
#[test]
fn a_list_runs_without_a_shell_in_its_folder_and_with_its_variables() {
    let project = Project::new();
    fs::create_dir(project.root().join("sub")).unwrap();
    let script = project.write(
        "check.sh",
        "#!/bin/sh\ntest \"$1\" = '$HOME; exit 1' && test \"$A\" = b && test \"${PWD##*/}\" = sub\n",
    );
    fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    run(&project, "{command: [./check.sh, '$HOME; exit 1'], working_dir: sub, env: {A: b}}").output().expect(0);
    let answer = run(&project, "{command: [\"true\"], working_dir: ..}").output().expect(1);
    assert!(answer.stderr.contains("is outside the work tree"), "{}", answer.stderr);
    std::os::unix::fs::symlink("/", project.root().join("out")).unwrap();
    let answer = run(&project, "{command: [\"true\"], working_dir: out}").output().expect(3);
    assert!(check(&answer)["reason"].as_str().unwrap().contains("leads out of the work tree"), "{}", check(&answer));
}
