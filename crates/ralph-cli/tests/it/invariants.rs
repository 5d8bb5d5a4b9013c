//! What must be true after every run, however it ended. Called for every finished call of every test.
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use sqlx::{ConnectOptions, Connection, Row};

use crate::harness::{Answer, Project, wait_until};
use crate::processes::marked;

/// The most memory that ralph may ever need, whatever an agent prints.
const MOST_MEMORY_KB: u64 = 200 * 1024;

/// A secret in the environment of every call: nothing that ralph writes may hold it.
pub const CANARY: &str = "canary-5ecret-0f-every-te5t";

/// The same in base64, at each of the three places relative to its groups of letters.
const CANARY_IN_BASE64: [&str; 3] = [
    "Y2FuYXJ5LTVlY3JldC0wZi1ldmVyeS10ZTV0",
    "NhbmFyeS01ZWNyZXQtMGYtZXZlcnktdGU1d",
    "jYW5hcnktNWVjcmV0LTBmLWV2ZXJ5LXRlNX",
];

/// Holds a finished call against the invariants.
pub fn hold(project: &Project, answer: &Answer) {
    hold_whatever_the_state(project, answer);
    no_secret_is_told(project, answer);
    if project.state().join("ralph.db").exists() {
        files_are_private(&project.state());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(database_is_sound(project));
    }
}

/// Those that hold even where the test itself damaged the state.
pub fn hold_whatever_the_state(project: &Project, answer: &Answer) {
    no_process_of_a_run_is_alive(project);
    nothing_else_is_alive_for_long(project);
    assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
    assert!(answer.peak_memory_kb < MOST_MEMORY_KB, "I7: ralph needed {} KB", answer.peak_memory_kb);
}

/// I4, strictly at once: agents and checks carry the id of their run.
fn no_process_of_a_run_is_alive(project: &Project) {
    let alive = marked(&project.mark, "RALPH_RUN_ID=");
    assert!(alive.is_empty(), "alive after the run: {alive:?}");
}

/// Our own helpers need a moment to see that ralph is gone.
fn nothing_else_is_alive_for_long(project: &Project) {
    wait_until("all helpers are gone", || project.processes().is_empty());
}

/// I6: no byte that ralph wrote holds a secret.
fn no_secret_is_told(project: &Project, answer: &Answer) {
    for (stream, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        assert_eq!(secret_in(text.as_bytes()), None, "I6: {stream} holds a secret:\n{text}");
    }
    secret_free(&project.root().join(".ralph"));
}

fn secret_free(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            secret_free(&path);
        } else if kind.is_file() {
            let found = secret_in(&fs::read(&path).unwrap_or_default());
            assert_eq!(found, None, "I6: {} holds a secret", path.display());
        }
    }
}

/// Returns the form of the secret that stands in these bytes.
pub fn secret_in(bytes: &[u8]) -> Option<&'static str> {
    let forms = CANARY_IN_BASE64.into_iter().chain([CANARY]);
    forms.into_iter().find(|form| memchr::memmem::find(bytes, form.as_bytes()).is_some())
}

/// I5: only the owner can read what a run left.
fn files_are_private(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            files_are_private(&path);
        } else {
            let mode = metadata.permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{} has mode {mode:o}", path.display());
        }
    }
    let mode = fs::metadata(folder).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "{} has mode {mode:o}", folder.display());
}

async fn database_is_sound(project: &Project) {
    let path = project.state().join("ralph.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut connection = options.connect().await.unwrap();
    let check = sqlx::query("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    assert_eq!(check.get::<String, _>(0), "ok");
    let version = sqlx::query("PRAGMA user_version").fetch_one(&mut connection).await.unwrap();
    if version.get::<i64, _>(0) == 0 {
        // Its making was cut short, and nothing was recorded yet.
        assert!(!project.state().join(".gitignore").exists(), "a database that was made has its tables");
        return connection.close().await.unwrap();
    }
    let rows = sqlx::query("SELECT run, body FROM events ORDER BY run, seq").fetch_all(&mut connection).await.unwrap();
    let mut runs: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in rows {
        let fact = serde_json::from_str(&row.get::<String, _>(1)).unwrap();
        runs.entry(row.get(0)).or_default().push(fact);
    }
    runs.values().flatten().for_each(every_word_is_our_own);
    settings_and_loops_are_our_own(&mut connection).await;
    runs.values().for_each(|facts| one_run(facts));
    iterations_match_the_journal(&mut connection).await;
    connection.close().await.unwrap();
}

/// Where a secret is spelled like a word of our records, the word wins: so every word must be known.
fn every_word_is_our_own(record: &Value) {
    match record {
        Value::Object(members) => {
            for (key, value) in members {
                // Variables are named by users, in capitals.
                let is_variable = key.bytes().all(|byte| !byte.is_ascii_lowercase());
                let own = is_variable || key.len() < 8 || ralph_core::redact::is_record_word(key);
                assert!(own, "{key:?} is missing in the words of redact/own.rs");
                every_word_is_our_own(value);
            }
        }
        Value::Array(items) => items.iter().for_each(every_word_is_our_own),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

async fn settings_and_loops_are_our_own(connection: &mut sqlx::SqliteConnection) {
    let rows = sqlx::query("SELECT settings, loop FROM runs").fetch_all(connection).await.unwrap();
    for row in rows {
        for column in 0..2 {
            every_word_is_our_own(&serde_json::from_str(&row.get::<String, _>(column)).unwrap());
        }
    }
}

/// I1, I2 and I3 over the journal of one run.
fn one_run(facts: &[Value]) {
    let numbers = |name: &str| -> Vec<i64> {
        let named = facts.iter().filter(|fact| fact["event"] == name);
        named.map(|fact| fact["iteration"].as_i64().unwrap()).collect()
    };
    let started = numbers("iteration.started");
    let expected: Vec<i64> = (1..=i64::try_from(started.len()).unwrap()).collect();
    assert_eq!(started, expected, "I1: iteration numbers have no gap and never go back");
    nothing_that_ended_is_started_again(facts);
    let Some(finish) = facts.iter().rposition(|fact| fact["event"] == "run.finished") else { return };
    if facts[finish..].iter().any(|fact| fact["event"] == "run.resumed") {
        return;
    }
    assert_eq!(finish + 1, facts.len(), "silence after the finish");
    let ended: Vec<i64> = last_ends(facts).map(|end| end["iteration"].as_i64().unwrap()).collect();
    assert_eq!(ended, expected, "I1: each iteration has one terminal record");
    if facts[finish]["outcome"] == "completed" {
        completed_only_when_proven(facts);
    }
}

/// Returns the ends of iterations, but not that of one which was interrupted and then resumed.
fn last_ends(facts: &[Value]) -> impl Iterator<Item = &Value> {
    let last_resumed = facts.iter().rposition(|fact| fact["event"] == "run.resumed").unwrap_or(0);
    let ends = facts.iter().enumerate().filter(|(_, fact)| fact["event"] == "iteration.ended");
    ends.filter(move |(at, end)| end["status"] != "interrupted" || *at > last_resumed).map(|(_, end)| end)
}

/// I2, and that a run goes on after its end only where a signal had ended it.
fn nothing_that_ended_is_started_again(facts: &[Value]) {
    for (at, fact) in facts.iter().enumerate() {
        let after = &facts[at + 1..];
        if fact["event"] == "iteration.ended" && fact["status"] != "interrupted" {
            let again = after
                .iter()
                .find(|later| later["event"] == "attempt.started" && later["iteration"] == fact["iteration"]);
            assert!(again.is_none(), "I2: {fact} and then {again:?}");
        }
        if fact["event"] == "run.finished" && !after.is_empty() {
            assert_eq!(fact["outcome"], "interrupted", "only an interrupted run goes on");
            let is_cancelled = after[0]["event"] == "run.finished" && after[0]["outcome"] == "cancelled";
            assert!(is_cancelled || after[0]["event"] == "run.resumed", "{}", after[0]);
        }
    }
}

/// I3: completed only after a claim, and after accepted evidence where there are checks.
fn completed_only_when_proven(facts: &[Value]) {
    let last = |name: &str| facts.iter().rev().find(|fact| fact["event"] == name);
    assert_eq!(last("claim").unwrap()["claim"]["accepted"], true);
    let has_checks = !facts[0]["checks"].as_array().unwrap().is_empty();
    if has_checks {
        assert_eq!(last("verdict").unwrap()["verdict"], "accepted");
    }
}

/// Projections say what the journal says.
async fn iterations_match_the_journal(connection: &mut sqlx::SqliteConnection) {
    let sql = "SELECT COUNT(*) FROM runs WHERE iterations <>
        (SELECT COUNT(*) FROM events WHERE run = runs.id AND kind = 'iteration.started')";
    let row = sqlx::query(sql).fetch_one(connection).await.unwrap();
    assert_eq!(row.get::<i64, _>(0), 0, "projections and journal agree");
}
