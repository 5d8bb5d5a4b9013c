//! Several of those who watch are killed or stopped at once, and still nothing of the run survives.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Instant;

use ralph_process::{JobExit, SpawnError, kill_run_processes};

use crate::helper::{self, STOP_KEEPER};
use crate::scene::{FAR, Scene, below, is_alive, kill, kill_all, line, marked, parent, reader, state, until};

crate::stories![
    when_ralph_and_a_supervisor_are_killed_together_everything_goes,
    when_ralph_and_the_keeper_are_killed_together_everything_goes,
    when_keeper_and_supervisor_are_killed_together_ralph_kills_what_is_left,
    when_all_are_killed_together_the_program_dies_and_a_sweep_finds_the_rest,
    whoever_kills_all_that_have_ralph_s_command_line_leaves_nothing,
    when_two_supervisors_are_killed_a_third_job_goes_on,
    a_stopped_keeper_still_kills_for_a_killed_supervisor,
    a_stopped_keeper_ends_with_ralph,
    a_stopped_keeper_does_not_outlive_a_killed_ralph,
    a_stopped_supervisor_outlives_neither_ralph_nor_the_keeper,
    without_a_keeper_the_next_job_is_refused_for_good,
];

/// A ralph with one job: a program with a child in a session of its own and another in its group.
struct Ralph {
    own: Child,
    keeper: u32,
    supervisor: u32,
    everyone: Vec<u32>,
}

impl Drop for Ralph {
    fn drop(&mut self) {
        // Fails where it has ended already.
        drop(self.own.kill());
        drop(self.own.wait());
    }
}

/// A program that is just being replaced by another shows no environment for a moment.
fn wait_for_three(run_id: &str) {
    let end = Instant::now() + FAR;
    while marked(run_id).len() != 3 {
        assert!(Instant::now() < end, "there are not three sleepers");
        std::thread::yield_now();
    }
}

impl Ralph {
    fn start(scene: &Scene) -> Ralph {
        let mut own = helper::command("hang", &scene.run_id).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(own.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n");
        wait_for_three(&scene.run_id);
        let everyone = below(own.id());
        let named = |name: &str| *everyone.iter().find(|pid| helper::name(**pid) == name).unwrap();
        let (keeper, supervisor) = (named("rk-keeper"), named("rk-super"));
        Ralph { own, keeper, supervisor, everyone }
    }

    async fn kill_together(&mut self, pids: &[u32]) {
        kill_together(pids).await;
        if pids.contains(&self.own.id()) {
            self.own.wait().unwrap();
        }
    }

    async fn leaves_nothing(self, scene: &Scene) {
        until("nothing is left", || !self.everyone.iter().any(|pid| is_alive(*pid))).await;
        assert!(marked(&scene.run_id).is_empty());
        helper::bury(&scene.run_id);
        scene.assert_nothing_is_left();
    }
}

/// Stops processes, so that none can act upon the death of another, and then kills them, children first: the death of
/// a parent would wake them.
async fn kill_together(pids: &[u32]) {
    for pid in pids {
        stop(*pid).await;
    }
    kill_all("-KILL", pids);
}

async fn stop(pid: u32) {
    kill("-STOP", pid);
    until("it is stopped", || state(pid).as_deref() == Some("T")).await;
}

// spec: A7, L13
async fn when_ralph_and_a_supervisor_are_killed_together_everything_goes(scene: Scene) {
    let mut ralph = Ralph::start(&scene);
    ralph.kill_together(&[ralph.supervisor, ralph.own.id()]).await;
    ralph.leaves_nothing(&scene).await;
}

// spec: A7, L13
async fn when_ralph_and_the_keeper_are_killed_together_everything_goes(scene: Scene) {
    let mut ralph = Ralph::start(&scene);
    ralph.kill_together(&[ralph.keeper, ralph.own.id()]).await;
    ralph.leaves_nothing(&scene).await;
}

// spec: A7
async fn when_keeper_and_supervisor_are_killed_together_ralph_kills_what_is_left(scene: Scene) {
    let script = "setsid sleep 1000 & env -i setsid sleep 1000 & sleep 1000 & echo ready; exec sleep 1000";
    let mut job = scene.sh(script).await;
    let mut output = reader(job.stdout);
    assert_eq!(line(&mut output).await, "ready");
    let supervisor = parent(job.pid).unwrap();
    let everyone = below(supervisor);
    kill_together(&[supervisor, parent(supervisor).unwrap()]).await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
    let gone = job.completion.wait_until_gone().await;
    assert!(gone.leaked.is_empty() && gone.killed >= 2, "{gone:?}");
    assert!(!everyone.iter().any(|pid| is_alive(*pid)));
    assert!(marked(&scene.run_id).is_empty());
}

// spec: A7, L13
async fn when_all_are_killed_together_the_program_dies_and_a_sweep_finds_the_rest(scene: Scene) {
    let mut ralph = Ralph::start(&scene);
    let is_program = |pid: &&u32| parent(**pid) == Some(ralph.supervisor);
    let program = *ralph.everyone.iter().find(is_program).unwrap();
    ralph.kill_together(&[ralph.supervisor, ralph.keeper, ralph.own.id()]).await;
    until("the program has died with its supervisor", || !is_alive(program)).await;
    let swept = kill_run_processes(&scene.run_id);
    assert!(swept.leaked.is_empty() && swept.killed >= 1, "{swept:?}");
    ralph.leaves_nothing(&scene).await;
}

// spec: A7
async fn whoever_kills_all_that_have_ralph_s_command_line_leaves_nothing(scene: Scene) {
    let mut ralph = Ralph::start(&scene);
    let command_line = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    let wanted = command_line(ralph.own.id());
    let alike = |pid: &u32| command_line(*pid) == wanted;
    let mut alike: Vec<u32> = ralph.everyone.iter().copied().filter(alike).collect();
    alike.push(ralph.own.id());
    ralph.kill_together(&alike).await;
    ralph.leaves_nothing(&scene).await;
}

// spec: A7
async fn when_two_supervisors_are_killed_a_third_job_goes_on(scene: Scene) {
    let script = "setsid sleep 1000 & setsid sh -c 'sleep 1000 & exec sleep 1000' & exec sleep 1000";
    let mut third = scene.sh("setsid sleep 1000 & exec sleep 1000").await;
    let mut jobs = [scene.sh(script).await, scene.sh(script).await];
    jobs.iter().for_each(|job| kill("-KILL", parent(job.pid).unwrap()));
    for job in &mut jobs {
        assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
        assert!(job.completion.wait_until_gone().await.leaked.is_empty());
    }
    assert!(is_alive(third.pid));
    until("only the third job is left", || marked(&scene.run_id).len() == 2).await;
    third.control.kill();
    assert_eq!(third.completion.wait_for_exit().await, JobExit::Signal(9));
    assert_eq!(third.completion.wait_until_gone().await.killed, 2);
    scene.assert_nothing_is_left();
}

async fn a_stopped_keeper_still_kills_for_a_killed_supervisor(scene: Scene) {
    let mut job = scene.sh(&format!("setsid sleep 1000 & {STOP_KEEPER}; exec sleep 1000")).await;
    let mut output = reader(job.stdout);
    let keeper = line(&mut output).await.parse().unwrap();
    until("the keeper is stopped", || state(keeper).as_deref() == Some("T")).await;
    kill("-KILL", parent(job.pid).unwrap());
    assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
    assert_eq!(job.completion.wait_until_gone().await.killed, 1, "the program died with its supervisor");
    scene.assert_nothing_is_left();
}

async fn a_stopped_keeper_ends_with_ralph(scene: Scene) {
    let output = helper::command("stop-keeper", &scene.run_id).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
    let keeper: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert_eq!(state(keeper), None, "it is gone and reaped");
    scene.assert_nothing_is_left();
}

async fn a_stopped_keeper_does_not_outlive_a_killed_ralph(scene: Scene) {
    let mut ralph = Ralph::start(&scene);
    stop(ralph.keeper).await;
    ralph.kill_together(&[ralph.own.id()]).await;
    ralph.leaves_nothing(&scene).await;
}

async fn a_stopped_supervisor_outlives_neither_ralph_nor_the_keeper(scene: Scene) {
    let mut ralph = Ralph::start(&scene);
    stop(ralph.supervisor).await;
    ralph.kill_together(&[ralph.keeper, ralph.own.id()]).await;
    ralph.leaves_nothing(&scene).await;
}

// spec: L5
async fn without_a_keeper_the_next_job_is_refused_for_good(scene: Scene) {
    let keeper = helper::keeper_of(std::process::id());
    kill("-KILL", keeper);
    for _ in 0..3 {
        let refused = scene.keeper.spawn(scene.spec("/bin/true", &[])).await.err().unwrap();
        assert!(matches!(refused, SpawnError::KeeperDied { .. }), "{refused:?}");
    }
}
