//! The memory ceiling of a job. `tail` keeps a line without an end in memory.

use std::time::Duration;

use ralph_process::{Job, JobExit, TerminationSignal, TreeCleanup};

use crate::scene::{FAR, Scene, is_alive, line, marked, reader};

crate::stories![
    a_tree_that_has_too_much_memory_together_is_killed_at_once,
    a_tree_below_its_ceiling_is_left_alone,
    pages_that_forks_share_count_once,
    a_program_that_ended_is_not_blamed_for_the_memory_of_its_orphans,
    the_time_to_clean_up_is_no_licence_for_more_memory,
];

const MEGABYTE: u64 = 1 << 20;

/// Longer than a few weighings.
const A_WHILE: Duration = Duration::from_millis(1_700);

async fn limited(scene: &Scene, megabytes: u64, script: &str) -> Job {
    let mut wanted = scene.spec("/bin/sh", &["-c", script]);
    wanted.memory_limit = Some(megabytes * MEGABYTE);
    wanted.linger = FAR;
    scene.keeper.spawn(wanted).await.unwrap()
}

/// A background process that has and keeps 60 MB.
const HOARDER: &str = "{ head -c 60000000 /dev/zero; sleep 1000; } | tail -n 1 &";

// spec: A7
async fn a_tree_that_has_too_much_memory_together_is_killed_at_once(scene: Scene) {
    let mut job = limited(&scene, 100, &format!("{HOARDER} setsid sh -c '{HOARDER} wait' & wait")).await;
    let exit = job.completion.wait_for_exit().await;
    let JobExit::OverMemory { used, limit } = exit else { unreachable!("{exit:?}") };
    assert_eq!(limit, 100 * MEGABYTE);
    assert!(used > limit && used < 200 * MEGABYTE, "{used}");
    let gone = job.completion.wait_until_gone().await;
    assert!(gone.killed >= 5 && gone.leaked.is_empty(), "{gone:?}");
    scene.assert_nothing_is_left();
}

// spec: A7
async fn a_tree_below_its_ceiling_is_left_alone(scene: Scene) {
    let mut job = limited(&scene, 1_000, &format!("{HOARDER} {HOARDER} wait")).await;
    tokio::time::sleep(A_WHILE).await;
    assert!(is_alive(job.pid));
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

async fn pages_that_forks_share_count_once(scene: Scene) {
    let script = "x=$(head -c 20000000 /dev/zero | tr '\\0' x)
n=0; while [ $n -lt 20 ]; do (sleep 1000; :) & n=$((n+1)); done
echo ready; wait";
    let mut job = limited(&scene, 300, script).await;
    assert_eq!(line(&mut reader(job.stdout)).await, "ready");
    let counted_for_each: u64 = marked(&scene.run_id).into_iter().map(own_memory).sum();
    assert!(counted_for_each > 350 * MEGABYTE, "the story needs a heavy tree: {counted_for_each}");
    tokio::time::sleep(A_WHILE).await;
    assert!(is_alive(job.pid));
    job.control.kill();
    assert_eq!(job.completion.wait_until_gone().await, TreeCleanup { killed: 41, leaked: Vec::new() });
    scene.assert_nothing_is_left();
}

fn own_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or("0 kB");
    anonymous.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

async fn a_program_that_ended_is_not_blamed_for_the_memory_of_its_orphans(scene: Scene) {
    let mut job = limited(&scene, 100, &format!("{HOARDER} {HOARDER} exit 0")).await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert!(job.completion.wait_until_gone().await.killed >= 4);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    scene.assert_nothing_is_left();
}

async fn the_time_to_clean_up_is_no_licence_for_more_memory(scene: Scene) {
    let script = format!("trap '{HOARDER} {HOARDER} wait' TERM; echo ready; while :; do sleep 0.02; done");
    let mut job = limited(&scene, 100, &script).await;
    assert_eq!(line(&mut reader(job.stdout)).await, "ready");
    job.control.stop(TerminationSignal::Term, FAR);
    let exit = job.completion.wait_for_exit().await;
    assert!(matches!(exit, JobExit::OverMemory { .. }), "{exit:?}");
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}
