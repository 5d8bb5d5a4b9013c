//! Where the state of a project is: in the state folder of the user. The state of an earlier version is moved there, and
//! one that came with a project is refused.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::Project;

fn runs(project: &Project) -> Vec<Value> {
    let listed = project.ralph(["runs", "--json"]).output().expect(0).json();
    listed.as_array().unwrap().clone()
}

/// Puts the state of a project where earlier versions kept it.
fn put_into_work_tree(project: &Project) -> PathBuf {
    let old = project.root().join(".ralph/state");
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    fs::rename(project.state(), &old).unwrap();
    fs::remove_file(project.root().join(".git/ralph-project")).unwrap();
    fs::remove_file(old.join("project")).unwrap();
    old
}

/// Makes the state look as if another machine had written it.
fn forget_this_boot(state: &Path) {
    let locks = fs::read_dir(state.join("runs")).unwrap().map(|run| run.unwrap().path().join("lock"));
    for lock in locks.chain([state.join("lock")]) {
        let _ = fs::remove_file(lock);
    }
}

// spec: D1
// finding: N43
#[test]
fn an_agent_that_cleans_the_work_tree_loses_no_record() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let agent = "cat > /dev/null; git clean -fdxq; rm -rf .ralph; echo '<promise>COMPLETE</promise>'";
    project.run_shell(agent).output().expect(0);
    assert_eq!(runs(&project).len(), 2);
    assert!(project.state().starts_with(project.home().canonicalize().unwrap()));
}

// spec: D1
#[test]
fn the_state_of_an_earlier_version_is_moved_once() {
    let project = Project::new();
    project.run(&["promise-exit", "1"]).args(["--max-retries", "0"]).output().expect(4);
    let old = put_into_work_tree(&project);
    assert_eq!(runs(&project).len(), 1);
    assert!(!old.exists() && project.state().join("ralph.db").is_file());
    project.ralph(["resume"]).output().expect(4);
    project.run(&["complete"]).output().expect(0);
    assert_eq!(runs(&project).len(), 2);
}

// spec: D1
#[test]
fn a_new_run_also_takes_over_the_state_of_an_earlier_version() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    put_into_work_tree(&project);
    project.run(&["complete"]).output().expect(0);
    assert_eq!(runs(&project).len(), 2);
}

// spec: D1, X6, L13
// finding: N39
// fault: 83
#[test]
fn a_database_that_came_with_a_project_is_refused_until_the_user_says_that_it_is_theirs() {
    let project = Project::new();
    project.run(&["promise-exit", "1"]).args(["--max-retries", "0"]).output().expect(4);
    let old = put_into_work_tree(&project);
    forget_this_boot(&old);
    let starts = project.starts().len();
    for call in [vec!["resume"], vec!["runs"], vec!["work", "--until-idle"], vec!["task", "list"]] {
        let answer = project.ralph(&call).output().expect(10);
        assert!(answer.stderr.contains("may have come with the project"), "{call:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("ralph trust --state"), "{call:?}: {}", answer.stderr);
    }
    let answer = project.run(&["complete"]).output().expect(10);
    assert!(answer.stderr.contains("may have come with the project"), "{}", answer.stderr);
    assert_eq!(project.starts().len(), starts, "nothing of the stranger was started");
    assert!(old.join("ralph.db").is_file());
    project.ralph(["trust", "--state"]).output().expect(0);
    assert_eq!(runs(&project).len(), 1);
    assert!(!old.exists());
}

// spec: D1, X6
// finding: N39
// fault: 83
#[test]
fn a_database_that_git_tracks_or_that_is_in_a_submodule_is_refused() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    put_into_work_tree(&project);
    let git = |args: &[&str]| {
        assert!(Command::new("git").args(args).current_dir(project.root()).status().unwrap().success());
    };
    git(&["add", "--force", ".ralph/state/ralph.db"]);
    project.ralph(["runs"]).output().expect(10);
    git(&["rm", "--quiet", "--cached", ".ralph/state/ralph.db"]);
    fs::write(project.root().join(".ralph/.git"), "gitdir: ../.git/modules/x\n").unwrap();
    project.ralph(["runs"]).output().expect(10);
    fs::remove_file(project.root().join(".ralph/.git")).unwrap();
    assert_eq!(runs(&project).len(), 1);
}

// spec: D1
// finding: N46
#[test]
fn a_home_folder_that_does_not_exist_is_not_created() {
    let project = Project::new();
    let missing = project.outside("missing/home");
    let answer = project.run(&["complete"]).env("HOME", &missing).output().expect(10);
    assert!(answer.stderr.contains("does not exist"), "{}", answer.stderr);
    assert!(!project.outside("missing").exists());
}

// spec: D1
// finding: N46
#[test]
fn no_command_creates_a_home_folder() {
    let project = Project::new();
    let missing = project.outside("missing/home");
    for host in ["claude", "codex", "copilot", "gemini", "opencode"] {
        let answer = project.ralph(["install", host]).env("HOME", &missing).output();
        assert!(answer.stderr.contains("does not exist"), "{host}: {}{}", answer.stdout, answer.stderr);
        assert!(!project.outside("missing").exists(), "{host}");
    }
    for command in [&["doctor"][..], &["agents"], &["runs"], &["status"], &["trust", "--yes"], &["demo"]] {
        project.ralph(command).env("HOME", &missing).output();
        assert!(!project.outside("missing").exists(), "{command:?}");
    }
}
