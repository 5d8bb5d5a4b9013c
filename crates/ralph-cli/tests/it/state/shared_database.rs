//! Other programs that lock the database, copies of it, and a database with many runs.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::harness::Project;

fn on_database<T>(project: &Project, work: impl AsyncFnOnce(&mut SqliteConnection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(project.state().join("ralph.db"));
        let mut connection = options.connect().await.unwrap();
        let came = work(&mut connection).await;
        connection.close().await.unwrap();
        came
    })
}

// fault: 91
// spec: D1, C6
#[test]
fn a_program_that_locks_the_database_is_waited_for_and_then_reported() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    on_database(&project, async |connection| {
        sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut *connection).await.unwrap();
        let began = Instant::now();
        let call = project.run(&["complete"]);
        let answer = call.start().wait_without_invariants().expect(10);
        assert!(began.elapsed() >= Duration::from_secs(5), "it waits: {:?}", began.elapsed());
        assert!(answer.stderr.contains("database is locked"), "{}", answer.stderr);
        assert!(answer.stderr.contains("hint: another program has locked the database"), "{}", answer.stderr);
        let runs = project.ralph(["runs", "--json"]).start().wait_without_invariants().expect(0).json();
        assert_eq!(runs.as_array().unwrap().len(), 1, "readers do not wait");
        sqlx::raw_sql("ROLLBACK").execute(&mut *connection).await.unwrap();
    });
    assert_eq!(project.starts().len(), 1);
    project.run(&["complete"]).output().expect(0);
}

// fault: 91
#[test]
fn a_database_that_is_free_again_in_time_loses_nothing() {
    let project = Project::new();
    let go = project.outside("go");
    let running = project.run(&["wait-file", go.to_str().unwrap()]).args(["--check", "true"]).start();
    project.wait_for("ready");
    on_database(&project, async |connection| {
        sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut *connection).await.unwrap();
        fs::write(&go, "").unwrap();
        crate::harness::let_time_pass(Duration::from_secs(2));
        sqlx::raw_sql("COMMIT").execute(&mut *connection).await.unwrap();
    });
    running.wait().expect(0);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs[0]["status"], "completed");
}

// fault: 61
// spec: D1
#[test]
fn a_backup_during_a_run_is_complete_private_and_can_be_restored() {
    let project = Project::new();
    let (go, copy) = (project.outside("go"), project.outside("copy.db"));
    let running = project.run(&["wait-file", go.to_str().unwrap()]).start();
    project.wait_for("ready");
    let call = project.ralph(["backup"]).args([&copy]);
    call.start().wait_without_invariants().expect(0);
    let refused = project.ralph(["backup"]).args([&copy]).start().wait_without_invariants().expect(1);
    assert!(refused.stderr.contains("File exists") && refused.stderr.contains("hint: "), "{}", refused.stderr);
    fs::write(&go, "").unwrap();
    running.wait().expect(0);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    fs::rename(project.state(), project.outside("state.old")).unwrap();
    fs::create_dir(project.state()).unwrap();
    project.make_private(&project.state());
    fs::copy(&copy, project.state().join("ralph.db")).unwrap();
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
    project.run(&["complete"]).output().expect(0);
}

/// Returns the shortest of several measured durations.
fn shortest(mut work: impl FnMut()) -> Duration {
    let mut time = || {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    (0..5).map(|_| time()).min().unwrap()
}

// fault: 67
#[test]
fn ten_thousand_finished_runs_slow_down_neither_the_list_nor_a_start() {
    let few = Project::new();
    few.run(&["complete"]).output().expect(0);
    let many = Project::new();
    many.run(&["complete"]).output().expect(0);
    on_database(&many, async |connection| {
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)";
        let ids = "printf('01900000-0000-7000-8000-%012d', i)";
        for sql in [
            format!(
                "{numbers} INSERT INTO runs (id, kind, status, agent, promise, max_iterations, iterations, started_at,
                    ended_at, settings, loop)
                 SELECT {ids}, kind, status, agent, promise, max_iterations, iterations, started_at - i, ended_at - i,
                    settings, loop FROM n, (SELECT * FROM runs LIMIT 1)"
            ),
            format!(
                "{numbers} INSERT INTO events (run, seq, at, kind, body)
                 SELECT {ids}, seq, at - i, kind, body FROM n, (SELECT * FROM events)"
            ),
        ] {
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *connection).await.unwrap();
        }
    });
    let list = |project: &Project| project.ralph(["runs", "--json"]).start().wait_without_invariants().expect(0);
    assert_eq!(list(&many).json().as_array().unwrap().len(), 20, "the list is paged");
    let start = |project: &Project| drop(project.run(&["complete"]).start().wait_without_invariants().expect(0));
    for (what, few, many) in [
        ("list", shortest(|| drop(list(&few))), shortest(|| drop(list(&many)))),
        ("start", shortest(|| start(&few)), shortest(|| start(&many))),
    ] {
        assert!(many < few * 3 + Duration::from_millis(300), "{what}: {few:?} and with 10,000 {many:?}");
    }
}
