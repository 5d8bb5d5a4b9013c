//! The usage of all runs of a task or a spec.
use ralph_core::attempt::ModelSpend;
use ralph_core::budget::{BudgetScope, BudgetUsage};

use crate::driver::statement::{SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::{Store, StoreError};

/// A run with iterations but without a cost counts as unpriced.
const USAGE_COLUMNS: &str = "SELECT SUM(cost_micros) AS cost, SUM(input_tokens) AS input, SUM(output_tokens) AS output,
    COALESCE(SUM(worked_ms), 0) AS worked, COALESCE(SUM(iterations), 0) AS iterations, COALESCE(SUM(MAX(unpriced, iterations > 0 AND cost_micros IS NULL)), 0) AS unpriced";

const FROM_RUNS_OF_TASK: &str = "FROM runs WHERE task = $1 AND id <> $2";
const FROM_RUNS_OF_SPEC: &str = "FROM tasks JOIN runs ON runs.task = tasks.id WHERE tasks.spec = $1 AND runs.id <> $2";

impl Store {
    /// Returns the usage of all runs in a scope except this one. For a worker it is empty, because the worker itself
    /// counts its usage.
    pub async fn usage_of_other_runs(&self, run: &str, scope: &BudgetScope) -> Result<BudgetUsage, StoreError> {
        let (from, id) = match scope {
            BudgetScope::Task(id) => (FROM_RUNS_OF_TASK, id),
            BudgetScope::Spec(id) => (FROM_RUNS_OF_SPEC, id),
            BudgetScope::Worker => return Ok(BudgetUsage::default()),
        };
        let sql = format!("{USAGE_COLUMNS} {from}");
        let statement = sql!(sql, SqlValue::verbatim(id), SqlValue::verbatim(run));
        Ok(self.row(statement, read_usage).await?.unwrap_or_default())
    }
}

fn read_usage(row: &DatabaseRow) -> Result<BudgetUsage, DriverError> {
    let read_sum = |column: &str| -> Result<Option<u64>, DriverError> {
        Ok(row.get::<Option<i64>>(column)?.map(|sum| u64::try_from(sum).unwrap_or(0)))
    };
    let spent = ModelSpend {
        input_tokens: read_sum("input")?,
        output_tokens: read_sum("output")?,
        cost_micros: read_sum("cost")?,
    };
    let read_count =
        |column| -> Result<u32, DriverError> { Ok(u32::try_from(read_sum(column)?.unwrap_or(0)).unwrap_or(u32::MAX)) };
    let worked_ms = read_sum("worked")?.unwrap_or(0);
    Ok(BudgetUsage { spent, worked_ms, unpriced: read_count("unpriced")?, iterations: read_count("iterations")? })
}
