//! Sums for charts: iterations to done, cost of accepted tasks, verdicts on claims, and times of checks.
use ralph_core::event::UnixMillis;

use super::runs::DECIDING_METHOD;
use crate::driver::statement::sql;
use crate::driver::{DatabaseRow, DriverError};
use crate::{Store, StoreError};

/// Completed runs of one agent in one role with the same number of iterations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationsToDoneRow {
    pub agent: String,
    /// The role of a stage, or the kind of the run.
    pub role: String,
    pub iterations: i64,
    pub runs: i64,
}

/// The cost of all runs of a task that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCostRow {
    pub task: String,
    pub title: String,
    /// `None`: no run reports its cost.
    pub cost_micros: Option<i64>,
    pub runs: i64,
}

/// How many claims ended with a verdict, and which method decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimVerdictRow {
    pub verdict: String,
    /// The method of the first check with this verdict; `None` if no check has it.
    pub method: Option<String>,
    pub claims: i64,
}

/// The runs of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckTimeRow {
    pub command: String,
    pub times_run: i64,
    pub rejected: i64,
    pub total_ms: i64,
    pub longest_ms: i64,
    /// The newest run in which it ran.
    pub newest_run: String,
}

impl Store {
    /// Returns how many iterations completed runs needed, by agent and role.
    pub async fn iterations_to_done(&self, since: UnixMillis) -> Result<Vec<IterationsToDoneRow>, StoreError> {
        let sql = "SELECT agent, COALESCE(role, kind) AS role, iterations, COUNT(*) AS runs FROM runs
            WHERE status = 'completed' AND started_at >= $1 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
        let read = |row: &DatabaseRow| -> Result<IterationsToDoneRow, DriverError> {
            Ok(IterationsToDoneRow {
                agent: row.get("agent")?,
                role: row.get("role")?,
                iterations: row.get("iterations")?,
                runs: row.get("runs")?,
            })
        };
        self.rows(sql!(sql, since.0), read).await
    }

    /// Returns the cost of the tasks that are done, the newest first.
    pub async fn costs_of_done_tasks(&self, since: UnixMillis, limit: u32) -> Result<Vec<TaskCostRow>, StoreError> {
        let sql =
            "SELECT tasks.id AS task, tasks.title AS title, SUM(runs.cost_micros) AS cost_micros, COUNT(*) AS runs
            FROM tasks JOIN runs ON runs.task = tasks.id WHERE tasks.status = 'done' AND tasks.updated_at >= $1
            GROUP BY tasks.id, tasks.title, tasks.updated_at ORDER BY tasks.updated_at DESC LIMIT $2";
        let read = |row: &DatabaseRow| -> Result<TaskCostRow, DriverError> {
            Ok(TaskCostRow {
                task: row.get("task")?,
                title: row.get("title")?,
                cost_micros: row.get("cost_micros")?,
                runs: row.get("runs")?,
            })
        };
        self.rows(sql!(sql, since.0, limit), read).await
    }

    /// Returns how many claims were accepted, rejected and not evaluated, by the method that decided.
    pub async fn claim_verdicts(&self, since: UnixMillis) -> Result<Vec<ClaimVerdictRow>, StoreError> {
        let sql = format!(
            "SELECT verdict, method, COUNT(*) AS claims FROM (SELECT i.verdict AS verdict, {DECIDING_METHOD} AS method
                FROM iterations AS i WHERE i.verdict IS NOT NULL AND i.started_at >= $1) AS decided
            GROUP BY 1, 2 ORDER BY claims DESC, verdict, method"
        );
        let read = |row: &DatabaseRow| -> Result<ClaimVerdictRow, DriverError> {
            Ok(ClaimVerdictRow { verdict: row.get("verdict")?, method: row.get("method")?, claims: row.get("claims")? })
        };
        self.rows(sql!(sql, since.0), read).await
    }

    /// Returns the checks that took the most time. Cached results took none.
    pub async fn check_times(&self, since: UnixMillis, limit: u32) -> Result<Vec<CheckTimeRow>, StoreError> {
        let sql = "SELECT v.command AS command, COUNT(*) AS times_run, SUM(v.verdict = 'rejected') AS rejected,
                SUM(v.duration_ms) AS total_ms, MAX(v.duration_ms) AS longest_ms, MAX(v.run) AS newest_run
            FROM verdicts AS v JOIN runs ON runs.id = v.run WHERE v.cached = 0 AND runs.started_at >= $1
            GROUP BY v.command ORDER BY total_ms DESC, command LIMIT $2";
        let read = |row: &DatabaseRow| -> Result<CheckTimeRow, DriverError> {
            Ok(CheckTimeRow {
                command: row.get("command")?,
                times_run: row.get("times_run")?,
                rejected: row.get("rejected")?,
                total_ms: row.get("total_ms")?,
                longest_ms: row.get("longest_ms")?,
                newest_run: row.get("newest_run")?,
            })
        };
        self.rows(sql!(sql, since.0, limit), read).await
    }
}
