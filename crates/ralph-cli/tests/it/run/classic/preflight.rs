//! The checks before a classic run, their order and their messages.
use std::fs;
use std::path::Path;

use super::{PROMISE_REQUEST, logs, project, run, run_for_people};
use crate::harness::{CallOutput, Project};

/// Asserts a refusal: an error, an exit code, and nothing started or recorded.
#[track_caller]
fn refused(project: &Project, answer: CallOutput, code: i32) -> String {
    let answer = answer.expect(code);
    assert!(answer.stdout.is_empty(), "{}", answer.stdout);
    assert!(answer.stderr.contains("error: "), "{}", answer.stderr);
    assert!(project.starts().is_empty(), "nothing is started");
    assert!(!project.state().join("ralph.db").exists(), "nothing is recorded");
    assert!(logs(project).is_empty(), "no log is begun");
    answer.stderr
}

// spec: C4
#[test]
fn the_first_check_is_for_a_git_repository() {
    let project = Project::new();
    let outside = project.outside("elsewhere");
    fs::create_dir(&outside).unwrap();
    for args in [vec!["plan"], vec!["build"], vec!["prompt", "x.md"]] {
        let call = project.ralph(args).args(["--agent", "claude"]).env("PATH", "/nowhere").folder(&outside);
        let stderr = refused(&project, call.output(), 1);
        assert!(stderr.contains("is not inside a git repository"), "{stderr}");
    }
}

// spec: C4
#[test]
fn the_second_check_is_for_the_agent() {
    let project = Project::new();
    let call = project.ralph(["build", "--agent", "claude"]).env("PATH", "/nowhere");
    let stderr = refused(&project, call.output(), 1);
    assert!(stderr.contains("the agent claude was not found on PATH"), "{stderr}");
    assert!(!project.root().join(".ralph/logs").exists());
}

// spec: C4
#[test]
fn folders_are_created_and_missing_specs_are_only_a_warning() {
    let project = project();
    fs::remove_dir(project.root().join("specs")).unwrap();
    let answer = run_for_people(&project, &["plan"], &["complete"]).output().expect(0);
    assert!(answer.stderr.contains("warning   the folder specs (SPECS_DIR) does not exist"), "{}", answer.stderr);
    assert_eq!(logs(&project).len(), 1);
    fs::create_dir(project.root().join("specs")).unwrap();
    let answer = run_for_people(&project, &["plan"], &["complete"]).output().expect(0);
    assert!(!answer.stderr.contains("SPECS_DIR"), "{}", answer.stderr);
}

// spec: C4, C6
#[test]
fn build_requires_the_plan() {
    let project = project();
    fs::remove_file(project.root().join(".ralph/implementation_plan.md")).unwrap();
    fs::remove_file(project.root().join(".ralph/prompts/build.md")).unwrap();
    let stderr = refused(&project, run(&project, &["build"], &["complete"]).output(), 2);
    assert_eq!(stderr, "error: Implementation plan not found. Run 'ralph plan' first.\n");
    fs::create_dir(project.root().join(".ralph/implementation_plan.md")).unwrap();
    refused(&project, run(&project, &["build"], &["complete"]).output(), 2);
}

// spec: C4, U1
#[test]
fn files_at_the_root_get_a_hint_with_the_expected_folder() {
    let project = project();
    fs::rename(project.root().join(".ralph/prompts"), project.root().join("prompts")).unwrap();
    fs::remove_file(project.root().join(".ralph/implementation_plan.md")).unwrap();
    for (mode, code) in [("plan", 1), ("build", 2)] {
        let stderr = refused(&project, run(&project, &[mode], &["complete"]).output(), code);
        assert!(stderr.contains("ralph reads its files from "), "{stderr}");
        assert!(stderr.contains("only if that has `config` and `prompts`"), "{stderr}");
    }
}

// spec: C4
#[test]
fn plan_and_prompt_need_no_plan() {
    let project = project();
    fs::remove_file(project.root().join(".ralph/implementation_plan.md")).unwrap();
    let own = project.write("own.md", PROMISE_REQUEST);
    run(&project, &["plan"], &["complete"]).output().expect(0);
    run(&project, &["prompt", own.to_str().unwrap()], &["complete"]).output().expect(0);
}

// spec: C4, U1
#[test]
fn a_missing_prompt_file_gets_the_hint_to_run_init() {
    let project = project();
    for mode in ["plan", "build"] {
        let prompt = project.root().join(format!(".ralph/prompts/{mode}.md"));
        fs::remove_file(&prompt).unwrap();
        let stderr = refused(&project, run(&project, &[mode], &["complete"]).output(), 1);
        assert!(stderr.contains(&format!("prompts/{mode}.md does not exist")), "{stderr}");
        assert!(stderr.contains("hint: create it with `ralph init`"), "{stderr}");
    }
}

// spec: C4, C6
#[test]
fn a_prompt_of_the_user_s_own_must_ask_for_the_promise() {
    let project = project();
    let own = project.write("own.md", "Look around.\n");
    let stderr = refused(&project, run(&project, &["prompt", own.to_str().unwrap()], &["complete"]).output(), 1);
    assert!(stderr.contains("does not ask for <promise>COMPLETE</promise>"), "{stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
}

// spec: C4, U1
// fault: 62
#[test]
fn an_invalid_prompt_is_refused_at_once_with_the_reason() {
    let project = project();
    let path = |name: &str| project.outside(name);
    fs::create_dir(path("folder")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), fifo, 0o600.into(), 0).unwrap();
    fs::File::create(path("huge")).unwrap().set_len(1 << 30).unwrap();
    fs::write(path("bytes"), b"\xff<promise>COMPLETE</promise>").unwrap();
    fs::write(path("empty"), b"").unwrap();
    let why = |path: &Path| {
        let call = run(&project, &["prompt", path.to_str().unwrap()], &["complete"]);
        refused(&project, call.output(), 1)
    };
    assert!(why(&path("missing")).contains("No such file"));
    assert!(why(&path("folder")).contains("it is a folder"));
    assert!(why(&path("fifo")).contains("not a regular file"));
    assert!(why(Path::new("/dev/zero")).contains("not a regular file"));
    assert!(why(&path("huge")).contains("longer than 64 MB"));
    assert!(why(&path("bytes")).contains("not UTF-8"));
    assert!(why(&path("empty")).contains("it is empty"));
}

// spec: C1, U1
#[test]
fn a_prompt_that_becomes_unreadable_ends_the_run_with_the_reason() {
    let project = project();
    let script = project.script("remove .ralph/prompts/build.md\ntext more\n");
    let answer = run(&project, &["build"], &["script", &script]).output().expect(4);
    let reason = answer.finished()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("the prompt cannot be read") && reason.contains("No such file"), "{reason}");
}
