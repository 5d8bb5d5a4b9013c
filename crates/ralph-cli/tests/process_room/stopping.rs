//! What orders do to a running job.

use std::time::{Duration, Instant};

use ralph_process::{Job, JobExit, TerminationSignal, TreeCleanup};

use crate::scene::{FAR, Scene, kill, line, marked, parent, reader, rest, state, until};

crate::stories![
    an_agent_that_ignores_sigterm_is_killed_after_the_grace,
    an_agent_that_cleans_up_within_the_grace_is_not_killed,
    a_stop_with_sigint_sends_sigint,
    a_group_member_that_cleans_up_longer_than_its_launcher_keeps_the_grace,
    a_daemon_does_not_use_up_the_grace_of_a_group_that_has_ended,
    a_stopped_agent_can_be_stopped,
    a_kill_ends_the_whole_tree_at_once,
    a_kill_during_the_grace_ends_the_waiting,
    pause_freezes_every_descendant_and_resume_lets_them_go_on,
    a_paused_job_can_be_stopped_politely,
    orders_after_the_end_are_harmless,
    a_job_with_a_stopped_supervisor_is_still_killed,
    a_stopped_supervisor_goes_on_by_itself,
    an_agent_cannot_end_its_supervisor_with_a_polite_signal,
];

fn killed(killed: u32) -> TreeCleanup {
    TreeCleanup { killed, leaked: Vec::new() }
}

/// Starts a script and waits until it says "ready".
async fn ready(scene: &Scene, script: &str) -> (Job, tokio::io::BufReader<tokio::net::unix::pipe::Receiver>) {
    let mut job = scene.sh(script).await;
    let (spare, _) = std::io::pipe().unwrap();
    let mut output = reader(std::mem::replace(&mut job.stdout, spare.into()));
    assert_eq!(line(&mut output).await, "ready");
    (job, output)
}

// spec: A7 L11
async fn an_agent_that_ignores_sigterm_is_killed_after_the_grace(scene: Scene) {
    let (mut job, _output) = ready(&scene, "trap '' TERM; echo ready; while :; do sleep 1000; done").await;
    let began = Instant::now();
    let grace = Duration::from_millis(300);
    job.control.stop(TerminationSignal::Term, grace);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    assert!(began.elapsed() >= grace);
    assert_eq!(job.completion.wait_until_gone().await, killed(2));
    scene.assert_nothing_is_left();
}

// spec: A7 L11
async fn an_agent_that_cleans_up_within_the_grace_is_not_killed(scene: Scene) {
    let script = "trap 'sleep 0.3; echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.02; done";
    let (mut job, mut output) = ready(&scene, script).await;
    job.control.stop(TerminationSignal::Term, FAR);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(3));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    assert_eq!(rest(&mut output).await, "cleaned\n");
    scene.assert_nothing_is_left();
}

async fn a_stop_with_sigint_sends_sigint(scene: Scene) {
    let (mut job, _output) = ready(&scene, "trap 'exit 4' INT; echo ready; while :; do sleep 0.02; done").await;
    job.control.stop(TerminationSignal::Int, FAR);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(4));
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

async fn a_group_member_that_cleans_up_longer_than_its_launcher_keeps_the_grace(scene: Scene) {
    let inner = "trap \"sleep 1; echo cleaned; exit 0\" TERM; echo ready; while :; do sleep 0.02; done";
    let (mut job, mut output) = ready(&scene, &format!("sh -c '{inner}' & wait")).await;
    job.control.stop(TerminationSignal::Term, FAR);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(15));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    assert_eq!(rest(&mut output).await, "cleaned\n");
    scene.assert_nothing_is_left();
}

async fn a_daemon_does_not_use_up_the_grace_of_a_group_that_has_ended(scene: Scene) {
    let (mut job, _output) = ready(&scene, "setsid sh -c 'echo ready; exec sleep 1000' & wait").await;
    let began = Instant::now();
    job.control.stop(TerminationSignal::Term, FAR);
    assert_eq!(job.completion.wait_until_gone().await, killed(1));
    assert!(began.elapsed() < FAR / 2);
    scene.assert_nothing_is_left();
}

// spec: A7
async fn a_stopped_agent_can_be_stopped(scene: Scene) {
    let (mut job, _output) = ready(&scene, "echo ready; kill -STOP $$; sleep 1000").await;
    until("the agent is stopped", || state(job.pid).as_deref() == Some("T")).await;
    job.control.stop(TerminationSignal::Term, FAR);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(15));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    scene.assert_nothing_is_left();
}

// spec: L12
async fn a_kill_ends_the_whole_tree_at_once(scene: Scene) {
    let script = "trap '' TERM INT; setsid sleep 1000 & sleep 1000 & echo ready; exec sleep 1000";
    let (mut job, _output) = ready(&scene, script).await;
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    assert_eq!(job.completion.wait_until_gone().await, killed(3));
    scene.assert_nothing_is_left();
}

// spec: L12
async fn a_kill_during_the_grace_ends_the_waiting(scene: Scene) {
    let (mut job, _output) = ready(&scene, "trap '' TERM; echo ready; exec sleep 1000").await;
    let began = Instant::now();
    job.control.stop(TerminationSignal::Term, FAR);
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    assert_eq!(job.completion.wait_until_gone().await, killed(1));
    assert!(began.elapsed() < FAR / 2);
    scene.assert_nothing_is_left();
}

fn all_frozen(run_id: &str) -> bool {
    // "D": a shell that lent its memory to a child which is frozen before its exec.
    marked(run_id).iter().all(|pid| matches!(state(*pid).as_deref(), Some("T" | "D")))
}

fn none_frozen(run_id: &str) -> bool {
    marked(run_id).iter().all(|pid| state(*pid).as_deref() != Some("T"))
}

// spec: L11
async fn pause_freezes_every_descendant_and_resume_lets_them_go_on(scene: Scene) {
    let script = "setsid sleep 1000 & setsid sh -c 'while :; do sleep 0.01; done' & echo ready; exec sleep 1000";
    let (mut job, _output) = ready(&scene, script).await;
    job.control.pause();
    until("every process is frozen", || all_frozen(&scene.run_id)).await;
    assert!(marked(&scene.run_id).len() >= 3);
    job.control.resume();
    until("every process goes on", || none_frozen(&scene.run_id)).await;
    job.control.kill();
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

async fn a_paused_job_can_be_stopped_politely(scene: Scene) {
    let script = "trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.02; done";
    let (mut job, mut output) = ready(&scene, script).await;
    job.control.pause();
    until("the job is frozen", || all_frozen(&scene.run_id)).await;
    job.control.stop(TerminationSignal::Term, FAR);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(rest(&mut output).await, "cleaned\n");
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    scene.assert_nothing_is_left();
}

async fn orders_after_the_end_are_harmless(scene: Scene) {
    let mut job = scene.sh("exit 0").await;
    job.completion.wait_until_gone().await;
    job.control.stop(TerminationSignal::Term, FAR);
    job.control.pause();
    job.control.resume();
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    scene.assert_nothing_is_left();
}

async fn a_job_with_a_stopped_supervisor_is_still_killed(scene: Scene) {
    let (mut job, _output) = ready(&scene, "echo ready; exec sleep 1000").await;
    let supervisor = parent(job.pid).unwrap();
    kill("-STOP", supervisor);
    until("the supervisor is stopped", || state(supervisor).as_deref() == Some("T")).await;
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

async fn a_stopped_supervisor_goes_on_by_itself(scene: Scene) {
    let mut job = scene.sh("kill -STOP $PPID; exit 2").await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(2));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    scene.assert_nothing_is_left();
}

async fn an_agent_cannot_end_its_supervisor_with_a_polite_signal(scene: Scene) {
    let script = "for s in HUP INT QUIT TERM USR1 USR2 ALRM PIPE TSTP; do kill -$s $PPID; done; exit 6";
    let mut job = scene.sh(script).await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(6));
    assert_eq!(job.completion.wait_until_gone().await, killed(0));
    scene.assert_nothing_is_left();
}
