//! Cleanup when the supervisor, the keeper or ralph itself is killed.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use ralph_process::{Job, JobExit, SpawnError, SweepResult, kill_run_processes};

use crate::fixture::{
    Fixture, descendants, is_alive, kill, line, parent, processes_of_run, reader, spec, state, until,
};
use crate::helper_process;

crate::test_cases![
    the_tree_of_a_killed_supervisor_is_swept,
    a_program_that_kills_its_supervisor_at_once_leaves_no_process,
    an_orphan_without_an_environment_is_swept_too,
    another_job_of_the_run_survives_the_death_of_one_supervisor,
    a_job_starts_although_the_preforked_supervisor_was_killed,
    a_job_starts_although_the_preforked_supervisor_was_stopped,
    when_ralph_is_killed_no_process_is_left,
    a_stopped_supervisor_does_not_outlive_ralph,
    a_keeper_is_reaped_when_ralph_exits_normally,
    without_its_keeper_ralph_starts_no_job_and_keeps_the_running_one,
    a_keeper_after_the_first_thread_is_refused,
    a_sweep_does_not_kill_processes_of_other_runs,
    a_sweep_of_an_unknown_run_finds_nothing,
];

/// Starts a script, waits until it prints "ready", and kills its supervisor.
async fn start_and_kill_supervisor(fixture: &Fixture, script: &str) -> Job {
    let mut job = fixture.sh(script).await;
    let (placeholder, _) = std::io::pipe().unwrap();
    let output = std::mem::replace(&mut job.stdout, placeholder.into());
    assert_eq!(line(&mut reader(output)).await, "ready");
    kill("-KILL", parent(job.pid).unwrap());
    job
}

// spec: A7
async fn the_tree_of_a_killed_supervisor_is_swept(fixture: Fixture) {
    let script = "setsid sleep 1000 & setsid sh -c 'sleep 1000 & echo ready; sleep 1000' & sleep 1000";
    let mut job = start_and_kill_supervisor(&fixture, script).await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
    let cleanup = job.completion.wait_until_gone().await;
    assert!(cleanup.leaked.is_empty() && cleanup.killed > 0, "{cleanup:?}");
    assert_eq!(job.completion.wait_until_gone().await, cleanup);
    assert!(!is_alive(job.pid));
    fixture.assert_nothing_is_left();
}

async fn a_program_that_kills_its_supervisor_at_once_leaves_no_process(fixture: Fixture) {
    for _ in 0..20 {
        let script = ["-c", "setsid sleep 1000 & kill -KILL $PPID; sleep 1000"];
        match fixture.keeper.spawn(fixture.spec("/bin/sh", &script)).await {
            Ok(mut job) => drop(job.completion.wait_until_gone().await),
            Err(error) => assert!(matches!(error, SpawnError::SupervisorDied { .. }), "{error}"),
        }
        fixture.assert_nothing_is_left();
    }
}

async fn an_orphan_without_an_environment_is_swept_too(fixture: Fixture) {
    let mut job = fixture.sh("(env -i setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000").await;
    let pid = line(&mut reader(job.stdout)).await.parse().unwrap();
    kill("-KILL", parent(job.pid).unwrap());
    job.completion.wait_until_gone().await;
    assert!(!is_alive(pid));
    fixture.assert_nothing_is_left();
}

async fn another_job_of_the_run_survives_the_death_of_one_supervisor(fixture: Fixture) {
    let mut other = fixture.sh("sleep 1000 & wait").await;
    let mut job = start_and_kill_supervisor(&fixture, "echo ready; sleep 1000").await;
    job.completion.wait_until_gone().await;
    assert!(is_alive(other.pid));
    other.control.kill();
    assert_eq!(other.completion.wait_for_exit().await, JobExit::Signal(9));
    other.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

/// Signals the preforked supervisor, then runs a job and returns its exit.
async fn run_job_after_signalling_preforked(fixture: &Fixture, signal: &str) -> JobExit {
    let is_preforked = |pid: &u32| helper_process::name(*pid) == "rk-spare";
    until("a supervisor is preforked", || descendants(std::process::id()).iter().any(is_preforked)).await;
    let preforked = descendants(std::process::id()).into_iter().find(is_preforked).unwrap();
    kill(signal, preforked);
    until("the signal has taken effect", || matches!(state(preforked).as_deref(), None | Some("Z" | "X" | "T"))).await;
    let mut job = fixture.sh("exit 7").await;
    let exit = job.completion.wait_for_exit().await;
    assert_eq!(job.completion.wait_until_gone().await.killed, 0);
    exit
}

async fn a_job_starts_although_the_preforked_supervisor_was_killed(fixture: Fixture) {
    for _ in 0..20 {
        assert_eq!(run_job_after_signalling_preforked(&fixture, "-KILL").await, JobExit::Code(7));
    }
    fixture.assert_nothing_is_left();
}

async fn a_job_starts_although_the_preforked_supervisor_was_stopped(fixture: Fixture) {
    assert_eq!(run_job_after_signalling_preforked(&fixture, "-STOP").await, JobExit::Code(7));
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn when_ralph_is_killed_no_process_is_left(fixture: Fixture) {
    let mut ralph = helper_process::command("hang", &fixture.run_id).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(ralph.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let descendant_pids = descendants(ralph.id());
    assert!(descendant_pids.len() >= 5, "keeper, supervisor and three sleepers: {descendant_pids:?}");
    ralph.kill().unwrap();
    ralph.wait().unwrap();
    until("the tree is gone", || !descendant_pids.iter().any(|pid| is_alive(*pid))).await;
    helper_process::reap_orphans(&fixture.run_id);
    fixture.assert_nothing_is_left();
}

async fn a_stopped_supervisor_does_not_outlive_ralph(fixture: Fixture) {
    let mut ralph = helper_process::command("hang", &fixture.run_id).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(ralph.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let descendant_pids = descendants(ralph.id());
    let supervisor = descendant_pids.iter().find(|pid| helper_process::name(**pid) == "rk-super").unwrap();
    kill("-STOP", *supervisor);
    ralph.kill().unwrap();
    ralph.wait().unwrap();
    until("the tree is gone", || !descendant_pids.iter().any(|pid| is_alive(*pid))).await;
    helper_process::reap_orphans(&fixture.run_id);
    fixture.assert_nothing_is_left();
}

async fn a_keeper_is_reaped_when_ralph_exits_normally(fixture: Fixture) {
    assert!(helper_process::command("signals", &fixture.run_id).stdout(Stdio::null()).status().unwrap().success());
    fixture.assert_nothing_is_left();
}

async fn without_its_keeper_ralph_starts_no_job_and_keeps_the_running_one(fixture: Fixture) {
    assert!(helper_process::command("lose-keeper", &fixture.run_id).status().unwrap().success());
    until("the helper's tree is gone", || processes_of_run(&fixture.run_id).is_empty()).await;
    helper_process::reap_orphans(&fixture.run_id);
    fixture.assert_nothing_is_left();
}

async fn a_keeper_after_the_first_thread_is_refused(fixture: Fixture) {
    assert!(helper_process::command("late", &fixture.run_id).status().unwrap().success());
    helper_process::reap_orphans(&fixture.run_id);
    fixture.assert_nothing_is_left();
}

fn sleeper(run_id: &str) -> Child {
    let mut command = Command::new("sleep");
    // If the test fails, the process must not keep the test output open.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.arg("1000").env("RALPH_RUN_ID", run_id).spawn().unwrap()
}

async fn a_sweep_does_not_kill_processes_of_other_runs(fixture: Fixture) {
    let longer = format!("{}0", fixture.run_id);
    let (mut ours, mut foreign) = (sleeper(&fixture.run_id), sleeper(&longer));
    let mut job = fixture.keeper.spawn(spec(&longer, "sleep", &["1000"])).await.unwrap();
    until("both have started", || processes_of_run(&fixture.run_id).len() == 1 && processes_of_run(&longer).len() == 2)
        .await;
    let swept = kill_run_processes(&fixture.run_id);
    assert_eq!(swept, SweepResult { killed: 1, leaked: Vec::new() });
    assert_eq!(ours.wait().unwrap().signal(), Some(9));
    assert_eq!(processes_of_run(&longer).len(), 2);
    foreign.kill().unwrap();
    foreign.wait().unwrap();
    job.control.kill();
    job.completion.wait_until_gone().await;
    assert!(processes_of_run(&longer).is_empty());
    fixture.assert_nothing_is_left();
}

async fn a_sweep_of_an_unknown_run_finds_nothing(fixture: Fixture) {
    assert_eq!(kill_run_processes("no-such-run"), SweepResult { killed: 0, leaked: Vec::new() });
    fixture.assert_nothing_is_left();
}
