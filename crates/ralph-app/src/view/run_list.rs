//! Renders lists of runs.
use ralph_core::decision::PersonDecision;
use ralph_core::outcome::{Outcome, exit_code};
use ralph_core::receipt::{Proof, ProofLevel};
use serde_json::{Value, json};

use super::run_title::run_title;
use super::text_format::{format_minute, micros_to_dollars, short_id};
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
        "prompt": run_title(run),
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
pub(crate) fn accepted_by(run: &RunRow) -> Option<PersonDecision> {
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

/// The columns of `ralph runs`.
pub const RUN_COLUMNS: [&str; 6] = ["run", "started", "status", "iter", "agent", "prompt"];

/// Returns the cells of a run in `ralph runs`, in the order of [`RUN_COLUMNS`].
#[must_use]
pub fn run_cells(run: &RunRow) -> [String; 6] {
    [
        short_id(&run.id).to_owned(),
        format_minute(run.started_at),
        status_text(run),
        run.iterations.to_string(),
        run.agent.clone(),
        run_subject(run),
    ]
    .map(|cell| sanitize_text(&cell))
}

/// Returns what a run is about: task, role and title, or kind and title.
fn run_subject(run: &RunRow) -> String {
    let title = run_title(run);
    match (run.task.as_ref().zip(run.role.as_ref()), run.kind.as_str()) {
        (Some((task, role)), _) => format!("{task} {role}: {title}"),
        (None, "run") => title,
        (None, kind) if title.is_empty() => kind.to_owned(),
        (None, kind) => format!("{kind}: {title}"),
    }
}

/// Returns the status, with the proof level of a completed run and the person who accepted it.
fn status_text(run: &RunRow) -> String {
    // A judging role that sends the work back has done its job: nothing waits for a person.
    if run.status == Outcome::Blocked.as_str() && run.exit_code == Some(exit_code::NOT_COMPLETE.into()) {
        return "sent back".to_owned();
    }
    match (&run.proof, accepted_by(run)) {
        (Some(proof), Some(by)) => format!("{} ({proof}, accepted by {})", run.status, by.user),
        (Some(proof), None) => format!("{} ({proof})", run.status),
        (None, _) => run.status.clone(),
    }
}
