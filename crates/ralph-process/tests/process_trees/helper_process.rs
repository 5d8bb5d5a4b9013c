//! Helper roles of this binary: small ralph-like processes that a test starts, observes and kills.

use std::process::{Command, ExitCode};
use std::time::Instant;

use ralph_process::{JobExit, Keeper, SpawnError, kill_run_processes};

use crate::fixture::{LONG_TIMEOUT, every_pid, kill, line, parent, reader, rest, spec};

pub(crate) const FLAG: &str = "--helper";

/// Returns the command that starts a helper.
pub(crate) fn command(role: &str, run_id: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([FLAG, role, run_id]);
    command
}

/// Reaps the keeper of an exited helper, which this process has adopted.
pub(crate) fn reap_orphans(run_id: &str) {
    assert!(kill_run_processes(run_id).leaked.is_empty());
}

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let [role, run_id] = arguments else { return ExitCode::from(2) };
    match role.as_str() {
        "hang" => with_keeper(|keeper| hang(keeper, run_id.clone())),
        "signals" => {
            block_signals();
            with_keeper(|keeper| show_signals(keeper, run_id.clone()));
        }
        "stop-keeper" => with_keeper(|keeper| stop_keeper(keeper, run_id.clone())),
        "lose-keeper" => with_keeper(|keeper| lose_keeper(keeper, run_id.clone())),
        "late" => start_late(),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn with_keeper<F: Future<Output = ()>>(body: impl FnOnce(Keeper) -> F) {
    let keeper = Keeper::start().unwrap();
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(body(keeper));
}

/// Runs a tree that never ends by itself, and prints "ready" when it is complete.
async fn hang(keeper: Keeper, run_id: String) {
    let script = "setsid sleep 1000 & sleep 1000 & echo ready; exec sleep 1000";
    let job = keeper.spawn(spec(&run_id, "/bin/sh", &["-c", script])).await.unwrap();
    println!("{}", line(&mut reader(job.stdout)).await);
    std::future::pending::<()>().await;
}

/// Prints the signal masks of a job.
async fn show_signals(keeper: Keeper, run_id: String) {
    let mut job = keeper.spawn(spec(&run_id, "/bin/cat", &["/proc/self/status"])).await.unwrap();
    println!("{}", rest(&mut reader(job.stdout)).await);
    job.completion.wait_until_gone().await;
}

/// Kills its keeper: the running job continues, a new one is refused.
async fn lose_keeper(keeper: Keeper, run_id: String) {
    let script = "echo ready; read word; exit 5";
    let mut job_spec = spec(&run_id, "/bin/sh", &["-c", script]);
    job_spec.stdin = ralph_process::StdinSource::Pipe;
    let mut job = keeper.spawn(job_spec).await.unwrap();
    assert_eq!(line(&mut reader(job.stdout)).await, "ready");
    kill("-KILL", keeper_of(std::process::id()));
    loop {
        match keeper.spawn(spec(&run_id, "/bin/true", &[])).await {
            Ok(mut early) => drop(early.completion.wait_until_gone().await),
            Err(error) => break assert!(matches!(error, SpawnError::KeeperDied { .. }), "{error}"),
        }
    }
    drop(job.stdin.take());
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(5));
    assert_eq!(job.completion.wait_until_gone().await.killed, 0);
}

/// Runs a job that stops the keeper, and exits normally afterwards.
async fn stop_keeper(keeper: Keeper, run_id: String) {
    let mut job = keeper.spawn(spec(&run_id, "/bin/sh", &["-c", STOP_KEEPER])).await.unwrap();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    assert_eq!(job.completion.wait_until_gone().await.killed, 0);
    println!("{}", rest(&mut reader(job.stdout)).await);
}

/// A script that stops the keeper of its job and prints the keeper's pid.
pub(crate) const STOP_KEEPER: &str = "read _ _ _ keeper _ < /proc/$PPID/stat; kill -STOP $keeper; echo $keeper";

/// Tries to start a keeper after the first thread, which must fail.
fn start_late() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv());
    assert!(Keeper::start().is_err());
    drop(go);
    drop(thread.join());
}

/// Returns the pid of a ralph's keeper. Waits for it, because the keeper sets its name some time after the fork.
pub(crate) fn keeper_of(ralph: u32) -> u32 {
    let is_keeper = |pid: &u32| parent(*pid) == Some(ralph) && name(*pid) == "rk-keeper";
    let deadline = Instant::now() + LONG_TIMEOUT;
    loop {
        if let Some(keeper) = every_pid().into_iter().find(is_keeper) {
            return keeper;
        }
        assert!(Instant::now() < deadline, "process {ralph} has no keeper");
        std::thread::yield_now();
    }
}

pub(crate) fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

#[expect(unsafe_code, reason = "no safe wrapper blocks signals")]
fn block_signals() {
    // SAFETY: the set is initialised by sigfillset before it is read.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}
