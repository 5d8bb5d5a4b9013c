//! Reads workflow runs, their nodes and their journal.
use crate::driver::statement::{SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::journal::checksum::verify_checksum;
use crate::journal::run_insert::fact_checksum;
use crate::{RunRow, Store, StoreError, WorkflowEventRow, WorkflowNodeRow, WorkflowRunRow};

impl Store {
    /// Returns the workflow run with this id.
    pub async fn workflow_run(&self, run: &str) -> Result<Option<WorkflowRunRow>, StoreError> {
        let statement = sql!("SELECT * FROM workflow_runs WHERE id = $1", SqlValue::verbatim(run));
        self.row(statement, WorkflowRunRow::from_row).await
    }

    /// Returns the newest workflow runs that no other workflow run has started, newest first.
    pub async fn recent_workflow_runs(&self, limit: u32) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE parent IS NULL ORDER BY started_at DESC, id DESC LIMIT $1";
        self.rows(sql!(sql, limit), WorkflowRunRow::from_row).await
    }

    /// Returns the workflow runs that have not ended, newest first.
    pub async fn unfinished_workflow_runs(&self) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE status IN ('running', 'waiting') AND parent IS NULL
             ORDER BY started_at DESC, id DESC";
        self.rows(sql!(sql), WorkflowRunRow::from_row).await
    }

    /// Returns up to five workflow runs whose id starts or ends with these characters.
    pub async fn find_workflow_runs_by_id_part(&self, id_part: &str) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE substr(id, 1, length($1)) = $1 OR substr(id, -length($1)) = $1
             ORDER BY started_at DESC LIMIT 5";
        self.rows(sql!(sql, SqlValue::verbatim(id_part)), WorkflowRunRow::from_row).await
    }

    /// Returns the workflow runs that a workflow run has started, oldest first.
    pub async fn child_workflow_runs(&self, parent: &str) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE parent = $1 ORDER BY started_at, id";
        self.rows(sql!(sql, SqlValue::verbatim(parent)), WorkflowRunRow::from_row).await
    }

    /// Returns the workflow runs that reuse the nodes of this one, oldest first.
    pub async fn reruns_of_workflow_run(&self, run: &str) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE rerun_of = $1 ORDER BY started_at, id";
        self.rows(sql!(sql, SqlValue::verbatim(run)), WorkflowRunRow::from_row).await
    }

    /// Returns the nodes of a workflow run that have been stored.
    pub async fn nodes_of_workflow_run(&self, run: &str) -> Result<Vec<WorkflowNodeRow>, StoreError> {
        let statement =
            sql!("SELECT * FROM workflow_nodes WHERE run = $1 ORDER BY started_at, rowid", SqlValue::verbatim(run));
        self.rows(statement, |row| WorkflowNodeRow::from_row(run, row)).await
    }

    /// Returns the runs that are passes of agents in a workflow run, oldest first.
    pub async fn passes_of_workflow_run(&self, run: &str) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!("SELECT {} FROM runs WHERE workflow = $1 ORDER BY started_at, id", RunRow::COLUMNS);
        self.rows(sql!(sql, SqlValue::verbatim(run)), RunRow::from_row).await
    }

    /// Returns at most `limit` events of a workflow run after number `after`. Fails if the journal has a gap.
    pub async fn workflow_events_after(
        &self,
        run: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<WorkflowEventRow>, StoreError> {
        let stored = self.workflow_run(run).await?.map_or(0, |row| row.event_count);
        let expected_end = stored.min(after.saturating_add(limit.into()));
        let sql = "SELECT seq, at, body, sum FROM workflow_events WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let statement = sql!(sql, SqlValue::verbatim(run), after, limit);
        let rows = self.rows(statement, |row| read_event(run, row)).await?;
        let gap = rows.iter().zip(after + 1..).find(|(row, expected)| row.seq != *expected);
        let end = rows.last().map_or(after, |row| row.seq);
        match gap.map(|(_, missing)| missing).or((end < expected_end).then_some(end + 1)) {
            None => Ok(rows),
            Some(missing) => {
                let message = format!("event {missing} of workflow run {run} is missing");
                Err(self.to_store_error(DriverError::unreadable_value(message)))
            }
        }
    }

    /// Deletes a workflow run with its nodes, its journal and its answers, all or nothing. Its passes stay.
    pub async fn delete_workflow_run(&self, run: &str) -> Result<(), StoreError> {
        let tables = ["workflow_events", "workflow_nodes", "workflow_answers"];
        let mut statements: Vec<_> = tables
            .iter()
            .map(|table| sql!(format!("DELETE FROM {table} WHERE run = $1"), SqlValue::verbatim(run)))
            .collect();
        statements.push(sql!("DELETE FROM workflow_runs WHERE id = $1", SqlValue::verbatim(run)));
        self.execute_all(statements).await
    }
}

fn read_event(run: &str, row: &DatabaseRow) -> Result<WorkflowEventRow, DriverError> {
    let event = WorkflowEventRow { seq: row.get("seq")?, at: row.get("at")?, body: row.get("body")? };
    let found = fact_checksum(run, event.seq, event.at, &event.body);
    verify_checksum(row.get("sum")?, found, "an event of a workflow run").map(|()| event)
}
