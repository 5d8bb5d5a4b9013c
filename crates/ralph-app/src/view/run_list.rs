//! Renders lists of runs.
use ralph_core::decision::PersonDecision;
use ralph_core::receipt::{Proof, ProofLevel};
use serde_json::{Value, json};

use super::text_format::{format_timestamp, micros_to_dollars, pluralize, short_id};
use super::timestamp_json;
use ralph_engine::session_driver::SessionRunSettings;
use ralph_store::RunRow;
use ralph_util::sanitize::sanitize_text;

/// Returns the JSON object of a run in `runs --json`.
#[must_use]
pub fn run_json(run: &RunRow) -> Value {
    json!({
        "id": run.id,
        "status": run.status,
        "kind": run.kind,
        "task": run.task,
        "role": run.role,
        "session_id": session_id_json(run),
        "reason": run.reason,
        "proof": proof_level_json(run.proof.as_deref()),
        "judged": run.proof.as_deref() == Some("judged"),
        "accepted_by": accepted_by(run),
        "exit_code": run.exit_code,
        "agent": run.agent,
        "promise": run.promise,
        "iterations": run.iterations,
        "max_iterations": run.max_iterations,
        "started_at": timestamp_json(run.started_at),
        "ended_at": run.ended_at.map(timestamp_json),
        "cost_usd": micros_to_dollars(run.cost_micros),
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
    })
}

/// Returns the person who accepted the claim of a run, if one did.
pub(super) fn accepted_by(run: &RunRow) -> Option<PersonDecision> {
    serde_json::from_str(run.accepted_by.as_deref()?).ok()
}

/// Returns the id of the session that the run is a loop of, or null.
pub(super) fn session_id_json(run: &RunRow) -> Value {
    json!(SessionRunSettings::parse(&run.kind, &run.settings).map(|settings| settings.session_id))
}

/// Returns the JSON value of a stored proof level: `judged` is a way to be `checked`.
pub(super) fn proof_level_json(word: Option<&str>) -> Value {
    json!(word.and_then(Proof::level_of_word).map(ProofLevel::as_str))
}

/// Returns one line per run, in aligned columns.
#[must_use]
pub fn run_lines(runs: &[RunRow]) -> Vec<String> {
    let subjects: Vec<String> = runs.iter().map(run_subject).collect();
    let width = subjects.iter().map(|subject| subject.chars().count()).max().unwrap_or_default();
    let status_width = runs.iter().map(|run| status_text(run).len()).max().unwrap_or_default().max(11);
    let line = |(run, subject): (&RunRow, String)| {
        run_line(run, &format!("{subject:<width$}  {:<status_width$}", status_text(run)))
    };
    runs.iter().zip(subjects).map(line).collect()
}

/// Returns the subject of a run: task and role, or its kind.
fn run_subject(run: &RunRow) -> String {
    match run.task.as_ref().zip(run.role.as_ref()) {
        Some((task, role)) => format!("{task} {role}"),
        None => run.kind.clone(),
    }
}

/// Returns the status, with the proof level of a completed run and the person who accepted it.
fn status_text(run: &RunRow) -> String {
    match (&run.proof, accepted_by(run)) {
        (Some(proof), Some(by)) => format!("{} ({proof}, accepted by {})", run.status, by.user),
        (Some(proof), None) => format!("{} ({proof})", run.status),
        (None, _) => run.status.clone(),
    }
}

fn run_line(run: &RunRow, subject: &str) -> String {
    let reason = run.reason.as_deref().unwrap_or("still running");
    let line = format!(
        "{}  {}  {subject}  {:<8}  {:>13}  {}",
        short_id(&run.id),
        format_timestamp(run.started_at),
        run.agent,
        pluralize(run.iterations, "iteration"),
        reason.lines().next().unwrap_or_default()
    );
    sanitize_text(&line)
}
