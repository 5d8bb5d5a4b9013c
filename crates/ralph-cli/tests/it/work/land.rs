//! `ralph land`: accepted work is verified and merged into the user's branch, or nothing changes.
use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::harness::{Project, wait_until};
use crate::process_table::state_of;
use crate::work::setup_commands::pids;
use crate::work::work_trees::{commit_accepted_work, git, repository_state, with_tasks};

fn done(project: &Project, id: &str) {
    project.ralph(["task", "edit", id, "--status", "done"]).output().expect(0);
}

/// A finished task, and a branch with newer commits.
fn finished(check: &str) -> Project {
    let project = with_tasks(&[("T-1", check)]);
    commit_accepted_work(&project, "T-1", "work", "done\n");
    done(&project, "T-1");
    project.write("mine", "meanwhile\n");
    project.commit();
    project
}

// spec: P6
// finding: N56
#[test]
fn finished_work_is_verified_on_the_merged_result_and_landed() {
    let project = finished("grep -q done work && test -e mine");
    project.write("file", "not committed\n");
    let printed = project.ralph(["land", "T-1"]).output().expect(0).stdout;
    let root = project.root();
    let branch = git(&root, &["branch", "--show-current"]);
    assert!(printed.starts_with("accepted  `grep -q done work && test -e mine`"), "{printed}");
    assert!(printed.contains(&format!("T-1 is landed on {branch}: ")), "{printed}");
    assert_eq!(fs::read_to_string(root.join("work")).unwrap(), "done\n");
    assert_eq!(git(&root, &["status", "--porcelain"]), "M file");
    assert_eq!(git(&root, &["log", "-1", "--format=%s %an"]), "Merge branch 'ralph/T-1' ralph");
    assert_eq!(git(&root, &["worktree", "list"]).lines().count(), 1, "nothing would be lost with its tree");
    assert_eq!(git(&root, &["branch", "--list", "ralph/*"]), "", "its work is on the branch of the user");
    let again = project.ralph(["land", "T-1", "--json"]).output().expect(0).json();
    assert_eq!((&again["landed"], &again["tree"]), (&true.into(), &"none".into()));
}

// spec: P6
#[test]
fn work_that_fails_together_with_newer_commits_is_not_landed() {
    let project = finished("test ! -e mine");
    let before = repository_state(&project);
    let refused = project.ralph(["land", "T-1"]).output().expect(3);
    assert!(refused.stdout.contains("T-1 is not landed: the checks fail on the merge into"), "{}", refused.stdout);
    assert_eq!(repository_state(&project), before);
    let json = project.ralph(["land", "T-1", "--json"]).output().expect(3).json();
    assert_eq!(
        (&json["landed"], &json["commit"], &json["checks"][0]["verdict"]),
        (&false.into(), &().into(), &"rejected".into())
    );
    assert_eq!(git(&project.root(), &["worktree", "list"]).lines().count(), 2, "its tree stays");
}

// spec: P6
#[test]
fn obstacles_to_landing_are_reported_and_nothing_changes() {
    let project = with_tasks(&[("T-1", "true"), ("T-2", "true")]);
    commit_accepted_work(&project, "T-1", "file", "theirs\n");
    let refused = |id: &str, code: i32, words: &[&str]| {
        let before = repository_state(&project);
        let answer = project.ralph(["land", id]).output().expect(code);
        for word in words {
            assert!(answer.stderr.contains(word), "{word}: {}", answer.stderr);
        }
        assert_eq!(repository_state(&project), before);
    };
    refused("T-1", 1, &["task T-1 is todo: only finished work is landed"]);
    refused("T-9", 64, &["there is no task \"T-9\" here"]);
    done(&project, "T-1");
    done(&project, "T-2");
    refused("T-2", 1, &["task T-2 has no accepted work yet"]);
    project.write("file", "my change\n");
    refused("T-1", 1, &["changes in files that task T-1 changes", "caused by: file"]);
    project.commit();
    refused("T-1", 1, &["task T-1 conflicts with the branch", "caused by: file", "git merge ralph/T-1"]);
    git(&project.root(), &["checkout", "--quiet", "--detach"]);
    let answer = project.ralph(["land", "T-1"]).output().expect(1);
    assert!(answer.stderr.contains("your work tree is not on a branch"), "{}", answer.stderr);
}

// spec: P6
// fault: 6
#[test]
fn a_landing_that_is_killed_at_any_step_is_finished_by_the_next() {
    for point in ["land.recorded", "land.files.moved", "land.branch.moved"] {
        let project = finished("grep -q done work");
        project.write("untracked", "mine\n");
        let killed = project.ralph(["land", "T-1"]).env("RALPH_FAIL", format!("{point}:1"));
        killed.start().wait_without_invariants().expect(-6);
        project.ralph(["land", "T-1"]).output().expect(0);
        let root = project.root();
        assert_eq!(git(&root, &["status", "--porcelain"]), "?? untracked", "{point}");
        assert_eq!(fs::read_to_string(root.join("work")).unwrap(), "done\n");
        assert_eq!(
            git(&root, &["rev-parse", "HEAD^2"]),
            git(&root, &["rev-parse", "refs/ralph/T-1/_accepted"]),
            "{point}"
        );
        assert_eq!(git(&root, &["for-each-ref", "refs/ralph/T-1/_landing"]), "");
    }
}

// spec: P6
// fault: 6, 7
#[test]
fn files_are_restored_if_git_dies_while_it_writes_them() {
    let project = with_tasks(&[("T-1", "true")]);
    let site = crate::work::work_trees::tree_folder(&project);
    let tree = ralph_engine::worktree::open_or_create(&site, "T-1", &[]).unwrap().worktree;
    fs::remove_file(tree.path.join("old")).unwrap();
    commit_accepted_work(&project, "T-1", "file", "theirs\n");
    fs::write(tree.path.join("zz-last"), "new\n").unwrap();
    git(&tree.path, &["add", "--all"]);
    git(&tree.path, &["commit", "--quiet", "-m", "more"]);
    let from = ralph_engine::worktree::read_acceptance_base(&site, &tree).unwrap();
    ralph_engine::worktree::accept_work(&site, &tree, &from, "coder", None).unwrap();
    done(&project, "T-1");
    let before = repository_state(&project);
    let last = project.root().canonicalize().unwrap().join("zz-last");
    let trace = project.outside("trace").display().to_string();
    let last = last.display().to_string();
    // Git opens the last file when it has moved the others.
    let args = ["-f", "-qq", "-o", &trace, "-P", "zz-last", "-P", &last, "-e", "trace=openat", "-e"];
    let inject = "inject=openat:signal=SIGKILL:when=1";
    let struck = project.ralph(["land", "T-1"]).run_under_strace(args.into_iter().chain([inject]));
    let answer = struck.start().wait_without_invariants();
    assert!(fs::read_to_string(&trace).unwrap().contains("killed by SIGKILL"), "{}", answer.stderr);
    answer.expect(5);
    let lock = project.root().join(".git/index.lock");
    if lock.exists() {
        let printed = project.ralph(["land", "T-1"]).output().expect(5);
        assert!(printed.stderr.contains("a killed one left the lock"), "{}", printed.stderr);
        fs::remove_file(lock).unwrap();
    }
    git(&project.root(), &["update-index", "-q", "--refresh"]);
    assert_eq!(repository_state(&project), before);
    project.ralph(["land", "T-1"]).output().expect(0);
    assert_eq!(git(&project.root(), &["status", "--porcelain"]), "");
    assert!(!project.root().join("old").exists() && project.root().join("zz-last").exists());
}

// spec: P6
#[test]
fn two_signals_during_verification_change_nothing_and_leave_no_process() {
    let project = with_tasks(&[("T-1", "true")]);
    let ready = project.outside("checking");
    let check = format!("touch {}; sleep 1000", ready.display());
    project.ralph(["task", "edit", "T-1", "--coder-verify-cmd", &check]).output().expect(0);
    commit_accepted_work(&project, "T-1", "work", "done\n");
    done(&project, "T-1");
    let before = repository_state(&project);
    let running = project.ralph(["land", "T-1"]).start();
    wait_until("the check runs", || ready.exists());
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    running.wait().expect(130);
    assert_eq!(repository_state(&project), before);
}

// spec: P6
#[test]
fn only_one_landing_runs_at_a_time() {
    let project = with_tasks(&[("T-1", "true")]);
    let (ready, go) = (project.outside("checking"), project.outside("go"));
    let check = format!("touch {}; until test -e {}; do sleep 0.01; done", ready.display(), go.display());
    project.ralph(["task", "edit", "T-1", "--coder-verify-cmd", &check]).output().expect(0);
    commit_accepted_work(&project, "T-1", "work", "done\n");
    done(&project, "T-1");
    let first = project.ralph(["land", "T-1"]).start();
    wait_until("the check runs", || ready.exists());
    let second = project.ralph(["land", "T-1"]).start().wait_without_invariants().expect(10);
    assert!(second.stderr.contains("another ralph is working here"), "{}", second.stderr);
    fs::write(go, "").unwrap();
    first.wait().expect(0);
}

// spec: P6
#[test]
fn a_task_without_a_check_is_landed_and_reported_as_unverified() {
    let project = with_tasks(&[]);
    project.ralph(["task", "create", "T-1", "spec", "A task", "--no-criteria"]).output().expect(0);
    commit_accepted_work(&project, "T-1", "work", "done\n");
    done(&project, "T-1");
    let printed = project.ralph(["land", "T-1"]).output().expect(0).stdout;
    assert!(printed.contains("unverified: the task has no check that can be repeated"), "{printed}");
}

// spec: D5, P6
#[test]
fn gc_removes_only_trees_whose_work_was_merged_manually() {
    let project = with_tasks(&[("T-1", "true"), ("T-2", "true")]);
    commit_accepted_work(&project, "T-1", "one", "done\n");
    commit_accepted_work(&project, "T-2", "two", "done\n");
    done(&project, "T-1");
    done(&project, "T-2");
    // A project in which nothing ever ran has nothing to collect.
    project.run(&["complete"]).output().expect(0);
    git(&project.root(), &["merge", "--quiet", "ralph/T-1"]);
    let would = project.ralph(["gc", "--dry-run", "--json"]).output().expect(0).json();
    let did = project.ralph(["gc", "--json"]).output().expect(0).json();
    assert_eq!(would["trees"], did["trees"]);
    let removed = did["trees"].as_array().unwrap();
    assert!(removed.len() == 1 && removed[0].as_str().unwrap().ends_with("/T-1"), "{did}");
    assert_eq!(git(&project.root(), &["worktree", "list"]).lines().count(), 2);
    assert_eq!(did["branches"], serde_json::json!(["ralph/T-1"]));
    assert_eq!(git(&project.root(), &["branch", "--format=%(refname:short)", "--list", "ralph/*"]), "ralph/T-2");
}

// spec: P6
// fault: 6
#[test]
fn files_are_restored_if_the_branch_moves_during_a_landing() {
    let project = finished("true");
    project.write("file", "not committed\n");
    let call = project.ralph(["land", "T-1"]).env("RALPH_FAIL", "land.files.moved:1:stop");
    let running = call.start();
    wait_until("the files are moved", || state_of(running.pid()) == Some('T'));
    let root = project.root();
    let branch = git(&root, &["symbolic-ref", "HEAD"]);
    let mine = git(&root, &["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "mine"]);
    git(&root, &["update-ref", &branch, &mine]);
    running.signal(Signal::CONT);
    let refused = running.wait().expect(1);
    assert!(refused.stderr.contains("was moved while ralph landed"), "{}", refused.stderr);
    assert_eq!(git(&root, &["rev-parse", "HEAD"]), mine);
    assert_eq!(git(&root, &["status", "--porcelain"]), "M file");
    assert_eq!(git(&root, &["for-each-ref", "refs/ralph/T-1/_landing"]), "");
    project.ralph(["land", "T-1"]).output().expect(0);
    assert_eq!(git(&root, &["status", "--porcelain"]), "M file");
}

/// A project with automatic landing.
fn landing_by_itself(check: &str) -> Project {
    let project = crate::work::pipeline::project(&[("T-1", "")]);
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "pipeline: {stages: [coder], land: auto}\n");
    project.ralph(["trust", "--yes"]).output().expect(0);
    project.ralph(["task", "edit", "T-1", "--coder-verify-cmd", check]).output().expect(0);
    project
}

// spec: P6, L11
#[test]
fn a_worker_waits_for_the_user_s_files_without_verifying_again_and_obeys_ctrl_c() {
    let project = landing_by_itself("true");
    let looked = project.outside("looked");
    let check = format!("echo x >> {}; test -e done-T-1", looked.display());
    project.ralph(["task", "edit", "T-1", "--coder-verify-cmd", &check]).output().expect(0);
    let by_hand = project.run(&["hang"]).start();
    project.wait_for("ready");
    let running =
        crate::work::pipeline::work(&project, &["--until-idle"]).env("RALPH_VERIFICATION_BASELINE", "off").start();
    let count = || fs::read_to_string(&looked).unwrap_or_default().lines().count();
    wait_until("the merged result was verified", || count() == 2);
    crate::harness::let_time_pass(std::time::Duration::from_secs(2));
    assert_eq!(count(), 2, "nothing has changed that would have to be verified again");
    running.signal(Signal::INT);
    let answer = running.wait_without_invariants().expect(130);
    let events = answer.events_named("task.not_landed")[0]["message"].as_str().unwrap().to_owned();
    assert!(events.contains("not landed: stopped"), "{events}");
    by_hand.signal(Signal::INT);
    by_hand.wait().expect(130);
    assert!(!project.root().join("done-T-1").exists());
    let answer = crate::work::pipeline::work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(answer.events_named("task.landed")[0]["task"], "T-1", "the next worker catches up");
    assert!(project.root().join("done-T-1").exists());
    let again = crate::work::pipeline::work(&project, &["--until-idle"]).output().expect(0);
    assert!(again.events_named("task.landed").is_empty(), "once is enough");
}

// spec: P6
// fault: 1
#[test]
fn work_whose_worker_was_killed_before_it_landed_is_landed_by_the_next() {
    let project = landing_by_itself("true");
    let (checking, check) = (project.outside("checking"), project.outside("twice"));
    let slow =
        format!("test -e {0} && {{ touch {1}; exec sleep 1000; }}; touch {0}", check.display(), checking.display());
    project.ralph(["task", "edit", "T-1", "--coder-verify-cmd", &slow]).output().expect(0);
    let running =
        crate::work::pipeline::work(&project, &["--until-idle"]).env("RALPH_VERIFICATION_BASELINE", "off").start();
    wait_until("the merged result is being verified", || checking.exists());
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    wait_until("everything is gone", || project.processes_of_runs().is_empty());
    fs::remove_file(check).unwrap();
    let answer = crate::work::pipeline::work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(answer.events_named("task.landed").len(), 1, "{}", answer.stdout);
    assert!(project.root().join("done-T-1").exists());
}

// spec: P6
// fault: 18
#[test]
fn ctrl_z_stops_the_checks_of_a_landing_once_and_they_continue() {
    let project = landing_by_itself("true");
    let (noted, twice, pipe) = (project.outside("pids"), project.outside("twice"), project.outside("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // It starts nothing itself: a shell that waits for a child that calls exec looks as if it were stopped.
    let waits = format!(
        "test -e {0} && {{ echo $$ >> {1}; read line < {2}; }}; : > {0}",
        twice.display(),
        noted.display(),
        pipe.display()
    );
    project.ralph(["task", "edit", "T-1", "--coder-verify-cmd", &waits]).output().expect(0);
    let running =
        crate::work::pipeline::work(&project, &["--until-idle"]).env("RALPH_VERIFICATION_BASELINE", "off").start();
    wait_until("the merged result is being verified", || pids(&project).len() == 1);
    crate::processes::signals::suspend(&project, &running);
    wait_until("the check is stopped", || state_of(pids(&project)[0]) == Some('T'));
    running.signal(Signal::CONT);
    fs::write(&pipe, "go\n").unwrap();
    let answer = running.wait().expect(0);
    assert_eq!(answer.events_named("task.landed").len(), 1, "{}", answer.stdout);
}

// spec: P6
#[test]
fn a_conflict_can_be_resolved_by_an_agent_as_the_hint_says() {
    let project = landing_by_itself("true");
    project.write("done-T-1", "mine\n");
    let answer = crate::work::pipeline::work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(answer.events_named("task.not_landed").len(), 1);
    project.commit();
    let refused = project.ralph(["land", "T-1"]).output().expect(1).stderr;
    assert!(refused.contains("ralph task edit T-1 --status todo; ralph guide T-1 'merge "), "{refused}");
    let branch = git(&project.root(), &["branch", "--show-current"]);
    let merge = format!(
        "cat > /dev/null; git -c user.name=A -c user.email=a@example.invalid merge --quiet -X ours --no-edit {branch}\n\
         echo '<promise>IMPLEMENTATION_COMPLETE</promise>'"
    );
    project.shell(&merge);
    project.ralph(["task", "edit", "T-1", "--status", "todo"]).output().expect(0);
    project.ralph(["guide", "T-1", "merge it and settle the conflict"]).output().expect(0);
    let answer = crate::work::pipeline::work(&project, &["T-1"]).output().expect(0);
    assert_eq!(answer.events_named("task.landed").len(), 1, "{}", answer.stdout);
}
