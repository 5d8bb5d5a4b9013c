//! Fault injection: ralph is killed, or its disk fails, at every system call that changes its state, one after the
//! other. After each fault, no reported result is lost, no finished work is repeated, and the run can be resumed.
//!
//! Only calls on ralph's own files are counted, so agents, the keeper and the supervisors are not hit. strace counts
//! calls per thread: the thread that closes the database has its own scenario.
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;
use sqlx::{ConnectOptions, Connection, Row};

use crate::harness::{Call, CallOutput, Project, wait_until};

/// The injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Kill,
    InputOutputError,
    DiskFull,
}

/// A fault at the `number`-th call of one kind.
struct FaultPoint {
    fault: Fault,
    call: &'static str,
    number: u32,
}

/// The system calls of a sweep.
#[derive(Clone, Copy)]
struct FaultTarget {
    fault: Fault,
    call: &'static str,
    /// The minimum number of these calls in a run: a sweep with fewer hits is invalid.
    at_least: u32,
    /// Every call, or every second one from the first or from the second: long sweeps are shared by two tests.
    from: u32,
    step: usize,
}

impl FaultTarget {
    fn all(fault: Fault, call: &'static str, at_least: u32) -> Self {
        Self { fault, call, at_least, from: 1, step: 1 }
    }

    fn every_second(fault: Fault, call: &'static str, at_least: u32, from: u32) -> Self {
        Self { fault, call, at_least, from, step: 2 }
    }

    /// Runs a scenario with the fault at one call after the other, until all were hit.
    fn sweep(self, scene: impl Fn(&Project, &FaultPoint)) {
        for number in (self.from..1_000).step_by(self.step) {
            let project = Project::new();
            let shot = FaultPoint { fault: self.fault, call: self.call, number };
            scene(&project, &shot);
            if !shot.was_hit(&project) {
                assert!(number > self.at_least, "{} was called only {number} times", self.call);
                return;
            }
        }
        panic!("{} is called without end", self.call);
    }
}

impl FaultPoint {
    /// Prepares a call of ralph that this fault hits.
    fn at<'a>(&self, project: &Project, call: Call<'a>, files: &[PathBuf]) -> Call<'a> {
        let fault = match self.fault {
            Fault::Kill => "signal=SIGKILL",
            Fault::InputOutputError => "error=EIO",
            Fault::DiskFull => "error=ENOSPC",
        };
        let Self { call: name, number, .. } = self;
        let mut args: Vec<String> = ["-f", "-qq", "-o"].map(str::to_owned).into();
        args.push(project.outside("trace").display().to_string());
        for path in files {
            args.extend(["-P".to_owned(), path.display().to_string()]);
        }
        args.extend(["-e".to_owned(), format!("trace={name}")]);
        args.extend(["-e".to_owned(), format!("inject={name}:{fault}:when={number}")]);
        call.run_under_strace(args)
    }

    /// Returns whether there was such a call.
    fn was_hit(&self, project: &Project) -> bool {
        let trace = fs::read_to_string(project.outside("trace")).unwrap();
        let sign = match self.fault {
            Fault::Kill => "killed by SIGKILL",
            Fault::InputOutputError | Fault::DiskFull => "(INJECTED)",
        };
        trace.contains(sign)
    }
}

fn state_files(project: &Project) -> Vec<PathBuf> {
    let state = project.state();
    let names = ["ralph.db", "ralph.db-wal", "ralph.db-shm", "ralph.db-journal", "lock", ".gitignore", "project"];
    let files = names.iter().map(|name| state.join(name));
    [state.clone(), state.join("runs")].into_iter().chain(files).collect()
}

/// Two iterations, the second with a claim that is checked.
fn short_run(project: &Project) -> Call<'_> {
    project.run(&["complete-on", "2"]).args(["--check", "true"])
}

/// A new project, from the first file on.
fn a_whole_run(project: &Project, shot: &FaultPoint) {
    let struck = shot.at(project, short_run(project), &state_files(project)).start().wait_without_invariants();
    assert_stopped_or_correct(project, shot, &struck);
    assert_resumes(project, &struck);
}

/// A project in which a run was killed in its second iteration: the fault hits the resume.
fn a_resume(project: &Project, shot: &FaultPoint) {
    let crash = short_run(project).env("RALPH_FAIL", "iteration.started.recorded:2");
    let crashed = crash.start().wait_without_invariants();
    assert_no_process_left(project);
    let run = fs::read_dir(project.state().join("runs")).unwrap().next().unwrap().unwrap().path();
    let names = ["lock", "iteration-002-attempt-2.ndjson", "iteration-002-attempt-2.check-1.log", ""];
    let mut files = state_files(project);
    files.extend(names.iter().map(|name| run.join(name)));
    let struck = shot.at(project, project.ralph(["resume", "--json"]), &files).start().wait_without_invariants();
    assert_stopped_or_correct(project, shot, &struck);
    assert_reported_events_stored(project, &crashed);
    assert_resumes(project, &struck);
}

/// A project that has a run already: its database file is written only when the next one ends and the write-ahead log is
/// carried over.
fn a_checkpoint(project: &Project, shot: &FaultPoint) {
    project.run(&["complete"]).output().expect(0);
    let call = project.run(&["complete"]).args(["--check", "true"]);
    let struck = shot.at(project, call, &[project.state().join("ralph.db")]).start().wait_without_invariants();
    assert_stopped_or_correct(project, shot, &struck);
    assert_reported_events_stored(project, &struck);
    assert_eq!(project.ralph(["resume", "--json"]).output().expect(0).finished()["outcome"], "completed");
    assert_eq!(project.starts().len(), 2, "I2: what was finished is not done again");
}

/// Asserts the result of the fault: killed, stopped with an error about it, or correct in spite of it.
fn assert_stopped_or_correct(project: &Project, shot: &FaultPoint, struck: &CallOutput) {
    let printed = || format!("{:?} at {} {}: {}{}", shot.fault, shot.call, shot.number, struck.stdout, struck.stderr);
    match (shot.fault, struck.code()) {
        (_, 0) => assert_eq!(struck.finished()["outcome"], "completed", "{}", printed()),
        (Fault::Kill, code) => assert_eq!(code, -9, "{}", printed()),
        (Fault::InputOutputError | Fault::DiskFull, code) => {
            assert_eq!(code, 10, "{}", printed());
            let state = project.state().display().to_string();
            assert!(struck.stderr.contains(&state), "the path is named: {}", printed());
            assert!(!struck.stdout.contains("run.finished"), "nothing is announced: {}", printed());
        }
    }
    assert_no_process_left(project);
}

/// I4, as soon as the keeper has noticed the exit of ralph.
fn assert_no_process_left(project: &Project) {
    wait_until("agents and checks are gone", || project.processes_of_runs().is_empty());
}

/// Asserts that the run can be resumed without the fault; if none was recorded, that a new one completes.
fn assert_resumes(project: &Project, struck: &CallOutput) {
    let resumed = project.ralph(["resume", "--json"]).output();
    let gone_on = match resumed.code() {
        1 => {
            assert!(resumed.stderr.contains("this project has no runs yet"), "{}", resumed.stderr);
            short_run(project).output()
        }
        _ => resumed,
    };
    assert_eq!(gone_on.expect(0).finished()["outcome"], "completed");
    let events = assert_reported_events_stored(project, struck);
    agents_were_started_as_recorded(project, &events);
    assert!(fs::read_dir(project.state()).unwrap().flatten().all(|entry| is_ours(&entry.file_name())));
}

/// I5: no temporary file is left.
fn is_ours(name: &std::ffi::OsStr) -> bool {
    let known = ["ralph.db", "ralph.db-wal", "ralph.db-shm", "lock", ".gitignore", "runs", "project"];
    known.iter().any(|known| name == *known)
}

/// Asserts that every reported event was stored. Returns the stored events.
fn assert_reported_events_stored(project: &Project, answer: &CallOutput) -> Vec<Value> {
    let stored = project.ralph(["events"]).output().expect(0);
    let kept = &stored.stdout;
    let whole = answer.stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for line in whole.lines().filter(|line| !line.contains("\"event\":\"warning\"")) {
        assert!(kept.lines().any(|stored| stored == line), "lost: {line}");
    }
    stored.events()
}

/// I2, by the agent's own record: never more starts than attempts, and one successful attempt for each iteration.
fn agents_were_started_as_recorded(project: &Project, events: &[Value]) {
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    let good = events.iter().filter(|event| event["result"]["status"] == "finished").count();
    let starts = project.starts().len();
    assert!(starts <= named("attempt.started"), "{starts} starts");
    assert_eq!(good, named("iteration.started"), "{events:?}");
    assert!(starts >= good, "{starts} starts");
}

// spec: L13
// fault: 6
#[test]
fn a_run_killed_at_any_odd_write_to_its_database_can_be_resumed() {
    FaultTarget::every_second(Fault::Kill, "pwrite64", 60, 1).sweep(a_whole_run);
}

// spec: L13
// fault: 6
#[test]
fn a_run_killed_at_any_even_write_to_its_database_can_be_resumed() {
    FaultTarget::every_second(Fault::Kill, "pwrite64", 60, 2).sweep(a_whole_run);
}

// spec: L13
// fault: 6
#[test]
fn a_run_killed_at_any_other_change_of_its_state_can_be_resumed() {
    for (call, at_least) in OTHER_CALLS {
        FaultTarget::all(Fault::Kill, call, *at_least).sweep(a_whole_run);
    }
}

/// SQLite does not call rename today; the sweep covers it in case it does. `fdatasync` makes a new database durable.
const OTHER_CALLS: &[(&str, u32)] = &[
    ("fsync", 2),
    ("fdatasync", 1),
    ("write", 1),
    ("ftruncate", 1),
    ("unlink", 1),
    ("unlinkat", 0),
    ("rename", 0),
    ("renameat2", 0),
];

// spec: L13
// fault: 6
#[test]
fn a_resume_killed_at_any_change_of_the_state_can_be_resumed() {
    FaultTarget::all(Fault::Kill, "pwrite64", 30).sweep(a_resume);
    for (call, at_least) in [("fsync", 2), ("write", 3), ("ftruncate", 1), ("unlink", 1)] {
        FaultTarget::all(Fault::Kill, call, at_least).sweep(a_resume);
    }
}

// spec: L13
// fault: 6, 7
#[test]
fn a_fault_during_a_wal_checkpoint_loses_nothing() {
    for fault in [Fault::Kill, Fault::InputOutputError, Fault::DiskFull] {
        FaultTarget::all(fault, "pwrite64", 5).sweep(a_checkpoint);
    }
    for fault in [Fault::Kill, Fault::InputOutputError] {
        FaultTarget::all(fault, "fsync", 1).sweep(a_checkpoint);
    }
}

// spec: L13
// fault: 7
#[test]
fn a_run_whose_disk_fails_at_any_odd_write_stops_with_the_path_or_is_correct() {
    FaultTarget::every_second(Fault::InputOutputError, "pwrite64", 60, 1).sweep(a_whole_run);
}

// spec: L13
// fault: 7
#[test]
fn a_run_whose_disk_fails_at_any_even_write_stops_with_the_path_or_is_correct() {
    FaultTarget::every_second(Fault::InputOutputError, "pwrite64", 60, 2).sweep(a_whole_run);
}

// spec: L13
// fault: 7
#[test]
fn a_run_whose_disk_fails_at_any_other_change_stops_with_the_path_or_is_correct() {
    for (call, at_least) in OTHER_CALLS {
        FaultTarget::all(Fault::InputOutputError, call, *at_least).sweep(a_whole_run);
    }
}

// spec: L13
// fault: 7, 56, 57
#[test]
fn a_run_whose_disk_is_full_at_any_odd_or_other_write_stops_with_the_path_or_is_correct() {
    FaultTarget::every_second(Fault::DiskFull, "pwrite64", 60, 1).sweep(a_whole_run);
    for (call, at_least) in [("write", 1), ("ftruncate", 1)] {
        FaultTarget::all(Fault::DiskFull, call, at_least).sweep(a_whole_run);
    }
}

// spec: L13
// fault: 7, 56, 57
#[test]
fn a_run_whose_disk_is_full_at_any_even_write_stops_with_the_path_or_is_correct() {
    FaultTarget::every_second(Fault::DiskFull, "pwrite64", 60, 2).sweep(a_whole_run);
}

const SCHEMA_1: &[u8] = include_bytes!("../data/old_databases/schema-1.db");

/// Returns the version of the newest schema, and the number of columns that a run has in it: those of a new database.
fn newest_schema() -> (i64, usize) {
    static NEWEST: OnceLock<(i64, usize)> = OnceLock::new();
    *NEWEST.get_or_init(|| {
        let project = Project::new();
        project.run(&["complete"]).output().expect(0);
        schema(&project.state().join("ralph.db"))
    })
}

/// A database of the first schema, which is migrated while the fault hits.
fn a_migration(project: &Project, shot: &FaultPoint) {
    fs::create_dir_all(project.state()).unwrap();
    project.make_private(&project.state());
    let database = project.state().join("ralph.db");
    fs::write(&database, SCHEMA_1).unwrap();
    project.make_private(&database);
    shot.at(project, project.ralph(["runs", "--json"]), &state_files(project)).start().wait_without_invariants();
    let found = schema(&database);
    assert!([(1, 16), newest_schema()].contains(&found), "between the two: schema and columns {found:?}");
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 2);
    assert_eq!(schema(&database), newest_schema(), "the second start finishes it");
}

/// Returns the version of the schema, and the number of columns that a run has.
fn schema(database: &std::path::Path) -> (i64, usize) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(database);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = options.connect().await.unwrap();
        let version = sqlx::query("PRAGMA user_version").fetch_one(&mut connection).await.unwrap().get(0);
        let columns = sqlx::query("PRAGMA table_info(runs)").fetch_all(&mut connection).await.unwrap().len();
        connection.close().await.unwrap();
        (version, columns)
    })
}

// spec: D1
// fault: 8
#[test]
fn a_migration_killed_at_any_point_leaves_the_old_schema_or_the_new() {
    for (call, at_least) in [("pwrite64", 4), ("fsync", 0), ("ftruncate", 0), ("unlink", 0)] {
        FaultTarget::all(Fault::Kill, call, at_least).sweep(a_migration);
    }
}
