//! Claims that are checked in a clean checkout of their commit, and results that are reused.
use std::fs;

use crate::harness::{Call, CallOutput, Project, wait_until};

const COMMIT: &str = "git add -A; git -c user.name=A -c user.email=a@example.invalid commit -qm work";

/// A project with unfinished work and a check for it.
fn project() -> Project {
    let project = Project::new();
    project.write("work", "open\n");
    project.write(".gitignore", "cache/\nnode_modules/\n");
    project.commit();
    project
}

/// Prepares an agent that executes this once and claims every time; only its commit is checked.
fn clean<'a>(project: &'a Project, agent_script: &str) -> Call<'a> {
    let agent = format!(
        "cat > /dev/null\n[ -e {seen} ] || {{ touch {seen}\n{agent_script}\n}}\necho '<promise>COMPLETE</promise>'",
        seen = project.outside("seen").display()
    );
    project.run_shell(&agent).args(["--clean", "--max-iterations", "1"])
}

#[track_caller]
fn rejected(call: Call<'_>, why: &str) -> CallOutput {
    let answer = call.output().expect(3);
    let verdict = answer.events_named("verdict")[0].clone();
    assert_eq!(verdict["verdict"], "rejected");
    assert!(verdict["reason"].as_str().unwrap().contains(why), "{verdict}");
    answer
}

fn rooms(project: &Project) -> usize {
    let entries = fs::read_dir(project.outside("")).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("ralph-checkout-")).count()
}

// spec: V10
#[test]
fn committed_work_is_checked_in_a_checkout_that_is_removed_afterwards() {
    let project = project();
    let check = format!("grep -q done work && test \"$PWD\" != '{}'", project.root().display());
    let answer = clean(&project, &format!("echo done > work; {COMMIT}")).args(["--check", &check]);
    assert_eq!(answer.output().expect(0).finished()["outcome"], "completed");
    assert_eq!(rooms(&project), 0);
}

// spec: V10, V9
// fault: 76
// finding: N11
#[test]
fn a_weakened_test_that_is_only_in_the_commit_is_rejected() {
    let project = project();
    fs::create_dir(project.root().join("tests")).unwrap();
    project.write("tests/a.sh", "grep -q done work\n");
    project.commit();
    let weaken = format!(
        "echo 'exit 0' > tests/a.sh; echo 'exit 0' > tests/0.sh; {COMMIT}
         git checkout -q HEAD~1 -- tests/a.sh; rm tests/0.sh; git reset -q
         git update-index --assume-unchanged tests/a.sh; git update-index --skip-worktree tests/0.sh"
    );
    let check = "test ! -e tests/0.sh && sh tests/a.sh";
    let call = clean(&project, &weaken).args(["--check", check, "--guard", "tests"]);
    rejected(call, "claimed, but not committed: tests/0.sh, tests/a.sh");
}

// spec: V10, V9
#[test]
fn a_guarded_file_that_the_user_has_not_committed_is_restored_in_the_checkout() {
    let project = project();
    fs::create_dir(project.root().join("tests")).unwrap();
    project.write("tests/a.sh", "exit 0\n");
    project.commit();
    project.write("tests/a.sh", "grep -q done work\n");
    let agent = "echo x > note; git add note; git -c user.name=A -c user.email=a@example.invalid commit -qm note";
    let call = clean(&project, agent).args(["--check", "sh tests/a.sh", "--guard", "tests"]);
    rejected(call, "Command exited with 1");
}

// spec: V10
#[test]
fn uncommitted_files_of_the_user_are_not_part_of_a_claim() {
    let project = project();
    project.write("notes", "mine\n");
    let call = clean(&project, "echo done > work; git add work; git -c user.name=A -c user.email=a@b commit -qm w");
    call.args(["--check", "grep -q done work && test ! -e notes"]).output().expect(0);
}

// spec: V10
#[test]
fn a_clean_checkout_runs_its_setup_commands_and_contains_shared_folders() {
    let project = project();
    fs::create_dir_all(project.root().join("node_modules/tool")).unwrap();
    fs::create_dir(project.root().join(".ralph")).unwrap();
    project.write(
        ".ralph/config.yaml",
        "verification: { isolation: clean, setup: ['touch made'], share: [node_modules, target] }\n",
    );
    project.commit();
    project.trust();
    let agent = format!("cat > /dev/null; echo done > work; {COMMIT}; echo '<promise>COMPLETE</promise>'");
    let check = "test -e made && test -d node_modules/tool && test ! -e target && grep -q done work";
    project.run_shell(&agent).args(["--check", check]).output().expect(0);
    assert!(!project.root().join("made").exists());
    project.write(".ralph/config.yaml", "verification: { isolation: clean, setup: ['exit 9'] }\n");
    project.trust();
    let failed = project.run_shell(&agent).args(["--no-baseline", "--check", "true", "--max-iterations", "1"]);
    let check = failed.output().expect(3).events_named("verdict")[0]["checks"][0].clone();
    assert_eq!((&check["name"], &check["exit_code"]), (&"setup exit 9".into(), &9.into()));
}

// spec: V10
#[test]
fn a_repository_without_a_commit_cannot_have_a_clean_room() {
    let project = Project::new();
    let answer = project.run(&["complete"]).args(["--clean", "--check", "true"]).output().expect(6);
    let reason = answer.finished()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("needs a commit to start from"), "{reason}");
    assert_eq!(project.starts().len(), 0);
}

// spec: V10
#[test]
fn a_checkout_of_a_ralph_that_was_killed_is_removed_by_the_next() {
    let project = project();
    let (ready, go) = (project.outside("checking"), project.outside("go"));
    let check = format!("touch {}; test -e {} || exec sleep 1000", ready.display(), go.display());
    let running = clean(&project, "").args(["--check", &check]).start();
    wait_until("the check runs", || ready.exists());
    running.signal(rustix::process::Signal::KILL);
    running.wait_without_invariants();
    wait_until("everything is gone", || project.processes_of_runs().is_empty());
    assert_eq!(rooms(&project), 1);
    fs::write(&go, "").unwrap();
    project.ralph(["resume", "--json"]).output().expect(0);
    assert_eq!(rooms(&project), 0);
}

// finding: N13
// spec: V10
#[test]
fn a_clean_room_is_refused_if_a_file_above_it_could_decide_the_checks() {
    for name in ["node_modules", ".cargo/config.toml", "pytest.ini"] {
        let project = project();
        let planted = project.outside(name);
        let agent_script =
            format!("mkdir -p $(dirname {p}); touch {p}; echo done > work; {COMMIT}", p = planted.display());
        let call = clean(&project, &agent_script).args(["--check", "grep -q done work"]);
        let answer = call.output().expect(3);
        let found = planted.parent().unwrap().join(planted.file_name().unwrap());
        let shown = if name.starts_with(".cargo") { found.parent().unwrap().to_path_buf() } else { found };
        let reason = answer.events_named("verdict")[0]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(&format!("{} could decide", shown.display())), "{reason}");
        assert!(reason.contains("set TMPDIR to another folder"), "{reason}");
    }
}

/// Runs an agent that claims three times, with two checks; the second passes at the third claim. Returns for each claim
/// whether the result of the first check was reused, and how often that check ran.
fn reuse_of_the_first(cache: &str) -> (Vec<bool>, usize) {
    let project = project();
    let agent = format!(
        "cat > /dev/null; [ -e {seen}2 ] && touch {ok}; [ -e {seen} ] && touch {seen}2; touch {seen}
         echo '<promise>COMPLETE</promise>'",
        seen = project.outside("seen").display(),
        ok = project.outside("ok").display()
    );
    let first = format!("echo x >> {}", project.outside("ran").display());
    let second = format!("test -e {}", project.outside("ok").display());
    let call = project.run_shell(&agent).args(["--no-baseline", "--check", &first, "--check", &second]);
    let answer = call.env("RALPH_VERIFICATION_CACHE", cache).output().expect(0);
    let verdicts = answer.events_named("verdict");
    assert!(verdicts.iter().all(|verdict| verdict["checks"][1]["cached"].is_null()), "a failed check runs again");
    let reused = verdicts.iter().map(|verdict| verdict["checks"][0]["cached"] == true).collect();
    (reused, fs::read_to_string(project.outside("ran")).unwrap().lines().count())
}

// spec: V11
#[test]
fn a_check_that_accepted_the_same_files_is_not_run_again_for_a_rejection_and_is_marked() {
    assert_eq!(reuse_of_the_first("on"), (vec![false, true, false], 2));
    assert_eq!(reuse_of_the_first("off"), (vec![false, false, false], 3));
}

// finding: N8
// spec: V11
#[test]
fn a_reused_result_never_decides_an_acceptance() {
    let unstage = "echo f >> .gitignore; git rm -q --cached f";
    for (first, then, file) in [
        (unstage, "echo evil > f", "f"),
        (":", "echo f >> .gitignore; git rm -q --cached f; echo evil > f", "f"),
        ("mkdir cache; echo good > cache/f", "echo evil > cache/f", "cache/f"),
        ("mkdir node_modules; echo good > node_modules/f", "echo evil > node_modules/f", "node_modules/f"),
    ] {
        let checks = [format!("grep -q good {file}"), format!("grep -q evil {file}")];
        let verdict = second_verdict((first, then), [&checks[0], &checks[1]]);
        let check = &verdict["checks"][0];
        assert_eq!((&check["verdict"], &check["cached"]), (&"rejected".into(), &serde_json::Value::Null), "{verdict}");
        assert!(verdict["reason"].as_str().unwrap().contains("grep -q good"), "{verdict}");
    }
}

/// Runs an agent that claims twice, before and after these commands. Returns the verdict of the second claim; the two checks never both
/// pass at once.
fn second_verdict((first, then): (&str, &str), checks: [&str; 2]) -> serde_json::Value {
    let project = project();
    project.write("f", "good\n");
    project.commit();
    let agent = format!(
        "cat > /dev/null; if [ -e {seen} ]; then {then}\nelse {first}\nfi; touch {seen}; echo '<promise>COMPLETE</promise>'",
        seen = project.outside("seen").display()
    );
    let call = project.run_shell(&agent).args(["--no-baseline", "--max-iterations", "2"]);
    let answer = call.args(["--check", checks[0], "--check", checks[1]]).output().expect(3);
    let verdicts = answer.events_named("verdict");
    assert_eq!(verdicts[0]["checks"][0]["verdict"], "accepted", "{}", verdicts[0]);
    verdicts[1].clone()
}

// spec: V11
// fault: 76
#[test]
fn a_result_is_not_reused_for_other_files_whatever_flags_git_has_on_them() {
    let file = ["grep -q good f", "grep -q evil f"];
    let inner = ["grep -q good in/f", "grep -q evil in/f"];
    let leftover = ["test ! -e leftover", "test -e leftover"];
    let gone = ["test -e f", "test ! -e f"];
    let commit = COMMIT.replace("git", "git -C in");
    let repository = format!("git init -q in; echo good > in/f; {commit}");
    let cases = [
        (":", "echo evil > f", file),
        (":", "git update-index --skip-worktree f; echo evil > f", file),
        (":", "git update-index --assume-unchanged f; echo evil > f", file),
        (":", "git update-index --skip-worktree f; rm f", gone),
        (":", "git config status.showUntrackedFiles no; touch leftover", leftover),
        (repository.as_str(), "echo evil > in/f", inner),
        ("git init -q in; echo good > in/f", "echo evil > in/f", inner),
    ];
    for (first, then, checks) in cases {
        let verdict = second_verdict((first, then), checks);
        let check = &verdict["checks"][0];
        assert_eq!((&check["verdict"], &check["command"]), (&"rejected".into(), &checks[0].into()), "{then}");
    }
    let hidden = "mkdir -p .git/info; echo leftover >> .git/info/exclude; touch leftover";
    let reason = second_verdict((":", hidden), leftover)["reason"].to_string();
    assert!(reason.contains("the git setting info/exclude was added"), "{reason}");
    let hidden = "git config core.fileMode false; chmod +x f";
    let reason = second_verdict((":", hidden), ["test ! -x f", "test -x f"])["reason"].to_string();
    assert!(reason.contains("the git setting core.filemode was changed"), "{reason}");
}

// spec: V14
// fault: 77
#[test]
fn a_receipt_never_calls_uncommitted_files_committed_whatever_flags_git_has_on_them() {
    let cases = [
        ("git config status.showUntrackedFiles no; touch leftover", "test -e leftover", "not committed, tree"),
        ("git update-index --skip-worktree f; echo evil > f", "grep -q evil f", "not committed, tree"),
        ("git init -q in; touch in/f", "test -e in/f", "without files that git cannot add (error: 'in/' does not have"),
    ];
    for (agent_script, check, printed) in cases {
        let project = project();
        project.write("f", "good\n");
        project.commit();
        let agent = format!("cat > /dev/null; {agent_script}; echo '<promise>COMPLETE</promise>'");
        project.run_shell(&agent).args(["--check", check]).output().expect(0);
        let shown = project.ralph(["show"]).output().expect(0).stdout;
        assert!(
            shown.contains("receipt  verified, not committed") && shown.contains(printed),
            "{agent_script}: {shown}"
        );
    }
}
