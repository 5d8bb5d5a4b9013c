//! Invariants of every run. The harness checks them after every finished call of every test.
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use sqlx::{ConnectOptions, Connection, Row};

use crate::harness::{CallOutput, Project, wait_until};
use crate::process_table::find_marked;

/// The memory limit of ralph, for any output of an agent.
const MAX_MEMORY_KB: u64 = 200 * 1024;

/// A secret in the environment of every call: nothing that ralph writes may contain it.
pub const CANARY: &str = "canary-5ecret-0f-every-te5t";

/// The same in base64, at each of the three places relative to its groups of letters.
const CANARY_IN_BASE64: [&str; 3] = [
    "Y2FuYXJ5LTVlY3JldC0wZi1ldmVyeS10ZTV0",
    "NhbmFyeS01ZWNyZXQtMGYtZXZlcnktdGU1d",
    "jYW5hcnktNWVjcmV0LTBmLWV2ZXJ5LXRlNX",
];

/// Checks all invariants after a finished call.
pub fn assert_all(project: &Project, answer: &CallOutput) {
    assert_for_any_state(project, answer);
    assert_no_secret_in_output(project, answer);
    if project.state().join("ralph.db").exists() {
        assert_files_are_private(&project.state());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(assert_database_is_valid(project));
    }
}

/// Checks the invariants that hold even if the test damaged the state.
pub fn assert_for_any_state(project: &Project, answer: &CallOutput) {
    assert_no_run_process_alive(project);
    wait_for_helper_processes_to_exit(project);
    assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
    assert!(answer.peak_memory_kb < MAX_MEMORY_KB, "I7: ralph needed {} KB", answer.peak_memory_kb);
}

/// I4, strictly at once: agents and checks carry the id of their run.
fn assert_no_run_process_alive(project: &Project) {
    let alive = find_marked(&project.mark, "RALPH_RUN_ID=");
    assert!(alive.is_empty(), "alive after the run: {alive:?}");
}

/// Helper processes of ralph need a moment to notice its exit.
fn wait_for_helper_processes_to_exit(project: &Project) {
    wait_until("all helpers are gone", || project.processes().is_empty());
}

/// I6: no output and no file of ralph contains a secret.
fn assert_no_secret_in_output(project: &Project, answer: &CallOutput) {
    for (stream, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        assert_eq!(find_secret(text.as_bytes()), None, "I6: {stream} contains a secret:\n{text}");
    }
    assert_no_secret_in_files(&project.root().join(".ralph"));
    assert_no_secret_in_files(&project.state());
}

fn assert_no_secret_in_files(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        // The work trees of tasks contain the files of the project, not ralph's.
        if kind.is_dir() && entry.file_name() != "trees" {
            assert_no_secret_in_files(&path);
        } else if kind.is_file() {
            let found = find_secret(&fs::read(&path).unwrap_or_default());
            assert_eq!(found, None, "I6: {} contains a secret", path.display());
        }
    }
}

/// Returns the form of the secret that these bytes contain.
pub fn find_secret(bytes: &[u8]) -> Option<&'static str> {
    let forms = CANARY_IN_BASE64.into_iter().chain([CANARY]);
    forms.into_iter().find(|form| memchr::memmem::find(bytes, form.as_bytes()).is_some())
}

/// I5: only the owner can read the files of a run.
fn assert_files_are_private(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let Ok(metadata) = entry.metadata() else { continue };
        if ["artifacts", "workflow-state"].iter().any(|name| entry.file_name() == *name) {
            continue; // Agents and scripts write their own files there.
        }
        if entry.file_name() == "trees" {
            continue; // The work trees of tasks contain the files of the project, not ralph's.
        }
        if metadata.is_dir() {
            assert_files_are_private(&path);
        } else {
            let mode = metadata.permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{} has mode {mode:o}", path.display());
        }
    }
    let mode = fs::metadata(folder).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "{} has mode {mode:o}", folder.display());
}

async fn assert_database_is_valid(project: &Project) {
    let path = project.state().join("ralph.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut connection = options.connect().await.unwrap();
    let check = sqlx::query("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    assert_eq!(check.get::<String, _>(0), "ok");
    let version = sqlx::query("PRAGMA user_version").fetch_one(&mut connection).await.unwrap();
    if version.get::<i64, _>(0) == 0 {
        // Its creation was interrupted, and nothing was recorded yet.
        assert!(!project.state().join(".gitignore").exists(), "a complete database has its tables");
        return connection.close().await.unwrap();
    }
    let rows = sqlx::query("SELECT run, body FROM events ORDER BY run, seq").fetch_all(&mut connection).await.unwrap();
    let mut runs: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in rows {
        let fact = serde_json::from_str(&row.get::<String, _>(1)).unwrap();
        runs.entry(row.get(0)).or_default().push(fact);
    }
    runs.values().flatten().for_each(assert_known_record_words);
    assert_known_words_in_runs(&mut connection).await;
    runs.values().for_each(|facts| assert_valid_journal(facts));
    assert_iterations_match_the_journal(&mut connection).await;
    connection.close().await.unwrap();
}

/// A word of our records is never redacted as a secret, so the list of these words must be complete.
fn assert_known_record_words(record: &Value) {
    match record {
        Value::Object(members) => {
            for (key, value) in members {
                // Variables are named by users, in capitals.
                let is_variable = key.bytes().all(|byte| !byte.is_ascii_lowercase());
                let own = is_variable || key.len() < 8 || ralph_core::redact::is_record_word(key);
                assert!(own, "{key:?} is missing in the words of redact/record_words.rs");
                assert_known_record_words(value);
            }
        }
        Value::Array(items) => items.iter().for_each(assert_known_record_words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

async fn assert_known_words_in_runs(connection: &mut sqlx::SqliteConnection) {
    let rows = sqlx::query("SELECT settings, loop FROM runs").fetch_all(connection).await.unwrap();
    for row in rows {
        for column in 0..2 {
            assert_known_record_words(&serde_json::from_str(&row.get::<String, _>(column)).unwrap());
        }
    }
}

/// I1, I2 and I3 over the journal of one run.
fn assert_valid_journal(facts: &[Value]) {
    let numbers = |name: &str| -> Vec<i64> {
        let named = facts.iter().filter(|fact| fact["event"] == name);
        named.map(|fact| fact["iteration"].as_i64().unwrap()).collect()
    };
    let started = numbers("iteration.started");
    let expected: Vec<i64> = (1..=i64::try_from(started.len()).unwrap()).collect();
    assert_eq!(started, expected, "I1: iteration numbers have no gap and never go back");
    assert_no_restart_after_end(facts);
    let Some(finish) = facts.iter().rposition(|fact| fact["event"] == "run.finished") else { return };
    if facts[finish..].iter().any(|fact| fact["event"] == "run.resumed") {
        return;
    }
    let later = facts[finish + 1..].iter().find(|later| !is_verdict_of_caller(&facts[finish], later));
    assert_eq!(later, None, "no event after run.finished");
    let ended: Vec<i64> = final_iteration_ends(facts).map(|end| end["iteration"].as_i64().unwrap()).collect();
    assert_eq!(ended, expected, "I1: each iteration has one terminal record");
    if facts[finish]["outcome"] == "completed" {
        assert_completion_is_verified(facts);
    }
}

/// Returns the ends of iterations, but not that of one which was interrupted and then resumed.
fn final_iteration_ends(facts: &[Value]) -> impl Iterator<Item = &Value> {
    let last_resumed = facts.iter().rposition(|fact| fact["event"] == "run.resumed").unwrap_or(0);
    let ends = facts.iter().enumerate().filter(|(_, fact)| fact["event"] == "iteration.ended");
    ends.filter(move |(at, end)| end["status"] != "interrupted" || *at > last_resumed).map(|(_, end)| end)
}

/// A workflow verifies the completion of a loop that waits for its next iteration.
fn is_verdict_of_caller(finished: &Value, later: &Value) -> bool {
    finished["outcome"] == "interrupted" && later["event"] == "verdict"
}

/// I2, and that only an interrupted run is resumed after its end.
fn assert_no_restart_after_end(facts: &[Value]) {
    for (at, fact) in facts.iter().enumerate() {
        let after = &facts[at + 1..];
        if fact["event"] == "iteration.ended" && fact["status"] != "interrupted" {
            let again = after
                .iter()
                .find(|later| later["event"] == "attempt.started" && later["iteration"] == fact["iteration"]);
            assert!(again.is_none(), "I2: {fact} and then {again:?}");
        }
        let next_fact = after.iter().find(|later| !is_verdict_of_caller(fact, later));
        if let Some(next_fact) = next_fact.filter(|_| fact["event"] == "run.finished") {
            let next = next_fact["event"].as_str().unwrap();
            // It closes such a run, or the verdict ends it.
            let is_closed = next == "run.finished"
                && ["cancelled", "exhausted", "blocked"].iter().any(|end| next_fact["outcome"] == *end);
            let is_expected = match fact["outcome"].as_str().unwrap() {
                "interrupted" => is_closed || next == "run.resumed",
                "blocked" => ["run.accepted", "run.rejected", "run.guided", "limits.changed"].contains(&next),
                "exhausted" | "stalled" | "over_budget" => ["run.guided", "limits.changed"].contains(&next),
                _ => false,
            };
            assert!(
                is_expected,
                "only an interrupted run is resumed, and a person continues one that is blocked or reached a limit: {next}"
            );
        }
    }
}

/// I3: completed only after a claim, and after accepted evidence where there are checks, or by a person.
fn assert_completion_is_verified(facts: &[Value]) {
    let last = |name: &str| facts.iter().rev().find(|fact| fact["event"] == name);
    assert_eq!(last("claim").unwrap()["claim"]["accepted"], true);
    let has_checks = !facts[0]["checks"].as_array().unwrap().is_empty();
    if has_checks && last("run.accepted").is_none() {
        assert_eq!(last("verdict").unwrap()["verdict"], "accepted");
    }
}

/// The projections agree with the journal.
async fn assert_iterations_match_the_journal(connection: &mut sqlx::SqliteConnection) {
    let sql = "SELECT COUNT(*) FROM runs WHERE iterations <>
        (SELECT COUNT(*) FROM events WHERE run = runs.id AND kind = 'iteration.started')";
    let row = sqlx::query(sql).fetch_one(connection).await.unwrap();
    assert_eq!(row.get::<i64, _>(0), 0, "projections and journal agree");
}
