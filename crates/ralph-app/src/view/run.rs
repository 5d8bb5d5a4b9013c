//! One run, whole: outcome, iterations, claims, verdicts, evidence.
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::detour::Detour;
use super::groundwork::Groundwork;
use super::words::{dollars, money, one_or_many, processes, short_id, took, when};
use super::{criterion, receipt};
use ralph_store::{AttemptRow, CheckRow, IterationRow, ReceiptRow, RunRow, Store, StoreError};
use ralph_util::sanitize::sanitize;

#[derive(Debug)]
pub struct RunView {
    run: RunRow,
    iterations: Vec<IterationRow>,
    attempts: Vec<AttemptRow>,
    checks: Vec<CheckRow>,
    receipt: Option<ReceiptRow>,
    detours: Vec<Detour>,
    groundwork: Groundwork,
    notes: Option<String>,
    /// The folder of its raw logs, as it can be opened from where the user stands.
    logs: PathBuf,
}

impl RunView {
    pub async fn load(store: &Store, run: RunRow) -> Result<Self, StoreError> {
        let mut iterations = store.iterations(&run.id).await?;
        if run.status != "running" {
            iterations.iter_mut().for_each(cut_short);
        }
        let attempts = store.attempts(&run.id).await?;
        let checks = store.checks(&run.id).await?;
        let receipt = store.receipt(&run.id).await?;
        let detours = Detour::all(store, &run.id).await?;
        let groundwork = Groundwork::of(store, &run.id, &checks).await?;
        let logs = from_here(&store.path().with_file_name("runs").join(&run.id));
        Ok(Self { run, iterations, attempts, checks, receipt, detours, groundwork, notes: None, logs })
    }

    /// Names the file with the agents' notes.
    #[must_use]
    pub fn with_notes(self, notes: Option<String>) -> Self {
        Self { notes, ..self }
    }

    /// Returns the object of `show --json`.
    #[must_use]
    pub fn json(&self) -> Value {
        let outcome = Some(&self.run.status).filter(|status| *status != "running");
        let iterations: Vec<Value> =
            self.iterations.iter().map(|iteration| self.iteration_json(iteration)).collect();
        json!({
            "id": self.run.id,
            "kind": self.run.kind,
            "task": self.run.task,
            "role": self.run.role,
            "status": self.run.status,
            "outcome": outcome,
            "reason": self.run.reason,
            "exit_code": self.run.exit_code,
            "agent": self.run.agent,
            "promise": self.run.promise,
            "max_iterations": self.run.max_iterations,
            "cost_usd": dollars(self.run.cost_micros),
            "input_tokens": self.run.input_tokens,
            "output_tokens": self.run.output_tokens,
            "notes": self.notes,
            "seal": self.groundwork.seal_json(),
            "baseline": self.groundwork.baseline_json(&self.logs),
            "receipt": self.receipt_json(),
            "iterations": iterations,
        })
    }

    fn receipt_json(&self) -> Value {
        match &self.receipt {
            Some(stored) => receipt::json(stored, &self.logs),
            None => receipt::forged_json(&self.logs),
        }
    }

    fn receipt_line(&self) -> Option<String> {
        match &self.receipt {
            Some(stored) => Some(receipt::line(stored, &self.logs)),
            None => receipt::forged(&self.logs),
        }
    }

    fn iteration_json(&self, iteration: &IterationRow) -> Value {
        let checks: Vec<&CheckRow> = self.checks_of(iteration.number).collect();
        json!({
            "number": iteration.number,
            "status": iteration.status,
            "attempts": iteration.attempts,
            "claim": iteration.claimed,
            "claim_why": iteration.claim_why,
            "verdict": iteration.verdict,
            "verdict_why": iteration.verdict_why,
            "duration_ms": iteration.duration_ms,
            "cost_usd": dollars(iteration.cost_micros),
            "input_tokens": iteration.input_tokens,
            "output_tokens": iteration.output_tokens,
            "checks": criterion::json(&checks, &self.logs),
            "waits": self.detours_of(iteration.number).filter_map(Detour::wait_json).collect::<Vec<_>>(),
            "agent_changes": self.detours_of(iteration.number).filter_map(Detour::change_json).collect::<Vec<_>>(),
        })
    }

    /// Returns one line for every claim: what became of it and why.
    #[must_use]
    pub fn claims(&self) -> Vec<String> {
        let claimed = self.iterations.iter().filter(|iteration| iteration.claimed == Some(true));
        let line = |iteration: &IterationRow| {
            let verdict = iteration.verdict.as_deref().unwrap_or("not verified");
            let why = iteration.verdict_why.as_deref().or(iteration.claim_why.as_deref()).unwrap_or_default();
            format!("claim {}  {verdict}: {why}", iteration.number)
        };
        claimed.map(line).collect()
    }

    /// Returns the run for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.heading();
        for iteration in &self.iterations {
            self.iteration_text(&mut text, iteration);
        }
        // What was stored may come from an agent, or from a file of somebody else.
        sanitize(&text)
    }

    /// Returns the run as a part of the story of its task: its end in one line, then each iteration.
    #[must_use]
    pub fn story(&self) -> String {
        let run = &self.run;
        let reason = run.reason.as_deref().unwrap_or("still running");
        let (role, id) = (run.role.as_deref().unwrap_or_default(), short_id(&run.id));
        let mut text = format!("{role}  run {id}  {}  {}: {reason}\n", when(run.started_at), run.status);
        for (word, what) in self.groundwork.lines() {
            let _ = writeln!(text, "  {word:<8}  {what}");
        }
        for iteration in &self.iterations {
            self.iteration_text(&mut text, iteration);
        }
        text
    }

    fn heading(&self) -> String {
        let run = &self.run;
        let mut text = String::new();
        let _ = writeln!(text, "run      {}  ({})", run.id, short_id(&run.id));
        let _ = writeln!(text, "kind     {}", run.kind);
        if let Some((task, role)) = run.task.as_ref().zip(run.role.as_ref()) {
            let _ = writeln!(text, "task     {task}, {role}");
        }
        let reason = run.reason.as_deref().unwrap_or("still running");
        let _ = writeln!(text, "outcome  {}: {reason}", run.status);
        let count = one_or_many(run.iterations, "iteration");
        let _ = writeln!(text, "agent    {}, {count} of at most {}", run.agent, run.max_iterations);
        let _ = writeln!(text, "started  {}", when(run.started_at));
        let _ = writeln!(text, "spent    {}", money(run.cost_micros));
        let _ = writeln!(text, "logs     {}", self.logs.display());
        if let Some(line) = self.receipt_line() {
            let _ = writeln!(text, "receipt  {line}");
        }
        if let Some(notes) = &self.notes {
            let _ = writeln!(text, "notes    {notes}");
        }
        for (word, what) in self.groundwork.lines() {
            let _ = writeln!(text, "{word:<8} {what}");
        }
        text
    }

    fn iteration_text(&self, text: &mut String, iteration: &IterationRow) {
        let took = iteration.duration_ms.map_or_else(|| "not ended".to_owned(), took);
        let _ = writeln!(text, "\niteration {}  {}  {took}", iteration.number, iteration.status);
        let mut told = 0;
        for attempt in self.attempts.iter().filter(|attempt| attempt.iteration == iteration.number) {
            self.detours_text(text, iteration.number, told + 1..=attempt.number);
            attempt_text(text, attempt);
            told = attempt.number;
        }
        self.detours_text(text, iteration.number, told + 1..=i64::MAX);
        if let Some(why) = &iteration.claim_why {
            let word = if iteration.claimed == Some(true) { "claimed " } else { "no claim" };
            let _ = writeln!(text, "  {word}  {why}");
        }
        for check in self.checks_of(iteration.number) {
            criterion::text(text, check, &self.logs);
        }
    }

    /// Tells what came before these attempts.
    fn detours_text(&self, text: &mut String, iteration: i64, attempts: RangeInclusive<i64>) {
        for detour in self.detours_of(iteration).filter(|detour| attempts.contains(&detour.attempt)) {
            let _ = writeln!(text, "{}", detour.text());
        }
    }

    fn detours_of(&self, iteration: i64) -> impl Iterator<Item = &Detour> {
        self.detours.iter().filter(move |detour| detour.iteration == iteration)
    }

    fn checks_of(&self, iteration: i64) -> impl Iterator<Item = &CheckRow> {
        self.checks.iter().filter(move |check| check.iteration == iteration)
    }
}

/// An iteration whose ralph died was not ended by anybody.
fn cut_short(iteration: &mut IterationRow) {
    if iteration.status == "running" {
        "interrupted".clone_into(&mut iteration.status);
    }
}

/// Shortens a path that lies below the current folder.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_path_buf()
}

fn attempt_text(text: &mut String, attempt: &AttemptRow) {
    if let Some(failure) = &attempt.failure {
        let _ = writeln!(text, "  attempt {} {}: {failure}", attempt.number, attempt.status);
    }
    if attempt.killed > 0 {
        let _ = writeln!(
            text,
            "  leaky     {} left behind and killed",
            processes(attempt.killed.cast_unsigned())
        );
    }
    if attempt.leaked > 0 {
        let _ =
            writeln!(text, "  LEAKED    {} could not be killed", processes(attempt.leaked.cast_unsigned()));
    }
}
