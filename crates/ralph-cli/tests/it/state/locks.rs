//! One engine for each run and each work tree. An engine that was taken over writes nothing more.
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{CallOutput, Project, Running, wait_until};
use crate::process_table::state_of;

/// Starts a run whose agent works until the file `go` exists.
fn long_run(project: &Project) -> Running<'_> {
    let go = project.outside("go");
    let running = project.run(&["wait-file", go.to_str().unwrap()]).start();
    project.wait_for("ready");
    running
}

fn release_agent(project: &Project, running: Running<'_>) -> CallOutput {
    fs::write(project.outside("go"), "").unwrap();
    running.wait().expect(0)
}

/// Asserts that a refusal names the holder of the lock, since when, and the fix.
#[track_caller]
fn assert_names_lock_holder(answer: &CallOutput, holder: u32) {
    assert_eq!(answer.code(), 10, "{}", answer.stderr);
    assert!(answer.stdout.is_empty(), "{}", answer.stdout);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    for words in [format!("process {holder} on {host}, since 20"), format!("`kill {holder}`"), "--parallel".into()] {
        assert!(answer.stderr.contains(&words), "{words:?} is missing in\n{}", answer.stderr);
    }
}

// spec: L14, U1
// fault: 65
#[test]
fn a_second_engine_in_the_same_work_tree_is_refused_with_the_holder_of_the_lock() {
    let project = Project::new();
    let running = long_run(&project);
    let begun = Instant::now();
    let refused = project.run(&["complete"]).start().wait_without_invariants();
    let took = begun.elapsed();
    assert_names_lock_holder(&refused, running.pid());
    assert!(took < Duration::from_secs(5), "it does not wait: {took:?}");
    assert_eq!(project.starts().len(), 1);
    release_agent(&project, running);
    project.run(&["complete"]).output().expect(0);
}

// spec: L14
// fault: 66
#[test]
fn the_same_work_tree_is_recognised_through_every_path() {
    let project = Project::new();
    let link = project.outside("link");
    std::os::unix::fs::symlink(project.root(), &link).unwrap();
    let running = long_run(&project);
    let through_link = project.run(&["complete"]).folder(&link).start().wait_without_invariants();
    assert_names_lock_holder(&through_link, running.pid());
    let below = project.root().join("below");
    fs::create_dir(&below).unwrap();
    let from_below = project.run(&["complete"]).folder(&below).start().wait_without_invariants();
    assert_names_lock_holder(&from_below, running.pid());
    assert_names_lock_holder(&through_a_bind_mount(&project), running.pid());
    release_agent(&project, running);
}

fn through_a_bind_mount(project: &Project) -> CallOutput {
    let mounted = project.outside("mounted");
    fs::create_dir(&mounted).unwrap();
    let script = "mount --bind \"$1\" \"$2\" && cd \"$2\" && shift 2 && exec \"$@\"";
    let (root, mounted) = (project.root().display().to_string(), mounted.display().to_string());
    let call = project.run(&["complete"]);
    let call = call.run_under("unshare", ["--mount", "sh", "-c", script, "sh", &root, &mounted]);
    call.start().wait_without_invariants()
}

// spec: L14
// fault: 66
#[test]
fn a_git_worktree_is_another_tree() {
    let project = Project::new();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
        let done = Command::new("git").args(identity).args(args).current_dir(project.root()).status();
        assert!(done.unwrap().success());
    };
    git(&["commit", "--quiet", "--allow-empty", "-m", "start"]);
    git(&["worktree", "add", "--quiet", "../other"]);
    let running = long_run(&project);
    let call = project.run(&["complete"]).folder(&project.outside("other"));
    assert_eq!(call.start().wait_without_invariants().code(), 0);
    release_agent(&project, running);
}

// spec: L14
#[test]
fn parallel_runs_share_a_work_tree_only_with_each_other() {
    let project = Project::new();
    let go = project.outside("go");
    let call = project.run(&["wait-file", go.to_str().unwrap()]).args(["--parallel"]);
    let running = call.start();
    project.wait_for("ready");
    let beside = project.run(&["complete"]).args(["--parallel"]).start().wait_without_invariants();
    assert_eq!(beside.code(), 0, "{}", beside.stderr);
    let alone = project.run(&["complete"]).start().wait_without_invariants();
    assert_eq!(alone.code(), 10);
    assert!(alone.stderr.contains("other runs are working here"), "{}", alone.stderr);
    release_agent(&project, running);
}

// spec: L13
// fault: 11
#[test]
fn of_two_concurrent_resumes_one_continues_and_the_other_is_refused() {
    let project = Project::new();
    let go = project.outside("go");
    let running = project.run(&["wait-file", go.to_str().unwrap()]).start();
    project.wait_for("ready");
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    fs::remove_file(project.outside("ready")).unwrap();
    let both = [project.ralph(["resume", "--json"]).start(), project.ralph(["resume", "--json"]).start()];
    project.wait_for("ready");
    let pids = [both[0].pid(), both[1].pid()];
    wait_until("one has given up", || pids.iter().any(|pid| state_of(*pid).is_none_or(|state| state == 'Z')));
    fs::write(&go, "").unwrap();
    let answers = both.map(Running::wait_without_invariants);
    let codes: Vec<i32> = answers.iter().map(CallOutput::code).collect();
    let winner = codes.iter().position(|code| *code == 0).unwrap_or_else(|| panic!("{codes:?}"));
    let loser = &answers[1 - winner];
    assert_eq!(loser.code(), 10, "{}", loser.stderr);
    assert!(loser.stderr.contains(&format!("process {} on ", pids[winner])), "{}", loser.stderr);
    assert_eq!(project.starts().len(), 2);
    project.ralph(["resume"]).output().expect(0);
}

// spec: L13
// fault: 13
#[test]
fn a_lock_file_with_the_pid_of_another_process_does_not_block() {
    let project = Project::new();
    let stranger = std::process::id();
    project.run(&["complete"]).output().expect(0);
    let claim = format!(
        "{{\"pid\":{stranger},\"host\":\"elsewhere\",\"boot\":\"another\",\"start\":1,\"run\":\"r\",\"since\":0}}"
    );
    fs::write(project.state().join("lock"), claim).unwrap();
    project.run(&["complete"]).output().expect(0);
}

// spec: L13
// fault: 69, 36
#[test]
fn an_engine_that_was_taken_over_kills_its_agent_records_nothing_and_reports_it() {
    let project = Project::new();
    let running = long_run(&project);
    running.signal(Signal::STOP);
    wait_until("ralph is stopped", || state_of(running.pid()) == Some('T'));
    let run = fs::read_dir(project.state().join("runs")).unwrap().next().unwrap().unwrap().path();
    for lock in [project.state().join("lock"), run.join("lock")] {
        fs::remove_file(lock).unwrap();
    }
    fs::write(project.outside("go"), "").unwrap();
    let other = project.ralph(["resume", "--json"]).start();
    let other_pid = other.pid();
    let answer = other.wait_without_invariants();
    assert_eq!(answer.code(), 0, "{}", answer.stderr);
    let events = || project.ralph(["events"]).start().wait_without_invariants().stdout;
    let before = events();
    running.signal(Signal::CONT);
    let zombie = running.wait().expect(10);
    assert!(zombie.stderr.contains("was taken over by another ralph"), "{}", zombie.stderr);
    assert!(zombie.stderr.contains(&format!("process {other_pid} on ")), "{}", zombie.stderr);
    assert_eq!(events(), before);
}

// fault: 65
#[test]
fn a_file_system_without_locks_is_refused() {
    let project = Project::new();
    let flags = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e", "inject=flock:error=ENOLCK"];
    let refused = project.run(&["complete"]).run_under_strace(flags).start().wait_without_invariants();
    assert_eq!(refused.code(), 10, "{}", refused.stderr);
    assert!(refused.stderr.contains("does not support file locks"), "{}", refused.stderr);
    assert!(project.starts().is_empty());
}

// spec: L13
// fault: 39
#[test]
fn no_lock_reaches_the_keeper_a_supervisor_or_an_agent() {
    let project = Project::new();
    let running = long_run(&project);
    let ours = crate::process_table::find_marked(&project.mark, "RALPH_TEST_MARK=");
    assert!(ours.len() >= 4, "ralph, keeper, supervisor, agent: {ours:?}");
    let holders: Vec<u32> = ours.iter().map(|process| process.pid).filter(|pid| has_a_lock(*pid)).collect();
    assert_eq!(holders, [running.pid()]);
    release_agent(&project, running);
}

fn has_a_lock(pid: u32) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|path: std::path::PathBuf| is_lock(&path))
}

fn is_lock(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "lock")
}
