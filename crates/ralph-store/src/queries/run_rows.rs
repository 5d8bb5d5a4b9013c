//! The rows of runs, iterations, attempts, checks and receipts as they are read from the database.
use crate::driver::{DatabaseRow, DriverError};
use ralph_core::outcome::{Outcome, RunEnd};

use crate::journal::run_insert::RunHeaderRow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub id: String,
    pub kind: String,
    /// The task that the run is a stage of.
    pub task: Option<String>,
    pub role: Option<String>,
    /// `running`, or the outcome.
    pub status: String,
    pub reason: Option<String>,
    pub exit_code: Option<i64>,
    pub agent: String,
    pub promise: String,
    /// The present iteration limit.
    pub max_iterations: i64,
    /// The iteration limit with which the run started.
    pub first_max_iterations: i64,
    pub iterations: i64,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub cost_micros: Option<i64>,
    /// The proof level of a completed run: `proven`, `checked`, `judged` or `unverified`.
    pub proof: Option<String>,
    /// The person who accepted the claim, as JSON ([`ralph_core::decision::PersonDecision`]).
    pub accepted_by: Option<String>,
    pub settings: String,
}

impl RunRow {
    pub(crate) const COLUMNS: &str = "id, kind, task, role, status, reason, exit_code, agent, promise, max_iterations, \
        max_iterations_now, iterations, started_at, ended_at, input_tokens, output_tokens, cost_micros, proof, accepted_by, settings, sum, settings_sum";

    pub(crate) fn from_row(row: &DatabaseRow) -> Result<Self, DriverError> {
        let first_max_iterations = row.get("max_iterations")?;
        let run = Self {
            id: row.get("id")?,
            kind: row.get("kind")?,
            task: row.get("task")?,
            role: row.get("role")?,
            status: row.get("status")?,
            reason: row.get("reason")?,
            exit_code: row.get("exit_code")?,
            agent: row.get("agent")?,
            promise: row.get("promise")?,
            max_iterations: row.get::<Option<_>>("max_iterations_now")?.unwrap_or(first_max_iterations),
            first_max_iterations,
            iterations: row.get("iterations")?,
            started_at: row.get("started_at")?,
            ended_at: row.get("ended_at")?,
            input_tokens: row.get("input_tokens")?,
            output_tokens: row.get("output_tokens")?,
            cost_micros: row.get("cost_micros")?,
            proof: row.get("proof")?,
            accepted_by: row.get("accepted_by")?,
            settings: row.get("settings")?,
        };
        run.to_header().verify_checksums(row.get("sum")?, row.get("settings_sum")?).map(|()| run)
    }

    /// Returns how the run ended, or `None` if it has not.
    #[must_use]
    pub fn run_end(&self) -> Option<RunEnd> {
        let outcome = Outcome::parse(&self.status)?;
        let exit_code = u8::try_from(self.exit_code?).ok()?;
        Some(RunEnd { outcome, reason: self.reason.clone().unwrap_or_default(), exit_code })
    }

    fn to_header(&self) -> RunHeaderRow<'_> {
        RunHeaderRow {
            id: &self.id,
            kind: &self.kind,
            agent: &self.agent,
            promise: &self.promise,
            max_iterations: self.first_max_iterations,
            started_at: self.started_at,
            settings: &self.settings,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationRow {
    pub number: i64,
    /// `running`, `finished`, `failed`, `interrupted` or `timed_out`.
    pub status: String,
    pub started_at: i64,
    pub duration_ms: Option<i64>,
    pub attempts: i64,
    pub claimed: Option<bool>,
    pub claim_reason: Option<String>,
    pub verdict: Option<String>,
    pub verdict_reason: Option<String>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub cost_micros: Option<i64>,
}

impl IterationRow {
    pub(crate) fn from_row(row: &DatabaseRow) -> Result<Self, DriverError> {
        Ok(Self {
            number: row.get("number")?,
            status: row.get("status")?,
            started_at: row.get("started_at")?,
            duration_ms: row.get("duration_ms")?,
            attempts: row.get("attempts")?,
            claimed: row.get::<Option<i64>>("claimed")?.map(|claimed| claimed != 0),
            claim_reason: row.get("claim_why")?,
            verdict: row.get("verdict")?,
            verdict_reason: row.get("verdict_why")?,
            input_tokens: row.get("input_tokens")?,
            output_tokens: row.get("output_tokens")?,
            cost_micros: row.get("cost_micros")?,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    pub iteration: i64,
    pub number: i64,
    pub status: String,
    pub failure: Option<String>,
    pub session: Option<String>,
    pub model: Option<String>,
    pub killed: i64,
    pub leaked: i64,
}

impl AttemptRow {
    pub(crate) fn from_row(row: &DatabaseRow) -> Result<Self, DriverError> {
        Ok(Self {
            iteration: row.get("iteration")?,
            number: row.get("number")?,
            status: row.get("status")?,
            failure: row.get("failure")?,
            session: row.get("session")?,
            model: row.get("model")?,
            killed: row.get("killed")?,
            leaked: row.get("leaked")?,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRow {
    pub iteration: i64,
    pub position: i64,
    /// `2` is the second criterion, `2.1` its first stage.
    pub outline_number: String,
    pub method: String,
    pub name: Option<String>,
    pub command: String,
    pub verdict: String,
    pub reason: String,
    pub exit_code: Option<i64>,
    pub duration_ms: i64,
    pub log_file: String,
    pub required: bool,
    pub tries: i64,
    pub cached: bool,
    pub output_digest: Option<String>,
    /// JSON.
    pub judgement: Option<String>,
}

/// The stored receipt of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptRow {
    pub verified: bool,
    pub sha256: String,
    /// JSON.
    pub body: String,
}

impl ReceiptRow {
    pub(crate) fn from_row(row: &DatabaseRow) -> Result<Self, DriverError> {
        Ok(Self { verified: read_flag(row, "verified")?, sha256: row.get("sha256")?, body: row.get("body")? })
    }
}

fn read_flag(row: &DatabaseRow, column: &str) -> Result<bool, DriverError> {
    row.get::<i64>(column).map(|value| value != 0)
}

impl CheckRow {
    pub(crate) fn from_row(row: &DatabaseRow) -> Result<Self, DriverError> {
        let position: i64 = row.get("position")?;
        Ok(Self {
            iteration: row.get("iteration")?,
            position,
            outline_number: row.get::<Option<_>>("place")?.unwrap_or_else(|| position.to_string()),
            method: row.get("method")?,
            name: row.get("name")?,
            command: row.get("command")?,
            verdict: row.get("verdict")?,
            reason: row.get("reason")?,
            exit_code: row.get("exit_code")?,
            duration_ms: row.get("duration_ms")?,
            log_file: row.get("log")?,
            required: read_flag(row, "required")?,
            tries: row.get("tries")?,
            cached: read_flag(row, "cached")?,
            output_digest: row.get("digest")?,
            judgement: row.get("judgement")?,
        })
    }
}
