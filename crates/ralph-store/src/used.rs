//! What the runs of a task, or of a spec, have used together.
use ralph_core::attempt::Spend;
use ralph_core::budget::{Scope, Used};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row};

use super::{Store, StoreError};

/// A run that had an iteration and no cost has used something that nobody knows.
const SUMS: &str = "SELECT SUM(cost_micros) AS cost, SUM(input_tokens) AS input, SUM(output_tokens) AS output,
    COALESCE(SUM(worked_ms), 0) AS worked, COALESCE(SUM(iterations), 0) AS iterations, COALESCE(SUM(MAX(unpriced, iterations > 0 AND cost_micros IS NULL)), 0) AS unpriced";

const OF_TASK: &str = "FROM runs WHERE task = $1 AND id <> $2";
const OF_SPEC: &str = "FROM tasks JOIN runs ON runs.task = tasks.id WHERE tasks.spec = $1 AND runs.id <> $2";

impl Store {
    /// Returns what all runs but this one have used. What a worker has used only the worker knows.
    pub async fn used_beside(&self, run: &str, scope: &Scope) -> Result<Used, StoreError> {
        let (from, id) = match scope {
            Scope::Task(id) => (OF_TASK, id),
            Scope::Spec(id) => (OF_SPEC, id),
            Scope::Worker => return Ok(Used::default()),
        };
        let query =
            sqlx::query(AssertSqlSafe(format!("{SUMS} {from}"))).bind(id.clone()).bind(run.to_owned());
        Ok(self.rows(query, used).await?.pop().unwrap_or_default())
    }
}

fn used(row: &SqliteRow) -> Result<Used, sqlx::Error> {
    let known = |column: &str| -> Result<Option<u64>, sqlx::Error> {
        Ok(row.try_get::<Option<i64>, _>(column)?.map(|sum| u64::try_from(sum).unwrap_or(0)))
    };
    let spent =
        Spend { input_tokens: known("input")?, output_tokens: known("output")?, cost_micros: known("cost")? };
    let count = |column| -> Result<u32, sqlx::Error> {
        Ok(u32::try_from(known(column)?.unwrap_or(0)).unwrap_or(u32::MAX))
    };
    let worked_ms = known("worked")?.unwrap_or(0);
    Ok(Used { spent, worked_ms, unpriced: count("unpriced")?, iterations: count("iterations")? })
}
