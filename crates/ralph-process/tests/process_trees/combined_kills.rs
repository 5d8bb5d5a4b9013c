//! Several of ralph, keeper and supervisor are killed or stopped together: no process of the run may survive.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Instant;

use ralph_process::{JobExit, SpawnError, kill_run_processes};

use crate::fixture::{
    Fixture, LONG_TIMEOUT, descendants, is_alive, kill, kill_all, line, parent, processes_of_run, reader, state, until,
};
use crate::helper_process::{self, STOP_KEEPER};

crate::test_cases![
    when_ralph_and_a_supervisor_are_killed_together_no_process_is_left,
    when_ralph_and_the_keeper_are_killed_together_no_process_is_left,
    when_keeper_and_supervisor_are_killed_together_ralph_kills_what_is_left,
    when_all_are_killed_together_the_program_dies_and_a_sweep_finds_the_rest,
    killing_every_process_with_the_command_line_of_ralph_leaves_no_process,
    when_two_supervisors_are_killed_a_third_job_keeps_running,
    a_stopped_keeper_still_cleans_up_after_a_killed_supervisor,
    a_stopped_keeper_exits_with_ralph,
    a_stopped_keeper_does_not_outlive_a_killed_ralph,
    a_stopped_supervisor_outlives_neither_ralph_nor_the_keeper,
    without_a_keeper_every_later_job_is_refused,
];

/// A ralph with one job: a program with a child in another session and a child in its process group.
struct Ralph {
    process: Child,
    keeper: u32,
    supervisor: u32,
    all_descendants: Vec<u32>,
}

impl Drop for Ralph {
    fn drop(&mut self) {
        // Fails if it has already exited.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Waits until three processes of the run are visible. During `exec`, a process has no readable environment for a
/// moment.
fn wait_for_three(run_id: &str) {
    let deadline = Instant::now() + LONG_TIMEOUT;
    while processes_of_run(run_id).len() != 3 {
        assert!(Instant::now() < deadline, "there are not three sleepers");
        std::thread::yield_now();
    }
}

impl Ralph {
    fn start(fixture: &Fixture) -> Ralph {
        let mut process = helper_process::command("hang", &fixture.run_id).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        wait_for_three(&fixture.run_id);
        let all_descendants = descendants(process.id());
        let named = |name: &str| *all_descendants.iter().find(|pid| helper_process::name(**pid) == name).unwrap();
        let (keeper, supervisor) = (named("rk-keeper"), named("rk-super"));
        Ralph { process, keeper, supervisor, all_descendants }
    }

    async fn kill_together(&mut self, pids: &[u32]) {
        kill_together(pids).await;
        if pids.contains(&self.process.id()) {
            self.process.wait().unwrap();
        }
    }

    async fn assert_nothing_is_left(self, fixture: &Fixture) {
        until("nothing is left", || !self.all_descendants.iter().any(|pid| is_alive(*pid))).await;
        assert!(processes_of_run(&fixture.run_id).is_empty());
        helper_process::reap_orphans(&fixture.run_id);
        fixture.assert_nothing_is_left();
    }
}

/// Stops processes, so that none can react to the death of another, then kills them, children first: the death of a
/// parent would continue them.
async fn kill_together(pids: &[u32]) {
    for pid in pids {
        stop(*pid).await;
    }
    kill_all("-KILL", pids);
}

async fn stop(pid: u32) {
    kill("-STOP", pid);
    until("the process is stopped", || state(pid).as_deref() == Some("T")).await;
}

// spec: A7, L13
async fn when_ralph_and_a_supervisor_are_killed_together_no_process_is_left(fixture: Fixture) {
    let mut ralph = Ralph::start(&fixture);
    ralph.kill_together(&[ralph.supervisor, ralph.process.id()]).await;
    ralph.assert_nothing_is_left(&fixture).await;
}

// spec: A7, L13
async fn when_ralph_and_the_keeper_are_killed_together_no_process_is_left(fixture: Fixture) {
    let mut ralph = Ralph::start(&fixture);
    ralph.kill_together(&[ralph.keeper, ralph.process.id()]).await;
    ralph.assert_nothing_is_left(&fixture).await;
}

// spec: A7
async fn when_keeper_and_supervisor_are_killed_together_ralph_kills_what_is_left(fixture: Fixture) {
    let script = "setsid sleep 1000 & env -i setsid sleep 1000 & sleep 1000 & echo ready; exec sleep 1000";
    let mut job = fixture.sh(script).await;
    let mut output = reader(job.stdout);
    assert_eq!(line(&mut output).await, "ready");
    let supervisor = parent(job.pid).unwrap();
    let job_processes = descendants(supervisor);
    kill_together(&[supervisor, parent(supervisor).unwrap()]).await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
    let cleanup = job.completion.wait_until_gone().await;
    assert!(cleanup.leaked.is_empty() && cleanup.killed >= 2, "{cleanup:?}");
    assert!(!job_processes.iter().any(|pid| is_alive(*pid)));
    assert!(processes_of_run(&fixture.run_id).is_empty());
}

// spec: A7, L13
async fn when_all_are_killed_together_the_program_dies_and_a_sweep_finds_the_rest(fixture: Fixture) {
    let mut ralph = Ralph::start(&fixture);
    let is_program = |pid: &&u32| parent(**pid) == Some(ralph.supervisor);
    let program = *ralph.all_descendants.iter().find(is_program).unwrap();
    ralph.kill_together(&[ralph.supervisor, ralph.keeper, ralph.process.id()]).await;
    until("the program has died with its supervisor", || !is_alive(program)).await;
    let swept = kill_run_processes(&fixture.run_id);
    assert!(swept.leaked.is_empty() && swept.killed >= 1, "{swept:?}");
    ralph.assert_nothing_is_left(&fixture).await;
}

// spec: A7
async fn killing_every_process_with_the_command_line_of_ralph_leaves_no_process(fixture: Fixture) {
    let mut ralph = Ralph::start(&fixture);
    let command_line = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    let ralph_command_line = command_line(ralph.process.id());
    let has_same_command_line = |pid: &u32| command_line(*pid) == ralph_command_line;
    let mut pids: Vec<u32> = ralph.all_descendants.iter().copied().filter(has_same_command_line).collect();
    pids.push(ralph.process.id());
    ralph.kill_together(&pids).await;
    ralph.assert_nothing_is_left(&fixture).await;
}

// spec: A7
async fn when_two_supervisors_are_killed_a_third_job_keeps_running(fixture: Fixture) {
    let script = "setsid sleep 1000 & setsid sh -c 'sleep 1000 & exec sleep 1000' & exec sleep 1000";
    let mut third = fixture.sh("setsid sleep 1000 & exec sleep 1000").await;
    let mut jobs = [fixture.sh(script).await, fixture.sh(script).await];
    jobs.iter().for_each(|job| kill("-KILL", parent(job.pid).unwrap()));
    for job in &mut jobs {
        assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
        assert!(job.completion.wait_until_gone().await.leaked.is_empty());
    }
    assert!(is_alive(third.pid));
    until("only the third job is left", || processes_of_run(&fixture.run_id).len() == 2).await;
    third.control.kill();
    assert_eq!(third.completion.wait_for_exit().await, JobExit::Signal(9));
    assert_eq!(third.completion.wait_until_gone().await.killed, 2);
    fixture.assert_nothing_is_left();
}

async fn a_stopped_keeper_still_cleans_up_after_a_killed_supervisor(fixture: Fixture) {
    let mut job = fixture.sh(&format!("setsid sleep 1000 & {STOP_KEEPER}; exec sleep 1000")).await;
    let mut output = reader(job.stdout);
    let keeper = line(&mut output).await.parse().unwrap();
    until("the keeper is stopped", || state(keeper).as_deref() == Some("T")).await;
    kill("-KILL", parent(job.pid).unwrap());
    assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
    assert_eq!(job.completion.wait_until_gone().await.killed, 1, "the program died with its supervisor");
    fixture.assert_nothing_is_left();
}

async fn a_stopped_keeper_exits_with_ralph(fixture: Fixture) {
    let output = helper_process::command("stop-keeper", &fixture.run_id).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
    let keeper: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert_eq!(state(keeper), None, "it is gone and reaped");
    fixture.assert_nothing_is_left();
}

async fn a_stopped_keeper_does_not_outlive_a_killed_ralph(fixture: Fixture) {
    let mut ralph = Ralph::start(&fixture);
    stop(ralph.keeper).await;
    ralph.kill_together(&[ralph.process.id()]).await;
    ralph.assert_nothing_is_left(&fixture).await;
}

async fn a_stopped_supervisor_outlives_neither_ralph_nor_the_keeper(fixture: Fixture) {
    let mut ralph = Ralph::start(&fixture);
    stop(ralph.supervisor).await;
    ralph.kill_together(&[ralph.keeper, ralph.process.id()]).await;
    ralph.assert_nothing_is_left(&fixture).await;
}

// spec: L5
async fn without_a_keeper_every_later_job_is_refused(fixture: Fixture) {
    let keeper = helper_process::keeper_of(std::process::id());
    kill("-KILL", keeper);
    for _ in 0..3 {
        let error = fixture.keeper.spawn(fixture.spec("/bin/true", &[])).await.err().unwrap();
        assert!(matches!(error, SpawnError::KeeperDied { .. }), "{error:?}");
    }
}
