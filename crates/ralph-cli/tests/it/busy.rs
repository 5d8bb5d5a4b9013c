//! A database that another program holds for longer than a write waits: what is going on waits for it.
use std::fs;

use rustix::process::Signal;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::control_cancel::beside;
use crate::harness::{Project, Running, wait_until};
use crate::processes::state_of;
use crate::work;

/// Another program in the middle of a write that takes its time.
struct Holder {
    runtime: tokio::runtime::Runtime,
    connection: SqliteConnection,
}

impl Holder {
    fn of(project: &Project) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = SqliteConnectOptions::new().filename(project.state().join("ralph.db"));
        let connection = runtime.block_on(async {
            let mut connection = options.connect().await.unwrap();
            sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut connection).await.unwrap();
            connection
        });
        Self { runtime, connection }
    }

    fn let_go(self) {
        self.runtime.block_on(self.connection.close()).unwrap();
    }
}

/// Waits until ralph has waited for as long as a single write does, and has told so.
fn is_waiting(running: &Running<'_>) {
    wait_until("it waits for the database", || running.so_far().contains("waiting for it (`fuser"));
}

/// A run whose end falls into somebody else's write.
fn cut_off<'a>(project: &'a Project) -> (Running<'a>, Holder) {
    let go = project.outside("go");
    let running = project.run(&["wait-file", go.to_str().unwrap()]).start();
    project.wait_for("ready");
    let holder = Holder::of(project);
    fs::write(&go, "").unwrap();
    is_waiting(&running);
    (running, holder)
}

// spec: L14
// fault: 91
#[test]
fn a_run_outlasts_a_database_that_is_busy_for_longer_than_a_write_waits() {
    let project = Project::new();
    let (running, holder) = cut_off(&project);
    holder.let_go();
    let answer = running.wait().expect(0);
    assert_eq!(answer.named("warning").len(), 1, "it is told once: {}", answer.stdout);
    assert_eq!(project.starts().len(), 1);
}

// spec: L12, L13
// fault: 91
#[test]
fn ctrl_c_ends_the_waiting_for_a_busy_database_and_the_run_can_go_on_later() {
    let project = Project::new();
    let (running, holder) = cut_off(&project);
    running.signal(Signal::INT);
    let answer = running.wait_without_invariants().expect(10);
    assert!(answer.stderr.contains("another program holds the database"), "{}", answer.stderr);
    assert!(project.processes_of_runs().is_empty());
    holder.let_go();
    project.ralph(["resume", "--json"]).output().expect(0);
}

// spec: P1, L14
// fault: 91
#[test]
fn a_worker_outlasts_a_database_that_is_busy_for_longer_than_its_lease() {
    let project = work::project(&[("T-1", ""), ("T-2", "")]);
    let call = work::work(&project, &["--until-idle"]).env("RALPH_PIPELINE_LEASE", "1s");
    let call = call.env("RALPH_PIPELINE_STAGES", "coder");
    let running = call.env("RALPH_FAIL", "accept.begins:1:stop").start();
    wait_until("a stage has ended", || state_of(running.pid()) == Some('T'));
    let holder = Holder::of(&project);
    running.signal(Signal::CONT);
    is_waiting(&running);
    holder.let_go();
    let answer = running.wait().expect(0);
    assert!(answer.named("task.left").is_empty() && answer.named("task.lost").is_empty(), "{}", answer.stdout);
    assert_eq!(work::starts(&project), ["T-1 coder", "T-2 coder"]);
}

// spec: P1, L14
// fault: 91
#[test]
fn a_worker_keeps_the_task_whose_lease_it_cannot_renew_because_others_write() {
    let project = work::project(&[("T-1", "")]);
    let call = work::work(&project, &["--until-idle"]).env("RALPH_PIPELINE_LEASE", "1s");
    let working = work::holding(&project, "coder", call);
    let holder = Holder::of(&project);
    is_waiting(&working);
    holder.let_go();
    beside(&project, &["cancel", "T-1"]).expect(0);
    let answer = working.wait().expect(3);
    assert!(answer.named("task.lost").is_empty(), "{}", answer.stdout);
    assert_eq!(work::starts(&project), ["T-1 coder"]);
}
