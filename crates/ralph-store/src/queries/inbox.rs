//! Rows that may wait for a person: tasks, their dependants, and runs that ended without success. Reads no journal.
use crate::control_commands::read_loop_row;
use crate::driver::DatabaseRow;
use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::{LoopRow, RunRow, Store, StoreError};

/// At most this many ended runs without a task are returned, the newest first.
const MAX_ENDED_RUNS: u32 = 1_000;

/// A task that is blocked, or whose checks are not approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingTaskRow {
    pub id: String,
    pub title: String,
    pub is_blocked: bool,
    pub updated_at: i64,
    /// Its newest run.
    pub run: Option<String>,
}

/// A task that has not ended, and a task that must be done before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDependencyRow {
    pub task: String,
    pub depends_on: String,
}

/// A task that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneTaskRow {
    pub id: String,
    pub title: String,
    pub updated_at: i64,
}

impl Store {
    /// Returns the tasks that are blocked or whose checks are not approved, oldest first.
    pub async fn tasks_waiting_for_person(&self) -> Result<Vec<WaitingTaskRow>, StoreError> {
        let sql = "SELECT id, title, status = 'blocked' AS blocked, updated_at,
                (SELECT id FROM runs WHERE task = t.id AND task IS NOT NULL ORDER BY started_at DESC, id DESC LIMIT 1) AS run
            FROM tasks t WHERE status = 'blocked'
                OR (unapproved = 1 AND status IN ('todo', 'coding', 'reviewing', 'testing', 'qa'))
            ORDER BY seq";
        let read = |row: &DatabaseRow| {
            Ok(WaitingTaskRow {
                id: row.get("id")?,
                title: row.get("title")?,
                is_blocked: row.get::<i64>("blocked")? != 0,
                updated_at: row.get("updated_at")?,
                run: row.get("run")?,
            })
        };
        self.rows(sql!(sql), read).await
    }

    /// Returns the dependencies of the tasks that have not ended.
    pub async fn open_task_dependencies(&self) -> Result<Vec<TaskDependencyRow>, StoreError> {
        let sql = "SELECT t.id AS task, d.value AS depends_on FROM tasks t, json_each(t.dependencies) d
            WHERE t.status NOT IN ('done', 'cancelled') AND t.dependencies IS NOT NULL";
        let read =
            |row: &DatabaseRow| Ok(TaskDependencyRow { task: row.get("task")?, depends_on: row.get("depends_on")? });
        self.rows(sql!(sql), read).await
    }

    /// Returns those of these tasks that are done.
    pub async fn done_tasks(&self, ids: &[String]) -> Result<Vec<DoneTaskRow>, StoreError> {
        let sql = "SELECT id, title, updated_at FROM tasks WHERE status = 'done'
                AND id IN (SELECT value FROM json_each($1)) ORDER BY seq";
        let read = |row: &DatabaseRow| {
            Ok(DoneTaskRow { id: row.get("id")?, title: row.get("title")?, updated_at: row.get("updated_at")? })
        };
        self.rows(sql!(sql, SqlValue::verbatim(&self.to_json(&ids)?)), read).await
    }

    /// Returns these runs with their loops, oldest first.
    pub async fn loops_of_runs(&self, runs: &[String]) -> Result<Vec<LoopRow>, StoreError> {
        let sql = format!(
            "SELECT {}, loop, owner FROM runs WHERE id IN (SELECT value FROM json_each($1)) ORDER BY started_at, id",
            RunRow::COLUMNS
        );
        self.rows(sql!(sql, SqlValue::verbatim(&self.to_json(&runs)?)), read_loop_row).await
    }

    /// Returns the completed runs whose ids end with one of these short ids.
    pub async fn completed_runs_with_short_ids(&self, short_ids: &[String]) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!(
            "SELECT {} FROM runs WHERE status = 'completed' AND substr(id, -8) IN (SELECT value FROM json_each($1))",
            RunRow::COLUMNS
        );
        self.rows(sql!(sql, SqlValue::verbatim(&self.to_json(&short_ids)?)), RunRow::from_row).await
    }

    /// Returns the runs without a task and outside of workflows that ended without success, newest first.
    pub async fn unsuccessful_runs_without_task(&self) -> Result<Vec<LoopRow>, StoreError> {
        self.rows(unsuccessful_runs_statement(), read_loop_row).await
    }
}

/// The inner query reads only an index: most runs are stages or completed.
fn unsuccessful_runs_statement() -> SqlStatement {
    let sql = format!(
        "SELECT {}, loop, owner FROM runs WHERE workflow IS NULL AND rowid IN
            (SELECT rowid FROM runs WHERE task IS NULL
                AND status IN ('blocked', 'stalled', 'exhausted', 'failed', 'over_budget'))
        ORDER BY started_at DESC, id DESC LIMIT $1",
        RunRow::COLUMNS
    );
    sql!(sql, MAX_ENDED_RUNS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenMode;
    use crate::driver::DriverError;

    async fn query_plan(store: &Store, statement: SqlStatement) -> String {
        let SqlStatement { sql, values } = statement;
        let statement = SqlStatement { sql: format!("EXPLAIN QUERY PLAN {sql}").into(), values };
        let read = |row: &DatabaseRow| -> Result<String, DriverError> { row.get("detail") };
        store.rows(statement, read).await.unwrap().join("\n")
    }

    // spec: U10
    #[tokio::test]
    async fn the_inbox_reads_full_rows_only_of_runs_that_may_wait() {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(temp.path(), OpenMode::Create).await.unwrap().unwrap();
        let plan = query_plan(&store, unsuccessful_runs_statement()).await;
        assert!(plan.contains("SCAN runs USING COVERING INDEX runs_added_up"), "{plan}");
        assert!(plan.contains("SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)"), "{plan}");
    }
}
