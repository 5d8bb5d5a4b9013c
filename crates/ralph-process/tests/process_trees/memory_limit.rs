//! The memory limit of a job. The tests allocate memory with `tail`, which buffers an endless line.

use std::time::Duration;

use ralph_process::{Job, JobExit, TerminationSignal, TreeCleanup};

use crate::fixture::{Fixture, LONG_TIMEOUT, is_alive, line, processes_of_run, reader};

crate::test_cases![
    a_tree_that_exceeds_its_memory_limit_in_total_is_killed_at_once,
    a_tree_below_its_memory_limit_is_not_killed,
    pages_that_forks_share_count_once,
    an_exited_program_keeps_its_exit_code_when_its_orphans_exceed_the_memory_limit,
    the_memory_limit_also_applies_during_the_grace,
];

const MEGABYTE: u64 = 1 << 20;

/// Longer than several memory checks.
const SEVERAL_CHECKS: Duration = Duration::from_millis(1_700);

async fn spawn_limited(fixture: &Fixture, megabytes: u64, script: &str) -> Job {
    let mut spec = fixture.spec("/bin/sh", &["-c", script]);
    spec.memory_limit = Some(megabytes * MEGABYTE);
    spec.linger = LONG_TIMEOUT;
    fixture.keeper.spawn(spec).await.unwrap()
}

/// A background process that allocates and keeps 60 MB.
const MEMORY_HOG: &str = "{ head -c 60000000 /dev/zero; sleep 1000; } | tail -n 1 &";

// spec: A7
async fn a_tree_that_exceeds_its_memory_limit_in_total_is_killed_at_once(fixture: Fixture) {
    let mut job = spawn_limited(&fixture, 100, &format!("{MEMORY_HOG} setsid sh -c '{MEMORY_HOG} wait' & wait")).await;
    let exit = job.completion.wait_for_exit().await;
    let JobExit::OverMemory { used, limit } = exit else { unreachable!("{exit:?}") };
    assert_eq!(limit, 100 * MEGABYTE);
    assert!(used > limit && used < 200 * MEGABYTE, "{used}");
    let cleanup = job.completion.wait_until_gone().await;
    assert!(cleanup.killed >= 5 && cleanup.leaked.is_empty(), "{cleanup:?}");
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn a_tree_below_its_memory_limit_is_not_killed(fixture: Fixture) {
    let mut job = spawn_limited(&fixture, 1_000, &format!("{MEMORY_HOG} {MEMORY_HOG} wait")).await;
    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert!(is_alive(job.pid));
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

async fn pages_that_forks_share_count_once(fixture: Fixture) {
    let script = "x=$(head -c 20000000 /dev/zero | tr '\\0' x)
n=0; while [ $n -lt 20 ]; do (sleep 1000; :) & n=$((n+1)); done
echo ready; wait";
    let mut job = spawn_limited(&fixture, 300, script).await;
    assert_eq!(line(&mut reader(job.stdout)).await, "ready");
    let sum_of_processes: u64 = processes_of_run(&fixture.run_id).into_iter().map(own_memory).sum();
    assert!(sum_of_processes > 350 * MEGABYTE, "the test needs a larger tree: {sum_of_processes}");
    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert!(is_alive(job.pid));
    job.control.kill();
    assert_eq!(job.completion.wait_until_gone().await, TreeCleanup { killed: 41, leaked: Vec::new() });
    fixture.assert_nothing_is_left();
}

fn own_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or("0 kB");
    anonymous.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

async fn an_exited_program_keeps_its_exit_code_when_its_orphans_exceed_the_memory_limit(fixture: Fixture) {
    let mut job = spawn_limited(&fixture, 100, &format!("{MEMORY_HOG} {MEMORY_HOG} exit 0")).await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert!(job.completion.wait_until_gone().await.killed >= 4);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    fixture.assert_nothing_is_left();
}

async fn the_memory_limit_also_applies_during_the_grace(fixture: Fixture) {
    let script = format!("trap '{MEMORY_HOG} {MEMORY_HOG} wait' TERM; echo ready; while :; do sleep 0.02; done");
    let mut job = spawn_limited(&fixture, 100, &script).await;
    assert_eq!(line(&mut reader(job.stdout)).await, "ready");
    job.control.stop(TerminationSignal::Term, LONG_TIMEOUT);
    let exit = job.completion.wait_for_exit().await;
    assert!(matches!(exit, JobExit::OverMemory { .. }), "{exit:?}");
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}
