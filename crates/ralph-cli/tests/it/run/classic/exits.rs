//! Exit codes of classic runs, and changes that ralph never makes to the repository.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;

use super::{project, run, run_for_people, run_shell};
use crate::harness::{CallOutput, Project};

fn ended(answer: &CallOutput) -> (String, i64) {
    let last = answer.finished();
    (last["outcome"].as_str().unwrap().to_owned(), last["exit_code"].as_i64().unwrap())
}

// spec: C1, C6
#[test]
fn each_mode_runs_its_prompt_until_the_agent_claims_completion() {
    let project = project();
    let file = project.write("own.md", super::PROMISE_REQUEST);
    for (kind, args) in
        [("plan", vec!["plan"]), ("build", vec!["build"]), ("prompt", vec!["prompt", file.to_str().unwrap()])]
    {
        let answer = run(&project, &args, &["complete"]).output().expect(0);
        let started = &answer.events_named("run.started")[0];
        assert_eq!((&started["kind"], &started["promise"]), (&kind.into(), &"COMPLETE".into()));
        assert_eq!(ended(&answer), ("completed".to_owned(), 0));
    }
}

// spec: S7, C1
// finding: N29
#[test]
fn a_plan_that_lists_open_work_is_complete() {
    let project = project();
    let script = project.script("text Remaining work:\\n- [ ] write the parser\\n- [ ] TODO: tests\\n\\n{promise}\n");
    let answer = run(&project, &["plan", "1"], &["script", &script]).output().expect(0);
    assert_eq!(ended(&answer), ("completed".to_owned(), 0));
    let answer = run(&project, &["build", "1", "--strict"], &["script", &script]).output().expect(3);
    assert_eq!(ended(&answer), ("exhausted".to_owned(), 3));
}

// spec: C1
#[test]
fn n_limits_the_iterations_and_defaults_to_ten() {
    let project = project();
    let limit = |args: &[&str]| {
        let answer = run(&project, args, &["complete"]).output().expect(0);
        answer.events_named("run.started")[0]["max_iterations"].as_i64().unwrap()
    };
    assert_eq!(limit(&["plan"]), 10);
    assert_eq!(limit(&["build", "3"]), 3);
    project.write(".ralph/config.yaml", "ralph: { default_max_iterations: 4 }\n");
    assert_eq!(limit(&["plan"]), 4);
    assert_eq!(limit(&["plan", "7"]), 7);
    for wrong in ["0", "-1", "many"] {
        run(&project, &["build", wrong], &["complete"]).output().expect(64);
    }
}

// spec: C6
#[test]
fn used_up_iterations_are_an_error_only_with_strict_and_never_a_completion() {
    let project = project();
    let answer = run_for_people(&project, &["build", "2"], &["work"]).output().expect(0);
    assert!(answer.stdout.contains("exhausted after 2 iterations"), "{}", answer.stdout);
    assert!(answer.stdout.contains("not complete"), "{}", answer.stdout);
    let answer = run(&project, &["build", "2"], &["work"]).output().expect(0);
    assert_eq!(ended(&answer), ("exhausted".to_owned(), 0));
    let answer = run_for_people(&project, &["build", "1", "--strict"], &["work"]).output().expect(3);
    assert!(!answer.stdout.contains("not complete: the iterations"), "{}", answer.stdout);
    let answer = run(&project, &["build", "1", "--strict"], &["work"]).output().expect(3);
    assert_eq!(ended(&answer), ("exhausted".to_owned(), 3));
}

// spec: C6, L5
#[test]
fn an_agent_that_fails_past_its_retries_is_exit_code_4() {
    let project = project();
    let answer = run(&project, &["plan"], &["exit", "1"]).args(["--max-retries", "1"]).output().expect(4);
    assert_eq!(ended(&answer), ("failed".to_owned(), 4));
    project.write(".ralph/config", "MAX_RETRIES=0\n");
    let answer = run(&project, &["plan"], &["exit", "1"]).output().expect(4);
    assert!(answer.events_named("retry.scheduled").is_empty(), "MAX_RETRIES of the configuration counts");
}

// spec: C6, S6
#[test]
fn a_blocked_agent_is_exit_code_6() {
    let project = project();
    let script = project.script("text <blocked>no key</blocked>\n");
    run(&project, &["plan"], &["script", &script]).output().expect(6);
}

// spec: C6, L12
#[test]
fn signals_have_their_exit_codes() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let project = project();
        let running = run(&project, &["build"], &["hang"]).start();
        project.wait_for("ready");
        running.signal(signal);
        running.wait().expect(code);
    }
}

// spec: C4, C6
#[test]
fn a_plan_that_vanishes_during_a_run_ends_it_before_the_next_iteration() {
    let project = project();
    let script = project.script("remove .ralph/implementation_plan.md\ntext more to do\n");
    let answer = run(&project, &["build"], &["script", &script]).output().expect(2);
    assert_eq!(ended(&answer), ("failed".to_owned(), 2));
    assert_eq!(answer.finished()["reason"], "Implementation plan not found. Run 'ralph plan' first.");
    assert_eq!(answer.finished()["iterations"], 1);
    assert_eq!(project.starts().len(), 1);
    assert!(super::log(&project).ends_with(&format!("Exit Code: 2\n{}\n", "=".repeat(80))));
}

// spec: C4, L3
#[test]
fn an_agent_that_removes_the_plan_and_claims_completion_completes_the_run() {
    let project = project();
    let script = project.script("remove .ralph/implementation_plan.md\ntext All done.\\n\\n{promise}\n");
    run(&project, &["build"], &["script", &script]).output().expect(0);
}

// spec: C6, L2
#[test]
fn runs_and_show_print_the_kind_of_run() {
    let project = project();
    run(&project, &["build"], &["complete"]).output().expect(0);
    assert_eq!(project.ralph(["show", "--json"]).output().expect(0).json()["kind"], "build");
    assert_eq!(project.ralph(["runs", "--json"]).output().expect(0).json()[0]["kind"], "build");
    assert!(project.ralph(["show"]).output().expect(0).stdout.contains("build"));
    assert!(project.ralph(["runs"]).output().expect(0).stdout.contains("build"));
}

fn git(project: &Project, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(project.root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Puts a `git` first on the PATH that records its calls. With its own index it changes none of the user's.
fn recording_git(project: &Project) -> String {
    let folder = project.outside("bin");
    fs::create_dir(&folder).unwrap();
    let path = std::env::var("PATH").unwrap();
    let calls = project.outside("git-calls");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"${{GIT_INDEX_FILE:+own index }}$*\" >> '{}'\nPATH='{path}' exec git \"$@\"\n",
        calls.display()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", folder.display())
}

// spec: C7
#[test]
fn uncommitted_files_of_the_agent_stay_uncommitted_and_ralph_writes_only_its_own_snapshots_to_git() {
    let project = project();
    let path = recording_git(&project);
    let script = project.script("write made.txt yes\ntext one\n---\ntext All done.\\n\\n{promise}\n");
    run(&project, &["build"], &["script", &script]).env("PATH", path).output().expect(0);
    assert!(git(&project, &["status", "--porcelain", "-uall"]).contains("?? made.txt"));
    assert_eq!(git(&project, &["rev-list", "--branches", "--tags", "--count"]).trim(), "0");
    let refs = git(&project, &["for-each-ref", "--format=%(refname)"]);
    assert!(refs.lines().all(|name| name.starts_with("refs/ralph/_runs/")), "{refs}");
    assert!(!project.root().join(".git/index").exists(), "the index of the user stays as it is");
    let calls = fs::read_to_string(project.outside("git-calls")).unwrap_or_default();
    let writes = ["add", "commit", "stash", "reset", "checkout", "switch", "clean", "merge", "push", "tag", "branch"];
    for call in calls.lines().filter(|call| !call.starts_with("own index ")) {
        assert!(!call.split(' ').any(|word| writes.contains(&word)), "{calls}");
    }
}

// spec: C7
#[test]
fn the_agent_s_commit_is_the_only_commit() {
    let project = project();
    let script = project.script("write made.txt yes\ncommit the agent's own\ntext All done.\\n\\n{promise}\n");
    run(&project, &["build"], &["script", &script]).output().expect(0);
    assert_eq!(git(&project, &["log", "--format=%s"]), "the agent's own\n");
    let tracked = git(&project, &["ls-files"]);
    assert!(!tracked.contains("logs/") && !tracked.contains("state/"), "git does not see logs: {tracked}");
}

// spec: C1, A3
#[test]
fn the_agent_works_in_the_project_s_root_from_any_folder() {
    let project = project();
    let deep = project.root().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let agent = "pwd > ../where; echo '<promise>COMPLETE</promise>'";
    run_shell(&project, &["build"], agent).folder(&deep).output().expect(0);
    let stood = fs::read_to_string(project.outside("where")).unwrap();
    assert_eq!(stood.trim(), project.root().canonicalize().unwrap().to_str().unwrap());
}

// spec: C6
#[test]
fn a_git_command_of_ralph_s_own_that_fails_is_exit_code_5() {
    let project = project();
    project.run(&["complete"]).args(["--check", "true"]).output().expect(0);
    let folder = project.outside("bin");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("git"), "#!/bin/sh\necho 'fatal: the index is broken' >&2\nexit 128\n").unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let answer = project.ralph(["diff"]).env("PATH", &folder).output().expect(5);
    assert!(answer.stderr.contains("the index is broken"), "{}", answer.stderr);
    project.ralph(["diff"]).output().expect(0);
}

// spec: C6
// finding: N57
#[test]
fn the_last_line_says_that_exit_code_0_is_not_completion() {
    let project = project();
    for mode in ["plan", "build"] {
        let answer = run_for_people(&project, &[mode, "1"], &["work"]).output().expect(0);
        let last = answer.stdout.lines().last().unwrap();
        assert_eq!(last, "not complete: the iterations are used up, but the exit code is 0; with --strict it is 3");
        let help = project.ralph([mode, "--help"]).output().expect(0).stdout;
        assert!(help.contains("or not complete after the last iteration"), "{help}");
    }
}
