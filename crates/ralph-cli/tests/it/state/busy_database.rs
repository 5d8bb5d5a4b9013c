//! A database that another program locks longer than the write timeout: active runs and workers wait.
use std::fs;

use rustix::process::Signal;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::control::cancel::beside;
use crate::harness::{Project, Running, wait_until};
use crate::process_table::state_of;
use crate::work::pipeline;

/// Another program with a long write transaction.
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

    fn release(self) {
        self.runtime.block_on(self.connection.close()).unwrap();
    }
}

/// Waits until ralph has reported that the database is busy.
fn is_waiting(running: &Running<'_>) {
    wait_until("it waits for the database", || running.stdout_so_far().contains("waiting for it (`fuser"));
}

/// A run that ends during a write of another program.
fn start_run_ending_while_busy<'a>(project: &'a Project) -> (Running<'a>, Holder) {
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
fn a_run_survives_a_database_that_is_busy_longer_than_the_write_timeout() {
    let project = Project::new();
    let (running, holder) = start_run_ending_while_busy(&project);
    holder.release();
    let answer = running.wait().expect(0);
    assert_eq!(answer.events_named("warning").len(), 1, "it is told once: {}", answer.stdout);
    assert_eq!(project.starts().len(), 1);
}

// spec: L12, L13
// fault: 91
#[test]
fn ctrl_c_ends_the_wait_for_a_busy_database_and_the_run_can_be_resumed() {
    let project = Project::new();
    let (running, holder) = start_run_ending_while_busy(&project);
    running.signal(Signal::INT);
    let answer = running.wait_without_invariants().expect(10);
    assert!(answer.stderr.contains("another program has locked the database"), "{}", answer.stderr);
    assert!(project.processes_of_runs().is_empty());
    holder.release();
    project.ralph(["resume", "--json"]).output().expect(0);
}

// spec: P1, L14
// fault: 91
#[test]
fn a_worker_survives_a_database_that_is_busy_longer_than_its_lease() {
    let project = pipeline::project(&[("T-1", ""), ("T-2", "")]);
    let call = pipeline::work(&project, &["--until-idle"]).env("RALPH_PIPELINE_LEASE", "1s");
    let call = call.env("RALPH_PIPELINE_STAGES", "coder");
    let running = call.env("RALPH_FAIL", "accept.begins:1:stop").start();
    wait_until("a stage has ended", || state_of(running.pid()) == Some('T'));
    let holder = Holder::of(&project);
    running.signal(Signal::CONT);
    is_waiting(&running);
    holder.release();
    let answer = running.wait().expect(0);
    assert!(
        answer.events_named("task.left").is_empty() && answer.events_named("task.lost").is_empty(),
        "{}",
        answer.stdout
    );
    assert_eq!(pipeline::starts(&project), ["T-1 coder", "T-2 coder"]);
}

// spec: P1, L14
// fault: 91
#[test]
fn a_worker_keeps_the_task_whose_lease_it_cannot_renew_because_others_write() {
    let project = pipeline::project(&[("T-1", "")]);
    let call = pipeline::work(&project, &["--until-idle"]).env("RALPH_PIPELINE_LEASE", "1s");
    let working = pipeline::start_held_worker(&project, "coder", call);
    let holder = Holder::of(&project);
    is_waiting(&working);
    holder.release();
    beside(&project, &["cancel", "T-1"]).expect(0);
    let answer = working.wait().expect(3);
    assert!(answer.events_named("task.lost").is_empty(), "{}", answer.stdout);
    assert_eq!(pipeline::starts(&project), ["T-1 coder"]);
}
