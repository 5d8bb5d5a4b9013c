//! Statistics over many runs. SQLite adds them up and returns one row per group and number of iterations.
use ralph_core::attempt::ModelSpend;
use ralph_core::event::UnixMillis;
use ralph_core::stats::RunStatsBucket;

use crate::driver::statement::{SqlStatement, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::{Store, StoreError};

/// How runs are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatsGrouping {
    /// All runs are one group.
    All,
    Role,
    Agent,
    Model,
    Task,
    Spec,
    Iteration,
}

/// The key of a group, and its runs with the same number of iterations. The key is `None` for runs without a role, a task
/// or a known model.
pub type KeyedPart = (Option<String>, RunStatsBucket);

impl Store {
    /// Adds up the runs that started at or after `since`. Grouped by task, returns only the `max_groups` most expensive
    /// tasks and one more, so that the caller can see that there are more.
    pub async fn run_stats(
        &self,
        grouping: StatsGrouping,
        since: UnixMillis,
        max_groups: u32,
    ) -> Result<Vec<KeyedPart>, StoreError> {
        self.rows(stats_statement(grouping, since, max_groups), read_part).await
    }
}

fn stats_statement(grouping: StatsGrouping, since: UnixMillis, max_groups: u32) -> SqlStatement {
    let sql = stats_query(grouping);
    match grouping {
        StatsGrouping::Task => sql!(sql, since.0, i64::from(max_groups) + 1),
        StatsGrouping::All
        | StatsGrouping::Role
        | StatsGrouping::Agent
        | StatsGrouping::Model
        | StatsGrouping::Spec
        | StatsGrouping::Iteration => sql!(sql, since.0),
    }
}

/// Returns the query. It contains only text from this file.
fn stats_query(grouping: StatsGrouping) -> String {
    match grouping {
        StatsGrouping::All => runs_query("NULL", "runs", ""),
        StatsGrouping::Role => runs_query("role", "runs", ""),
        StatsGrouping::Task => runs_query("task", "runs", COSTLIEST_TASKS_FILTER),
        StatsGrouping::Spec => runs_query("tasks.spec", "runs LEFT JOIN tasks ON tasks.id = runs.task", ""),
        StatsGrouping::Agent => agent_usage_query("agent"),
        StatsGrouping::Model => agent_usage_query("NULLIF(model, '')"),
        StatsGrouping::Iteration => ITERATIONS_QUERY.to_owned(),
    }
}

/// Limits the query to the most expensive tasks, because there may be very many.
const COSTLIEST_TASKS_FILTER: &str = "AND task IN (SELECT task FROM runs WHERE started_at >= $1 AND task IS NOT NULL
    GROUP BY task ORDER BY SUM(cost_micros) DESC, COUNT(*) DESC, task LIMIT $2)";

/// Counts runs by their outcome.
const OUTCOME_COLUMNS: &str = "SUM(s.status NOT IN ('running', 'interrupted')) AS ended,
    SUM(s.status = 'completed') AS completed, SUM(s.status = 'blocked' AND s.exit_code = 3) AS sent_back";

/// Adds up whole runs. Reads only the index `runs_added_up`.
fn runs_query(key: &str, from: &str, filter: &str) -> String {
    let outcomes = OUTCOME_COLUMNS.replace("s.", "runs.");
    format!(
        "SELECT {key} AS key, iterations, COUNT(*) AS runs, {outcomes}, SUM(rejected) AS rejected,
            SUM(cost_micros) AS cost_micros, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
            SUM(iterations > 0 AND (cost_micros IS NULL OR unpriced > 0)) AS unpriced,
            SUM(iterations > 0 AND input_tokens IS NULL AND output_tokens IS NULL) AS uncounted,
            SUM(judges_micros) AS judges_micros, SUM(worked_ms) AS worked_ms, COUNT(worked_ms) AS timed
         FROM {from} WHERE started_at >= $1 {filter} GROUP BY 1, iterations"
    )
}

/// Adds up the usage per agent or model. A run counts for each agent or model that worked in it, with that one's usage.
fn agent_usage_query(key: &str) -> String {
    format!(
        "SELECT key, iterations, COUNT(*) AS runs, {OUTCOME_COLUMNS}, SUM(rejected) AS rejected,
            SUM(cost_micros) AS cost_micros, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
            SUM(cost_micros IS NULL OR unpriced > 0) AS unpriced,
            SUM(input_tokens IS NULL AND output_tokens IS NULL) AS uncounted,
            NULL AS judges_micros, SUM(worked_ms) AS worked_ms, COUNT(*) AS timed
         FROM (SELECT {key} AS key, * FROM shares) AS s WHERE started_at >= $1 GROUP BY key, iterations"
    )
}

/// Adds up iterations by their number. A completed run counts for its last iteration.
const ITERATIONS_QUERY: &str =
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

fn read_part(row: &DatabaseRow) -> Result<KeyedPart, DriverError> {
    let number = |column: &str| -> Result<u64, DriverError> { Ok(read_unsigned(row, column)?.unwrap_or(0)) };
    let spent = ModelSpend {
        input_tokens: read_unsigned(row, "input_tokens")?,
        output_tokens: read_unsigned(row, "output_tokens")?,
        cost_micros: read_unsigned(row, "cost_micros")?,
    };
    let part = RunStatsBucket {
        iterations: u32::try_from(number("iterations")?).unwrap_or(u32::MAX),
        runs: number("runs")?,
        ended_runs: number("ended")?,
        completed_runs: number("completed")?,
        sent_back_runs: number("sent_back")?,
        rejected_claims: number("rejected")?,
        spent,
        unpriced_runs: number("unpriced")?,
        runs_without_tokens: number("uncounted")?,
        judge_cost_micros: read_unsigned(row, "judges_micros")?,
        worked_ms: number("worked_ms")?,
        timed_runs: number("timed")?,
    };
    Ok((row.get("key")?, part))
}

fn read_unsigned(row: &DatabaseRow, column: &str) -> Result<Option<u64>, DriverError> {
    Ok(row.get::<Option<i64>>(column)?.map(|value| u64::try_from(value).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenMode;

    async fn query_plan(store: &Store, grouping: StatsGrouping) -> String {
        let SqlStatement { sql, values } = stats_statement(grouping, UnixMillis(0), 19);
        let statement = SqlStatement { sql: format!("EXPLAIN QUERY PLAN {sql}").into(), values };
        store.rows(statement, |row| row.get::<String>("detail")).await.unwrap().join("\n")
    }

    // spec: P9, F6
    #[tokio::test]
    async fn statistics_never_read_full_run_rows_or_facts() {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(temp.path(), OpenMode::Create).await.unwrap().unwrap();
        for grouping in [StatsGrouping::All, StatsGrouping::Role, StatsGrouping::Spec, StatsGrouping::Iteration] {
            let plan = query_plan(&store, grouping).await;
            assert!(plan.contains("runs USING COVERING INDEX runs_added_up"), "{grouping:?}: {plan}");
        }
        for grouping in [StatsGrouping::Agent, StatsGrouping::Model] {
            let plan = query_plan(&store, grouping).await;
            assert!(plan.contains("SCAN shares") && !plan.contains("runs"), "{grouping:?}: {plan}");
        }
        let tasks = query_plan(&store, StatsGrouping::Task).await;
        assert!(tasks.contains("runs USING INDEX runs_by_task (task=?"), "{tasks}");
        for grouping in [
            StatsGrouping::All,
            StatsGrouping::Spec,
            StatsGrouping::Task,
            StatsGrouping::Model,
            StatsGrouping::Iteration,
        ] {
            assert!(!query_plan(&store, grouping).await.contains("events"), "{grouping:?}");
        }
    }
}
