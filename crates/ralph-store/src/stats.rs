//! Adding up many runs. SQLite adds; what comes back is one row for each group and number of iterations.
use ralph_core::attempt::Spend;
use ralph_core::event::Millis;
use ralph_core::stats::Part;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row};

use super::{Store, StoreError};

/// What runs are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grouping {
    /// All of them are one group.
    All,
    Role,
    Agent,
    Model,
    Task,
    Spec,
    Iteration,
}

/// Runs of one group with the same number of iterations; without a key: of those that have no role, no task, no known
/// model.
pub type KeyedPart = (Option<String>, Part);

impl Store {
    /// Adds up the runs that began at or after a moment; of tasks, those that cost most, and one more if there is one.
    pub async fn stats(
        &self,
        grouping: Grouping,
        since: Millis,
        most: u32,
    ) -> Result<Vec<KeyedPart>, StoreError> {
        let query = sqlx::query(AssertSqlSafe(question(grouping))).bind(since.0);
        let query = if grouping == Grouping::Task { query.bind(i64::from(most) + 1) } else { query };
        self.rows(query, part).await
    }
}

/// Returns the question that adds up. Whatever is in it stands in this file.
fn question(grouping: Grouping) -> String {
    match grouping {
        Grouping::All => of_runs("NULL", "runs", ""),
        Grouping::Role => of_runs("role", "runs", ""),
        Grouping::Task => of_runs("task", "runs", COSTLIEST_TASKS),
        Grouping::Spec => of_runs("tasks.spec", "runs LEFT JOIN tasks ON tasks.id = runs.task", ""),
        Grouping::Agent => of_shares("agent"),
        Grouping::Model => of_shares("NULLIF(model, '')"),
        Grouping::Iteration => OF_ITERATIONS.to_owned(),
    }
}

/// There may be very many tasks: only those are added up that are asked for.
const COSTLIEST_TASKS: &str = "AND task IN (SELECT task FROM runs WHERE started_at >= $1 AND task IS NOT NULL
    GROUP BY task ORDER BY SUM(cost_micros) DESC, COUNT(*) DESC, task LIMIT $2)";

/// What became of the runs.
const OUTCOMES: &str = "SUM(s.status NOT IN ('running', 'interrupted')) AS ended,
    SUM(s.status = 'completed') AS completed, SUM(s.status = 'blocked' AND s.exit_code = 3) AS sent_back";

/// Adds up whole runs, without looking at more than the index `runs_added_up`.
fn of_runs(key: &str, from: &str, which: &str) -> String {
    let outcomes = OUTCOMES.replace("s.", "runs.");
    format!(
        "SELECT {key} AS key, iterations, COUNT(*) AS runs, {outcomes}, SUM(rejected) AS rejected,
            SUM(cost_micros) AS cost_micros, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
            SUM(iterations > 0 AND (cost_micros IS NULL OR unpriced > 0)) AS unpriced,
            SUM(iterations > 0 AND input_tokens IS NULL AND output_tokens IS NULL) AS uncounted,
            SUM(judges_micros) AS judges_micros, SUM(worked_ms) AS worked_ms, COUNT(worked_ms) AS timed
         FROM {from} WHERE started_at >= $1 {which} GROUP BY 1, iterations"
    )
}

/// Adds up the shares of one agent or model: a run counts wherever one worked, with what this one used.
fn of_shares(key: &str) -> String {
    format!(
        "SELECT key, iterations, COUNT(*) AS runs, {OUTCOMES}, SUM(rejected) AS rejected,
            SUM(cost_micros) AS cost_micros, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
            SUM(cost_micros IS NULL OR unpriced > 0) AS unpriced,
            SUM(input_tokens IS NULL AND output_tokens IS NULL) AS uncounted,
            NULL AS judges_micros, SUM(worked_ms) AS worked_ms, COUNT(*) AS timed
         FROM (SELECT {key} AS key, * FROM shares) AS s WHERE started_at >= $1 GROUP BY key, iterations"
    )
}

/// Adds up iterations by their number. A run is completed in its last one.
const OF_ITERATIONS: &str =
    "SELECT CAST(number AS TEXT) AS key, number AS iterations, runs, ended, COALESCE(completed, 0) AS completed,
        0 AS sent_back, rejected, cost_micros, input_tokens, output_tokens, unpriced, uncounted, NULL AS judges_micros,
        worked_ms, timed
     FROM (SELECT number, COUNT(*) AS runs, SUM(status <> 'running') AS ended, SUM(verdict = 'rejected') AS rejected,
            SUM(cost_micros) AS cost_micros, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
            SUM(cost_micros IS NULL) AS unpriced, SUM(input_tokens IS NULL AND output_tokens IS NULL) AS uncounted,
            SUM(duration_ms) AS worked_ms, COUNT(duration_ms) AS timed
        FROM iterations WHERE started_at >= $1 GROUP BY number) AS i
     LEFT JOIN (SELECT iterations AS last, SUM(status = 'completed') AS completed FROM runs
        WHERE started_at >= $1 GROUP BY iterations) AS r ON r.last = i.number";

fn part(row: &SqliteRow) -> Result<KeyedPart, sqlx::Error> {
    let number = |column: &str| -> Result<u64, sqlx::Error> { Ok(known(row, column)?.unwrap_or(0)) };
    let spent = Spend {
        input_tokens: known(row, "input_tokens")?,
        output_tokens: known(row, "output_tokens")?,
        cost_micros: known(row, "cost_micros")?,
    };
    let part = Part {
        iterations: u32::try_from(number("iterations")?).unwrap_or(u32::MAX),
        runs: number("runs")?,
        ended: number("ended")?,
        completed: number("completed")?,
        sent_back: number("sent_back")?,
        rejected: number("rejected")?,
        spent,
        unpriced: number("unpriced")?,
        uncounted: number("uncounted")?,
        judges_micros: known(row, "judges_micros")?,
        worked_ms: number("worked_ms")?,
        timed: number("timed")?,
    };
    Ok((row.try_get("key")?, part))
}

fn known(row: &SqliteRow, column: &str) -> Result<Option<u64>, sqlx::Error> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(|value| u64::try_from(value).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Opening;

    async fn plan(store: &Store, grouping: Grouping) -> String {
        let query =
            sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", question(grouping)))).bind(0_i64);
        let query = if grouping == Grouping::Task { query.bind(20_i64) } else { query };
        store.rows(query, |row| row.try_get::<String, _>("detail")).await.unwrap().join("\n")
    }

    // spec: P9, F6
    #[tokio::test]
    async fn adding_up_never_reads_the_wide_rows_of_all_runs_or_any_fact() {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(temp.path(), Opening::Create).await.unwrap().unwrap();
        for grouping in [Grouping::All, Grouping::Role, Grouping::Spec, Grouping::Iteration] {
            let plan = plan(&store, grouping).await;
            assert!(plan.contains("runs USING COVERING INDEX runs_added_up"), "{grouping:?}: {plan}");
        }
        for grouping in [Grouping::Agent, Grouping::Model] {
            let plan = plan(&store, grouping).await;
            assert!(plan.contains("SCAN shares") && !plan.contains("runs"), "{grouping:?}: {plan}");
        }
        let tasks = plan(&store, Grouping::Task).await;
        assert!(tasks.contains("runs USING INDEX runs_by_task (task=?"), "{tasks}");
        for grouping in [Grouping::All, Grouping::Spec, Grouping::Task, Grouping::Model, Grouping::Iteration]
        {
            assert!(!plan(&store, grouping).await.contains("events"), "{grouping:?}");
        }
    }
}
