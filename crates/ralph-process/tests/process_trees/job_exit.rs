//! Jobs that end by themselves, and the cleanup of the processes that they leave behind.

use std::time::{Duration, Instant};

use ralph_process::{JobExit, StdinSource, TreeCleanup};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;

use crate::fixture::{Fixture, is_alive, line, reader, rest, until};

crate::test_cases![
    the_exit_code_is_reported,
    a_death_by_signal_is_reported,
    exit_and_cleanup_may_be_awaited_repeatedly_and_cancelled,
    a_grandchild_in_its_own_session_that_holds_stdout_is_killed,
    a_daemon_that_forked_twice_is_killed,
    a_daemon_that_cleared_its_environment_is_killed,
    a_child_that_finishes_writing_within_the_linger_is_not_killed,
    three_hundred_children_are_all_killed,
    four_megabytes_pass_through_stdin_and_both_outputs,
    writing_to_a_program_that_never_reads_fails_when_it_exits,
    dropping_a_job_kills_it,
    fifty_jobs_run_side_by_side,
];

fn no_cleanup() -> TreeCleanup {
    TreeCleanup { killed: 0, leaked: Vec::new() }
}

async fn the_exit_code_is_reported(fixture: Fixture) {
    for code in [0, 1, 7, 255] {
        let mut job = fixture.sh(&format!("exit {code}")).await;
        assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(code));
        assert_eq!(job.completion.wait_until_gone().await, no_cleanup());
    }
    fixture.assert_nothing_is_left();
}

async fn a_death_by_signal_is_reported(fixture: Fixture) {
    for (name, number) in [("KILL", 9), ("SEGV", 11), ("TERM", 15)] {
        let mut job = fixture.sh(&format!("kill -{name} $$")).await;
        assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(number));
        assert_eq!(job.completion.wait_until_gone().await, no_cleanup());
    }
    fixture.assert_nothing_is_left();
}

async fn exit_and_cleanup_may_be_awaited_repeatedly_and_cancelled(fixture: Fixture) {
    let mut spec = fixture.spec("/bin/sh", &["-c", "read word; exit 3"]);
    spec.stdin = StdinSource::Pipe;
    let mut job = fixture.keeper.spawn(spec).await.unwrap();
    for _ in 0..5 {
        tokio::select! {
            _ = job.completion.wait_for_exit() => unreachable!("the program still waits for its input"),
            () = tokio::time::sleep(Duration::from_millis(2)) => {}
        }
    }
    drop(job.stdin.take());
    for _ in 0..2 {
        assert_eq!(job.completion.wait_until_gone().await, no_cleanup());
        assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(3));
    }
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn a_grandchild_in_its_own_session_that_holds_stdout_is_killed(fixture: Fixture) {
    let started = Instant::now();
    let mut job = fixture.sh("setsid sleep 1000 & echo promise").await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(job.completion.wait_until_gone().await, TreeCleanup { killed: 1, leaked: Vec::new() });
    assert!(started.elapsed() >= Duration::from_millis(500), "descendants get time to finish writing");
    assert_eq!(rest(&mut reader(job.stdout)).await, "promise\n");
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn a_daemon_that_forked_twice_is_killed(fixture: Fixture) {
    let mut job = fixture.sh("(setsid sh -c 'sleep 1000 & exec sleep 1000' >/dev/null 2>&1 &)").await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(job.completion.wait_until_gone().await, TreeCleanup { killed: 2, leaked: Vec::new() });
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn a_daemon_that_cleared_its_environment_is_killed(fixture: Fixture) {
    let mut job = fixture.sh("(env -i setsid sh -c 'echo $$; exec sleep 1000' &)").await;
    let pid = line(&mut reader(job.stdout)).await.parse().unwrap();
    assert_eq!(job.completion.wait_until_gone().await.killed, 1);
    assert!(!is_alive(pid));
    fixture.assert_nothing_is_left();
}

async fn a_child_that_finishes_writing_within_the_linger_is_not_killed(fixture: Fixture) {
    let mut spec = fixture.spec("/bin/sh", &["-c", "(sleep 0.2; echo late) & echo early"]);
    spec.linger = Duration::from_secs(40);
    let mut job = fixture.keeper.spawn(spec).await.unwrap();
    assert_eq!(job.completion.wait_until_gone().await, no_cleanup());
    assert_eq!(rest(&mut reader(job.stdout)).await, "early\nlate\n");
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn three_hundred_children_are_all_killed(fixture: Fixture) {
    let mut job = fixture.sh("i=0; while [ $i -lt 300 ]; do sleep 1000 & i=$((i+1)); done").await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(job.completion.wait_until_gone().await, TreeCleanup { killed: 300, leaked: Vec::new() });
    fixture.assert_nothing_is_left();
}

// spec: A4
async fn four_megabytes_pass_through_stdin_and_both_outputs(fixture: Fixture) {
    let mut spec = fixture.spec("/bin/sh", &["-c", "tee /dev/stderr"]);
    spec.stdin = StdinSource::Pipe;
    let mut job = fixture.keeper.spawn(spec).await.unwrap();
    let mut input = Sender::from_owned_fd(job.stdin.take().unwrap()).unwrap();
    let (mut out, mut err) = (reader(job.stdout), reader(job.stderr));
    let sent = "0123456789abcdef".repeat(256 * 1024);
    let write = async {
        input.write_all(sent.as_bytes()).await.unwrap();
        drop(input);
    };
    let ((), out, err) = tokio::join!(write, rest(&mut out), rest(&mut err));
    assert!(out == sent && err == sent);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(job.completion.wait_until_gone().await, no_cleanup());
    fixture.assert_nothing_is_left();
}

async fn writing_to_a_program_that_never_reads_fails_when_it_exits(fixture: Fixture) {
    let mut spec = fixture.spec("/bin/sh", &["-c", "sleep 0.2"]);
    spec.stdin = StdinSource::Pipe;
    let mut job = fixture.keeper.spawn(spec).await.unwrap();
    let mut input = Sender::from_owned_fd(job.stdin.take().unwrap()).unwrap();
    let error = input.write_all(&vec![b'x'; 10 << 20]).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    assert_eq!(job.completion.wait_until_gone().await, no_cleanup());
    fixture.assert_nothing_is_left();
}

async fn dropping_a_job_kills_it(fixture: Fixture) {
    let job = fixture.sh("setsid sleep 1000 & echo ready; exec sleep 1000").await;
    let control = job.control.clone();
    assert_eq!(line(&mut reader(job.stdout)).await, "ready");
    drop(job.completion);
    until("the dropped job is gone", || !is_alive(job.pid)).await;
    until("its grandchild is gone", || crate::fixture::processes_of_run(&fixture.run_id).is_empty()).await;
    control.kill();
    fixture.assert_nothing_is_left();
}

async fn fifty_jobs_run_side_by_side(fixture: Fixture) {
    let mut jobs = Vec::new();
    for code in 0..50 {
        jobs.push((code, fixture.sh(&format!("sleep 0.1; exit {code}")).await));
    }
    for (code, mut job) in jobs {
        assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(code));
        assert_eq!(job.completion.wait_until_gone().await, no_cleanup());
    }
    fixture.assert_nothing_is_left();
}
