//! What happens when the watchers themselves are killed: supervisor, keeper, ralph.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use ralph_process::{Job, JobExit, SpawnError, SweepResult, kill_run_processes};

use crate::helper;
use crate::scene::{Scene, below, is_alive, kill, line, marked, parent, reader, spec, state, until};

crate::stories![
    the_tree_of_a_killed_supervisor_is_swept,
    a_program_that_kills_its_supervisor_at_once_leaves_nothing,
    an_orphan_without_an_environment_is_swept_too,
    another_job_of_the_run_survives_the_death_of_one_supervisor,
    a_job_starts_though_the_supervisor_that_waited_for_it_was_killed,
    a_job_starts_though_the_supervisor_that_waited_for_it_was_stopped,
    when_ralph_is_killed_everything_goes,
    a_stopped_supervisor_does_not_outlive_ralph,
    a_keeper_is_reaped_when_ralph_ends_well,
    without_its_keeper_ralph_starts_nothing_and_loses_nothing,
    a_keeper_after_the_first_thread_is_refused,
    a_sweep_leaves_processes_of_other_runs_alone,
    a_sweep_of_an_unknown_run_finds_nothing,
];

/// Starts a script, waits until it says "ready", and kills its supervisor.
async fn bereaved(scene: &Scene, script: &str) -> Job {
    let mut job = scene.sh(script).await;
    let (spare, _) = std::io::pipe().unwrap();
    let output = std::mem::replace(&mut job.stdout, spare.into());
    assert_eq!(line(&mut reader(output)).await, "ready");
    kill("-KILL", parent(job.pid).unwrap());
    job
}

// spec: A7
async fn the_tree_of_a_killed_supervisor_is_swept(scene: Scene) {
    let script = "setsid sleep 1000 & setsid sh -c 'sleep 1000 & echo ready; sleep 1000' & sleep 1000";
    let mut job = bereaved(&scene, script).await;
    assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
    let gone = job.completion.wait_until_gone().await;
    assert!(gone.leaked.is_empty() && gone.killed > 0, "{gone:?}");
    assert_eq!(job.completion.wait_until_gone().await, gone);
    assert!(!is_alive(job.pid));
    scene.assert_nothing_is_left();
}

async fn a_program_that_kills_its_supervisor_at_once_leaves_nothing(scene: Scene) {
    for _ in 0..20 {
        let script = ["-c", "setsid sleep 1000 & kill -KILL $PPID; sleep 1000"];
        match scene.keeper.spawn(scene.spec("/bin/sh", &script)).await {
            Ok(mut job) => drop(job.completion.wait_until_gone().await),
            Err(error) => assert!(matches!(error, SpawnError::SupervisorDied { .. }), "{error}"),
        }
        scene.assert_nothing_is_left();
    }
}

async fn an_orphan_without_an_environment_is_swept_too(scene: Scene) {
    let mut job = scene.sh("(env -i setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000").await;
    let pid = line(&mut reader(job.stdout)).await.parse().unwrap();
    kill("-KILL", parent(job.pid).unwrap());
    job.completion.wait_until_gone().await;
    assert!(!is_alive(pid));
    scene.assert_nothing_is_left();
}

async fn another_job_of_the_run_survives_the_death_of_one_supervisor(scene: Scene) {
    let mut other = scene.sh("sleep 1000 & wait").await;
    let mut job = bereaved(&scene, "echo ready; sleep 1000").await;
    job.completion.wait_until_gone().await;
    assert!(is_alive(other.pid));
    other.control.kill();
    assert_eq!(other.completion.wait_for_exit().await, JobExit::Signal(9));
    other.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

/// Signals the supervisor that waits for the next job, and starts that.
async fn after_signalling_the_spare(scene: &Scene, signal: &str) -> JobExit {
    let is_spare = |pid: &u32| helper::name(*pid) == "rk-spare";
    until("one waits", || below(std::process::id()).iter().any(is_spare)).await;
    let spare = below(std::process::id()).into_iter().find(is_spare).unwrap();
    kill(signal, spare);
    until("it is hit", || matches!(state(spare).as_deref(), None | Some("Z" | "X" | "T"))).await;
    let mut job = scene.sh("exit 7").await;
    let exit = job.completion.wait_for_exit().await;
    assert_eq!(job.completion.wait_until_gone().await.killed, 0);
    exit
}

async fn a_job_starts_though_the_supervisor_that_waited_for_it_was_killed(scene: Scene) {
    for _ in 0..20 {
        assert_eq!(after_signalling_the_spare(&scene, "-KILL").await, JobExit::Code(7));
    }
    scene.assert_nothing_is_left();
}

async fn a_job_starts_though_the_supervisor_that_waited_for_it_was_stopped(scene: Scene) {
    assert_eq!(after_signalling_the_spare(&scene, "-STOP").await, JobExit::Code(7));
    scene.assert_nothing_is_left();
}

// spec: A7
async fn when_ralph_is_killed_everything_goes(scene: Scene) {
    let mut ralph = helper::command("hang", &scene.run_id).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(ralph.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n");
    let servants = below(ralph.id());
    assert!(servants.len() >= 5, "keeper, supervisor and three sleepers: {servants:?}");
    ralph.kill().unwrap();
    ralph.wait().unwrap();
    until("the tree is gone", || !servants.iter().any(|pid| is_alive(*pid))).await;
    helper::bury(&scene.run_id);
    scene.assert_nothing_is_left();
}

async fn a_stopped_supervisor_does_not_outlive_ralph(scene: Scene) {
    let mut ralph = helper::command("hang", &scene.run_id).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(ralph.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let servants = below(ralph.id());
    let supervisor = servants.iter().find(|pid| helper::name(**pid) == "rk-super").unwrap();
    kill("-STOP", *supervisor);
    ralph.kill().unwrap();
    ralph.wait().unwrap();
    until("the tree is gone", || !servants.iter().any(|pid| is_alive(*pid))).await;
    helper::bury(&scene.run_id);
    scene.assert_nothing_is_left();
}

async fn a_keeper_is_reaped_when_ralph_ends_well(scene: Scene) {
    assert!(helper::command("signals", &scene.run_id).stdout(Stdio::null()).status().unwrap().success());
    scene.assert_nothing_is_left();
}

async fn without_its_keeper_ralph_starts_nothing_and_loses_nothing(scene: Scene) {
    assert!(helper::command("lose-keeper", &scene.run_id).status().unwrap().success());
    until("the helper's tree is gone", || marked(&scene.run_id).is_empty()).await;
    helper::bury(&scene.run_id);
    scene.assert_nothing_is_left();
}

async fn a_keeper_after_the_first_thread_is_refused(scene: Scene) {
    assert!(helper::command("late", &scene.run_id).status().unwrap().success());
    helper::bury(&scene.run_id);
    scene.assert_nothing_is_left();
}

fn sleeper(run_id: &str) -> Child {
    let mut command = Command::new("sleep");
    // Whatever goes wrong, it must not hold the output of the tests open.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.arg("1000").env("RALPH_RUN_ID", run_id).spawn().unwrap()
}

async fn a_sweep_leaves_processes_of_other_runs_alone(scene: Scene) {
    let longer = format!("{}0", scene.run_id);
    let (mut ours, mut foreign) = (sleeper(&scene.run_id), sleeper(&longer));
    let mut job = scene.keeper.spawn(spec(&longer, "sleep", &["1000"])).await.unwrap();
    until("both have started", || marked(&scene.run_id).len() == 1 && marked(&longer).len() == 2).await;
    let swept = kill_run_processes(&scene.run_id);
    assert_eq!(swept, SweepResult { killed: 1, leaked: Vec::new() });
    assert_eq!(ours.wait().unwrap().signal(), Some(9));
    assert_eq!(marked(&longer).len(), 2);
    foreign.kill().unwrap();
    foreign.wait().unwrap();
    job.control.kill();
    job.completion.wait_until_gone().await;
    assert!(marked(&longer).is_empty());
    scene.assert_nothing_is_left();
}

async fn a_sweep_of_an_unknown_run_finds_nothing(scene: Scene) {
    assert_eq!(kill_run_processes("no-such-run"), SweepResult { killed: 0, leaked: Vec::new() });
    scene.assert_nothing_is_left();
}
