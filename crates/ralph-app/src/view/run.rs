//! Renders a whole run: outcome, iterations, claims, verdicts and evidence.
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use ralph_core::evidence::Verdict;
use ralph_core::fact::Fact;
use ralph_core::outcome::Outcome;
use ralph_core::receipt::Proof;
use ralph_core::session_loop::SESSION_RUN_KIND;
use serde_json::{Value, json};

use super::interruptions::AttemptInterruption;
use super::preparation::RunPreparation;
use super::run_list::{accepted_by, proof_level_json, session_id_json};
use super::run_title::run_title;
use super::text_format::{
    format_cost, format_elapsed, format_process_count, format_timestamp, format_tokens, micros_to_dollars, pluralize,
    short_id,
};
use super::{criterion, receipt};
use crate::why::run_headline;
use ralph_engine::session_driver::SessionRunSettings;
use ralph_store::{AttemptRow, CheckRow, IterationRow, ReceiptRow, RunRow, Store, StoreError};
use ralph_util::sanitize::sanitize_text;

#[derive(Debug)]
pub struct RunView {
    run: RunRow,
    iterations: Vec<IterationRow>,
    attempts: Vec<AttemptRow>,
    checks: Vec<CheckRow>,
    receipt: Option<ReceiptRow>,
    interruptions: Vec<AttemptInterruption>,
    preparation: RunPreparation,
    /// The proof that the end of the run recorded. A session has no receipt.
    recorded_proof: Option<Proof>,
    notes: Option<String>,
    /// The guidance that every prompt contains now.
    standing_guidance: Vec<String>,
    /// The first line of `ralph why`.
    headline: String,
    /// The folder of the raw logs, relative to the current folder if it is below it.
    logs_folder: PathBuf,
}

impl RunView {
    #[must_use]
    pub fn id(&self) -> &str {
        &self.run.id
    }

    /// Returns the stored run.
    #[must_use]
    pub fn row(&self) -> &RunRow {
        &self.run
    }

    /// Returns the iterations in order.
    #[must_use]
    pub fn iterations(&self) -> &[IterationRow] {
        &self.iterations
    }

    /// Returns the attempts of an iteration in order.
    pub fn attempts_of(&self, iteration: i64) -> impl Iterator<Item = &AttemptRow> {
        self.attempts.iter().filter(move |attempt| attempt.iteration == iteration)
    }

    /// Returns the checks of all claims in order.
    #[must_use]
    pub fn checks(&self) -> &[CheckRow] {
        &self.checks
    }

    /// Returns the stored receipt.
    #[must_use]
    pub fn receipt(&self) -> Option<&ReceiptRow> {
        self.receipt.as_ref()
    }

    /// Returns the first check that did not accept the last claim. The stage of a criterion says more than the criterion.
    #[must_use]
    pub fn first_failing_check(&self) -> Option<&CheckRow> {
        let last = self.iterations.iter().rev().find(|iteration| iteration.verdict.is_some())?;
        let has_failed = |check: &&CheckRow| check.required && check.verdict != Verdict::Accepted.as_str();
        let failed: Vec<&CheckRow> = self.checks_of(last.number).filter(has_failed).collect();
        let is_stage = |check: &&&CheckRow| check.outline_number.contains('.');
        failed.iter().find(is_stage).or_else(|| failed.first()).copied()
    }

    /// Returns the first line of `ralph why`.
    #[must_use]
    pub fn headline(&self) -> &str {
        &self.headline
    }

    /// Returns the guidance that every prompt contains now.
    #[must_use]
    pub fn standing_guidance(&self) -> &[String] {
        &self.standing_guidance
    }

    /// Returns the folder of the raw logs.
    #[must_use]
    pub fn logs_folder(&self) -> &Path {
        &self.logs_folder
    }

    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.run.status == Outcome::Blocked.as_str()
    }

    pub async fn load(store: &Store, run: RunRow) -> Result<Self, StoreError> {
        let mut iterations = store.iterations_of_run(&run.id).await?;
        if run.status != "running" {
            iterations.iter_mut().for_each(mark_interrupted);
        }
        let attempts = store.attempts_of_run(&run.id).await?;
        let checks = store.checks_of_run(&run.id).await?;
        let receipt = store.receipt_of_run(&run.id).await?;
        let interruptions = AttemptInterruption::load_all(store, &run.id).await?;
        let preparation = RunPreparation::load(store, &run.id, &checks).await?;
        let recorded_proof = if run.proof.is_some() { load_recorded_proof(store, &run.id).await? } else { None };
        let standing_guidance = store.standing_guidance(Some(&run.id), run.task.as_deref()).await?;
        let headline = run_headline(store, &run).await?;
        let logs = relative_to_current_folder(&store.path().with_file_name("runs").join(&run.id));
        Ok(Self {
            run,
            iterations,
            attempts,
            checks,
            receipt,
            interruptions,
            preparation,
            recorded_proof,
            notes: None,
            standing_guidance,
            headline,
            logs_folder: logs,
        })
    }

    /// Sets the path of the agents' notes.
    #[must_use]
    pub fn with_notes(self, notes: Option<String>) -> Self {
        Self { notes, ..self }
    }

    /// Returns the JSON object of `show --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let outcome = Some(&self.run.status).filter(|status| *status != "running");
        let iterations: Vec<Value> = self.iterations.iter().map(|iteration| self.iteration_json(iteration)).collect();
        json!({
            "id": self.run.id,
            "kind": self.run.kind,
            "task": self.run.task,
            "role": self.run.role,
            "session_id": session_id_json(&self.run),
            "prompt": run_title(&self.run),
            "description": self.session().and_then(|session| session.description),
            "status": self.run.status,
            "outcome": outcome,
            "reason": self.run.reason,
            "headline": self.headline,
            "proof": proof_level_json(self.run.proof.as_deref()),
            "proof_reason": self.proof().map(|proof| proof.reason),
            "judged": self.run.proof.as_deref() == Some("judged"),
            "accepted_by": accepted_by(&self.run),
            "exit_code": self.run.exit_code,
            "agent": self.run.agent,
            "promise": self.run.promise,
            "max_iterations": self.run.max_iterations,
            "cost_usd": micros_to_dollars(self.run.cost_micros),
            "input_tokens": self.run.input_tokens,
            "output_tokens": self.run.output_tokens,
            "notes": self.notes,
            "standing_guidance": self.standing_guidance,
            "seal": self.preparation.seal_json(),
            "baseline": self.preparation.baseline_json(&self.logs_folder),
            "receipt": self.receipt_json(),
            "iterations": iterations,
        })
    }

    /// Returns the proof level of a completed run, with its reason.
    #[must_use]
    pub fn proof(&self) -> Option<Proof> {
        self.receipt.as_ref().and_then(receipt::proof_of).or_else(|| self.recorded_proof.clone())
    }

    /// Returns the session that the run is a loop of.
    fn session(&self) -> Option<SessionRunSettings> {
        SessionRunSettings::parse(&self.run.kind, &self.run.settings)
    }

    fn receipt_json(&self) -> Value {
        match &self.receipt {
            Some(stored) => receipt::receipt_json(stored, &self.logs_folder),
            None => receipt::forged_receipt_json(&self.logs_folder),
        }
    }

    /// Returns the state of the receipt in one line; `None` if there is none.
    #[must_use]
    pub fn receipt_line(&self) -> Option<String> {
        match &self.receipt {
            Some(stored) => Some(receipt::receipt_line(stored, &self.logs_folder)),
            None => receipt::forged_receipt_line(&self.logs_folder),
        }
    }

    fn iteration_json(&self, iteration: &IterationRow) -> Value {
        let checks: Vec<&CheckRow> = self.checks_of(iteration.number).collect();
        json!({
            "number": iteration.number,
            "status": iteration.status,
            "attempts": iteration.attempts,
            "claim": iteration.claimed,
            "claim_why": iteration.claim_reason,
            "verdict": iteration.verdict,
            "verdict_why": iteration.verdict_reason,
            "duration_ms": iteration.duration_ms,
            "cost_usd": micros_to_dollars(iteration.cost_micros),
            "input_tokens": iteration.input_tokens,
            "output_tokens": iteration.output_tokens,
            "checks": criterion::criteria_json(&checks, &self.logs_folder),
            "waits": self.interruptions_of(iteration.number).filter_map(AttemptInterruption::to_wait_json).collect::<Vec<_>>(),
            "agent_changes": self.interruptions_of(iteration.number).filter_map(AttemptInterruption::to_agent_change_json).collect::<Vec<_>>(),
        })
    }

    /// Returns one line per claim, with verdict and reason.
    #[must_use]
    pub fn claim_lines(&self) -> Vec<String> {
        let claimed = self.iterations.iter().filter(|iteration| iteration.claimed == Some(true));
        let line = |iteration: &IterationRow| {
            let verdict = iteration.verdict.as_deref().unwrap_or("not verified");
            let reason = iteration.verdict_reason.as_deref().or(iteration.claim_reason.as_deref()).unwrap_or_default();
            format!("claim {}  {verdict}: {reason}", iteration.number)
        };
        claimed.map(line).collect()
    }

    /// Returns how many claims were rejected.
    #[must_use]
    pub(crate) fn rejected_claim_count(&self) -> usize {
        let is_rejected = |iteration: &&IterationRow| {
            iteration.claimed == Some(true) && iteration.verdict.as_deref() == Some(Verdict::Rejected.as_str())
        };
        self.iterations.iter().filter(is_rejected).count()
    }

    /// Returns the text of `ralph show`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.render_heading();
        for iteration in &self.iterations {
            self.write_iteration(&mut text, iteration);
        }
        // Stored text may come from an agent or from an untrusted file.
        sanitize_text(&text)
    }

    /// Returns the run as a section of `ralph task show`: its outcome in one line, then each iteration.
    #[must_use]
    pub fn to_task_section(&self) -> String {
        let run = &self.run;
        let (role, id) = (run.role.as_deref().unwrap_or_default(), short_id(&run.id));
        let mut text = format!("{role}  run {id}  {}  {}\n", format_timestamp(run.started_at), self.headline);
        if let Some(proof) = self.proof() {
            let _ = writeln!(text, "  {:<8}  {}", "proof", proof.describe());
        }
        if let Some(by) = accepted_by(run) {
            let _ = writeln!(text, "  {:<8}  {}, {}", "accepted", by.describe(), by.at);
        }
        for (label, value) in self.preparation.to_lines() {
            let _ = writeln!(text, "  {label:<8}  {value}");
        }
        for iteration in &self.iterations {
            self.write_iteration(&mut text, iteration);
        }
        text
    }

    fn render_heading(&self) -> String {
        let run = &self.run;
        let mut text = String::new();
        let _ = writeln!(text, "run      {}  ({})", run.id, short_id(&run.id));
        let _ = writeln!(text, "kind     {}", run.kind);
        if let Some((task, role)) = run.task.as_ref().zip(run.role.as_ref()) {
            let _ = writeln!(text, "task     {task}, {role}");
        }
        let title = run_title(run);
        if !title.is_empty() && run.kind != SESSION_RUN_KIND {
            let _ = writeln!(text, "prompt   {title}");
        }
        if let Some(session) = self.session() {
            let description = session.description.map(|text| format!("  ({text})")).unwrap_or_default();
            let _ = writeln!(text, "session  {}{description}", session.session_id);
        }
        let _ = writeln!(text, "outcome  {}", self.headline);
        if let Some(proof) = self.proof() {
            let _ = writeln!(text, "proof    {}", proof.describe());
        }
        if let Some(by) = accepted_by(run) {
            let _ = writeln!(text, "accepted {}, {}", by.describe(), by.at);
        }
        let count = pluralize(run.iterations, "iteration");
        let _ = writeln!(text, "agent    {}, {count} of at most {}", run.agent, run.max_iterations);
        let _ = writeln!(text, "started  {}", format_timestamp(run.started_at));
        let tokens = format_tokens(run.input_tokens, run.output_tokens);
        let tokens = tokens.map(|tokens| format!(" · tokens {tokens}")).unwrap_or_default();
        let _ = writeln!(text, "spent    {}{tokens}", format_cost(run.cost_micros));
        let _ = writeln!(text, "logs     {}", self.logs_folder.display());
        if let Some(line) = self.receipt_line() {
            let _ = writeln!(text, "receipt  {line}");
        }
        for words in &self.standing_guidance {
            let _ = writeln!(text, "always   {}", sanitize_text(words));
        }
        if let Some(notes) = &self.notes {
            let _ = writeln!(text, "notes    {notes}");
        }
        for (label, value) in self.preparation.to_lines() {
            let _ = writeln!(text, "{label:<8} {value}");
        }
        text
    }

    fn write_iteration(&self, text: &mut String, iteration: &IterationRow) {
        let took = iteration.duration_ms.map_or_else(|| "not ended".to_owned(), format_elapsed);
        let _ = writeln!(text, "\niteration {}  {}  {took}", iteration.number, iteration.status);
        let mut last_attempt = 0;
        for attempt in self.attempts.iter().filter(|attempt| attempt.iteration == iteration.number) {
            self.write_interruptions(text, iteration.number, last_attempt + 1..=attempt.number);
            write_attempt(text, attempt);
            last_attempt = attempt.number;
        }
        self.write_interruptions(text, iteration.number, last_attempt + 1..=i64::MAX);
        if let Some(reason) = &iteration.claim_reason {
            let word = if iteration.claimed == Some(true) { "claimed " } else { "no claim" };
            let _ = writeln!(text, "  {word}  {reason}");
        }
        for check in self.checks_of(iteration.number) {
            criterion::write_criterion(text, check, &self.logs_folder);
        }
    }

    /// Writes the interruptions before these attempts.
    fn write_interruptions(&self, text: &mut String, iteration: i64, attempts: RangeInclusive<i64>) {
        for interruption in
            self.interruptions_of(iteration).filter(|interruption| attempts.contains(&interruption.attempt))
        {
            let _ = writeln!(text, "{}", interruption.to_text());
        }
    }

    fn interruptions_of(&self, iteration: i64) -> impl Iterator<Item = &AttemptInterruption> {
        self.interruptions.iter().filter(move |interruption| interruption.iteration == iteration)
    }

    /// Returns the checks of the claim of an iteration in order.
    pub fn checks_of(&self, iteration: i64) -> impl Iterator<Item = &CheckRow> {
        self.checks.iter().filter(move |check| check.iteration == iteration)
    }
}

/// Returns the proof that the end of a run recorded.
async fn load_recorded_proof(store: &Store, run: &str) -> Result<Option<Proof>, StoreError> {
    let ends = store.events_of_kinds(run, ["run.finished", "run.finished"]).await?;
    Ok(ends.iter().rev().find_map(|event| match serde_json::from_str(&event.body) {
        Ok(Fact::RunFinished { proof, .. }) => proof,
        Ok(_) | Err(_) => None,
    }))
}

/// Marks an iteration of a dead ralph, whose end was never recorded.
fn mark_interrupted(iteration: &mut IterationRow) {
    if iteration.status == "running" {
        "interrupted".clone_into(&mut iteration.status);
    }
}

/// Shortens a path below the current folder.
fn relative_to_current_folder(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_path_buf()
}

fn write_attempt(text: &mut String, attempt: &AttemptRow) {
    if let Some(failure) = &attempt.failure {
        let _ = writeln!(text, "  attempt {} {}: {failure}", attempt.number, attempt.status);
    }
    if attempt.killed > 0 {
        let _ = writeln!(
            text,
            "  leaky     {} left behind and killed",
            format_process_count(attempt.killed.cast_unsigned())
        );
    }
    if attempt.leaked > 0 {
        let _ =
            writeln!(text, "  LEAKED    {} could not be killed", format_process_count(attempt.leaked.cast_unsigned()));
    }
}
