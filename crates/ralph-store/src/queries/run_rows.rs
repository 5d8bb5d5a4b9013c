//! The rows of runs, iterations, attempts, checks and receipts as they are read from the database.
use ralph_core::outcome::{Outcome, RunEnd};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

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
    pub max_iterations: i64,
    pub iterations: i64,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub cost_micros: Option<i64>,
    pub settings: String,
}

impl RunRow {
    pub(crate) const COLUMNS: &str = "id, kind, task, role, status, reason, exit_code, agent, promise, max_iterations, \
        iterations, started_at, ended_at, input_tokens, output_tokens, cost_micros, settings, sum, settings_sum";

    pub(crate) fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let run = Self {
            id: row.try_get("id")?,
            kind: row.try_get("kind")?,
            task: row.try_get("task")?,
            role: row.try_get("role")?,
            status: row.try_get("status")?,
            reason: row.try_get("reason")?,
            exit_code: row.try_get("exit_code")?,
            agent: row.try_get("agent")?,
            promise: row.try_get("promise")?,
            max_iterations: row.try_get("max_iterations")?,
            iterations: row.try_get("iterations")?,
            started_at: row.try_get("started_at")?,
            ended_at: row.try_get("ended_at")?,
            input_tokens: row.try_get("input_tokens")?,
            output_tokens: row.try_get("output_tokens")?,
            cost_micros: row.try_get("cost_micros")?,
            settings: row.try_get("settings")?,
        };
        run.to_header().verify_checksums(row.try_get("sum")?, row.try_get("settings_sum")?).map(|()| run)
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
            max_iterations: self.max_iterations,
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
    pub(crate) fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            number: row.try_get("number")?,
            status: row.try_get("status")?,
            started_at: row.try_get("started_at")?,
            duration_ms: row.try_get("duration_ms")?,
            attempts: row.try_get("attempts")?,
            claimed: row.try_get::<Option<i64>, _>("claimed")?.map(|claimed| claimed != 0),
            claim_reason: row.try_get("claim_why")?,
            verdict: row.try_get("verdict")?,
            verdict_reason: row.try_get("verdict_why")?,
            input_tokens: row.try_get("input_tokens")?,
            output_tokens: row.try_get("output_tokens")?,
            cost_micros: row.try_get("cost_micros")?,
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
    pub(crate) fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            iteration: row.try_get("iteration")?,
            number: row.try_get("number")?,
            status: row.try_get("status")?,
            failure: row.try_get("failure")?,
            session: row.try_get("session")?,
            model: row.try_get("model")?,
            killed: row.try_get("killed")?,
            leaked: row.try_get("leaked")?,
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
    pub(crate) fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self { verified: read_flag(row, "verified")?, sha256: row.try_get("sha256")?, body: row.try_get("body")? })
    }
}

fn read_flag(row: &SqliteRow, column: &str) -> Result<bool, sqlx::Error> {
    row.try_get::<i64, _>(column).map(|value| value != 0)
}

impl CheckRow {
    pub(crate) fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let position: i64 = row.try_get("position")?;
        Ok(Self {
            iteration: row.try_get("iteration")?,
            position,
            outline_number: row.try_get::<Option<_>, _>("place")?.unwrap_or_else(|| position.to_string()),
            method: row.try_get("method")?,
            name: row.try_get("name")?,
            command: row.try_get("command")?,
            verdict: row.try_get("verdict")?,
            reason: row.try_get("reason")?,
            exit_code: row.try_get("exit_code")?,
            duration_ms: row.try_get("duration_ms")?,
            log_file: row.try_get("log")?,
            required: read_flag(row, "required")?,
            tries: row.try_get("tries")?,
            cached: read_flag(row, "cached")?,
            output_digest: row.try_get("digest")?,
            judgement: row.try_get("judgement")?,
        })
    }
}
