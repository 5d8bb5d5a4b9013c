//! Projects whose path is not UTF-8.
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::harness::{FAKE_AGENT, Project};

/// A repository whose path is not UTF-8, beside the usual one.
fn non_utf8_project(project: &Project) -> PathBuf {
    let root = project.outside("odd").join(OsString::from_vec(b"caf\xe9 \xff".to_vec()));
    fs::create_dir_all(&root).unwrap();
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&root).status().unwrap();
    assert!(git.success());
    root
}

// spec: L13
#[test]
fn a_run_in_a_project_with_a_non_utf8_path_can_be_resumed() {
    let project = Project::new();
    let root = non_utf8_project(&project);
    fs::write(root.join("task.md"), "words").unwrap();
    let go = project.outside("go");
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=wait-file"];
    let call = project.ralph(["run", "@task.md", "--promise", "COMPLETE", "--json"]).args(agent);
    let run = call.args([format!("--agent-arg={}", go.display())]).folder(&root).start();
    run.wait_for_event("attempt.started");
    run.signal(Signal::INT);
    run.wait().expect(130);
    fs::write(&go, "").unwrap();
    let answer = project.ralph(["resume", "--json"]).folder(&root).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
}

// spec: U2, X6, C1
#[test]
fn classic_mode_works_in_a_project_with_a_non_utf8_path() {
    let project = Project::new();
    let root = non_utf8_project(&project);
    fs::write(root.join("Makefile"), "test:\n\ttrue\n").unwrap();
    let call = |args: &[&str]| project.ralph(args).folder(&root).output();
    call(&["init", "--agent", "demo"]).expect(0);
    assert!(call(&["trust", "--show"]).expect(0).stdout.ends_with("\napproved\n"));
    call(&["plan"]).expect(0);
    call(&["build"]).expect(0);
    call(&["gc", "--older-than", "1ms"]).expect(0);
}

// spec: X6
#[test]
fn an_agent_of_a_non_utf8_project_is_found_from_its_root_and_subfolders() {
    let project = Project::new();
    let root = non_utf8_project(&project);
    fs::create_dir_all(root.join(".ralph")).unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("agent"), "#!/bin/sh\necho '<promise>COMPLETE</promise>'\n").unwrap();
    fs::set_permissions(root.join("agent"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join(".ralph/config.yaml"), "agent: mine\nagents: {mine: {type: text, cli: ./agent}}\n").unwrap();
    project.ralph(["trust", "--yes"]).folder(&root).output().expect(0);
    for folder in [root.clone(), root.join("a/b")] {
        let call = project.ralph(["run", "x", "--promise", "COMPLETE", "--json"]).folder(&folder);
        assert_eq!(call.output().expect(0).finished()["outcome"], "completed");
    }
}

// spec: A1
#[test]
fn an_agent_that_needs_its_folder_as_text_is_refused_for_a_non_utf8_path() {
    let project = Project::new();
    let root = non_utf8_project(&project);
    for agent in [&["--agent", "acp"][..], &["--agent", "text", "--output-format", "acp"]] {
        let call = project.ralph(["run", "x", "--agent-cmd", FAKE_AGENT]).args(agent).folder(&root);
        let answer = call.output().expect(1);
        assert!(answer.stderr.contains(" is not UTF-8 text"), "{}", answer.stderr);
        assert!(answer.stderr.contains("hint: rename the folder"), "{}", answer.stderr);
    }
    assert!(project.starts().is_empty());
}
