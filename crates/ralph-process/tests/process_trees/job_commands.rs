//! Commands to a running job.

use std::time::{Duration, Instant};

use ralph_process::{Job, JobExit, TerminationSignal, TreeCleanup};
use tokio::io::BufReader;
use tokio::net::unix::pipe::Receiver;

use crate::fixture::{Fixture, LONG_TIMEOUT, kill, line, parent, processes_of_run, reader, rest, state, until};

crate::test_cases![
    an_agent_that_ignores_sigterm_is_killed_after_the_grace,
    an_agent_that_cleans_up_within_the_grace_is_not_killed,
    a_stop_with_sigint_sends_sigint,
    a_group_member_that_cleans_up_longer_than_its_launcher_keeps_the_grace,
    a_daemon_does_not_use_up_the_grace_of_a_group_that_has_ended,
    a_stopped_agent_can_be_stopped,
    a_kill_ends_the_whole_tree_at_once,
    a_kill_during_the_grace_takes_effect_at_once,
    pause_freezes_every_descendant_and_resume_continues_them,
    a_paused_job_can_be_stopped_gracefully,
    commands_after_the_end_have_no_effect,
    a_job_with_a_stopped_supervisor_is_still_killed,
    a_stopped_supervisor_is_continued_automatically,
    an_agent_cannot_end_its_supervisor_with_a_catchable_signal,
];

/// A cleanup with this number of killed processes and none leaked.
fn killed(killed: u32) -> TreeCleanup {
    TreeCleanup { killed, leaked: Vec::new() }
}

/// Starts a script and waits until it prints "ready". Returns the job and its remaining output.
async fn start_until_ready(fixture: &Fixture, script: &str) -> (Job, BufReader<Receiver>) {
    let mut job = fixture.sh(script).await;
    let (placeholder, _) = std::io::pipe().unwrap();
    let mut output = reader(std::mem::replace(&mut job.stdout, placeholder.into()));
    assert_eq!(line(&mut output).await, "ready");
    (job, output)
}

// spec: A7 L11
async fn an_agent_that_ignores_sigterm_is_killed_after_the_grace(fixture: Fixture) {
    let (mut job, _output) =
        start_until_ready(&fixture, "trap '' TERM; echo ready; while :; do sleep 1000; done").await;
    let started = Instant::now();
    let grace = Duration::from_millis(300);
    job.control.stop(TerminationSignal::Term, grace);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    assert!(started.elapsed() >= grace);
    assert_eq!(job.completion.wait_until_gone().await, killed(2));
    fixture.assert_nothing_is_left();
}

// spec: A7 L11
async fn an_agent_that_cleans_up_within_the_grace_is_not_killed(fixture: Fixture) {
    let script = "trap 'sleep 0.3; echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.02; done";
    let (mut job, mut output) = start_until_ready(&fixture, script).await;
    job.control.stop(TerminationSignal::Term, LONG_TIMEOUT);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(3));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    assert_eq!(rest(&mut output).await, "cleaned\n");
    fixture.assert_nothing_is_left();
}

async fn a_stop_with_sigint_sends_sigint(fixture: Fixture) {
    let (mut job, _output) =
        start_until_ready(&fixture, "trap 'exit 4' INT; echo ready; while :; do sleep 0.02; done").await;
    job.control.stop(TerminationSignal::Int, LONG_TIMEOUT);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(4));
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

async fn a_group_member_that_cleans_up_longer_than_its_launcher_keeps_the_grace(fixture: Fixture) {
    let inner = "trap \"sleep 1; echo cleaned; exit 0\" TERM; echo ready; while :; do sleep 0.02; done";
    let (mut job, mut output) = start_until_ready(&fixture, &format!("sh -c '{inner}' & wait")).await;
    job.control.stop(TerminationSignal::Term, LONG_TIMEOUT);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(15));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    assert_eq!(rest(&mut output).await, "cleaned\n");
    fixture.assert_nothing_is_left();
}

async fn a_daemon_does_not_use_up_the_grace_of_a_group_that_has_ended(fixture: Fixture) {
    let (mut job, _output) = start_until_ready(&fixture, "setsid sh -c 'echo ready; exec sleep 1000' & wait").await;
    let started = Instant::now();
    job.control.stop(TerminationSignal::Term, LONG_TIMEOUT);
    assert_eq!(job.completion.wait_until_gone().await, killed(1));
    assert!(started.elapsed() < LONG_TIMEOUT / 2);
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn a_stopped_agent_can_be_stopped(fixture: Fixture) {
    let (mut job, _output) = start_until_ready(&fixture, "echo ready; kill -STOP $$; sleep 1000").await;
    until("the agent is stopped", || state(job.pid).as_deref() == Some("T")).await;
    job.control.stop(TerminationSignal::Term, LONG_TIMEOUT);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(15));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    fixture.assert_nothing_is_left();
}

// spec: L12
async fn a_kill_ends_the_whole_tree_at_once(fixture: Fixture) {
    let script = "trap '' TERM INT; setsid sleep 1000 & sleep 1000 & echo ready; exec sleep 1000";
    let (mut job, _output) = start_until_ready(&fixture, script).await;
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    assert_eq!(job.completion.wait_until_gone().await, killed(3));
    fixture.assert_nothing_is_left();
}

// spec: L12
async fn a_kill_during_the_grace_takes_effect_at_once(fixture: Fixture) {
    let (mut job, _output) = start_until_ready(&fixture, "trap '' TERM; echo ready; exec sleep 1000").await;
    let started = Instant::now();
    job.control.stop(TerminationSignal::Term, LONG_TIMEOUT);
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    assert_eq!(job.completion.wait_until_gone().await, killed(1));
    assert!(started.elapsed() < LONG_TIMEOUT / 2);
    fixture.assert_nothing_is_left();
}

fn all_frozen(run_id: &str) -> bool {
    // "D" is the state of a shell whose vfork child is frozen before its exec.
    processes_of_run(run_id).iter().all(|pid| matches!(state(*pid).as_deref(), Some("T" | "D")))
}

fn none_frozen(run_id: &str) -> bool {
    processes_of_run(run_id).iter().all(|pid| state(*pid).as_deref() != Some("T"))
}

// spec: L11
async fn pause_freezes_every_descendant_and_resume_continues_them(fixture: Fixture) {
    let script = "setsid sleep 1000 & setsid sh -c 'while :; do sleep 0.01; done' & echo ready; exec sleep 1000";
    let (mut job, _output) = start_until_ready(&fixture, script).await;
    job.control.pause();
    until("every process is frozen", || all_frozen(&fixture.run_id)).await;
    assert!(processes_of_run(&fixture.run_id).len() >= 3);
    job.control.resume();
    until("every process continues", || none_frozen(&fixture.run_id)).await;
    job.control.kill();
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

async fn a_paused_job_can_be_stopped_gracefully(fixture: Fixture) {
    let script = "trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.02; done";
    let (mut job, mut output) = start_until_ready(&fixture, script).await;
    job.control.pause();
    until("the job is frozen", || all_frozen(&fixture.run_id)).await;
    job.control.stop(TerminationSignal::Term, LONG_TIMEOUT);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(rest(&mut output).await, "cleaned\n");
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    fixture.assert_nothing_is_left();
}

async fn commands_after_the_end_have_no_effect(fixture: Fixture) {
    let mut job = fixture.sh("exit 0").await;
    job.completion.wait_until_gone().await;
    job.control.stop(TerminationSignal::Term, LONG_TIMEOUT);
    job.control.pause();
    job.control.resume();
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    fixture.assert_nothing_is_left();
}

async fn a_job_with_a_stopped_supervisor_is_still_killed(fixture: Fixture) {
    let (mut job, _output) = start_until_ready(&fixture, "echo ready; exec sleep 1000").await;
    let supervisor = parent(job.pid).unwrap();
    kill("-STOP", supervisor);
    until("the supervisor is stopped", || state(supervisor).as_deref() == Some("T")).await;
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

async fn a_stopped_supervisor_is_continued_automatically(fixture: Fixture) {
    let mut job = fixture.sh("kill -STOP $PPID; exit 2").await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(2));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    fixture.assert_nothing_is_left();
}

async fn an_agent_cannot_end_its_supervisor_with_a_catchable_signal(fixture: Fixture) {
    let script = "for s in HUP INT QUIT TERM USR1 USR2 ALRM PIPE TSTP; do kill -$s $PPID; done; exit 6";
    let mut job = fixture.sh(script).await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(6));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    fixture.assert_nothing_is_left();
}
