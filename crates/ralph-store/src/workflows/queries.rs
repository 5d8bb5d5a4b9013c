//! Reads workflow runs, their nodes and their journal.
use crate::driver::statement::{SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::journal::checksum::verify_checksum;
use crate::journal::run_insert::fact_checksum;
use crate::queries::runs::{FIND_BY_ID_PART, find_gap};
use crate::workflows::workflow_rows::spec_checksum;
use crate::{RunRow, Store, StoreError, WorkflowEventRow, WorkflowNodeRow, WorkflowRunRow};

/// When a workflow run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowActivity {
    pub id: String,
    /// `None`: it runs, waits or can be resumed.
    pub ended_at: Option<i64>,
}

/// The ids of a workflow run, its children and theirs.
const DESCENDANTS: &str = "WITH RECURSIVE tree (id) AS (SELECT $1 UNION
    SELECT child.id FROM workflow_runs child JOIN tree ON child.parent = tree.id)";

impl Store {
    /// Returns the workflow run with this id.
    pub async fn workflow_run(&self, run: &str) -> Result<Option<WorkflowRunRow>, StoreError> {
        let statement = sql!("SELECT * FROM workflow_runs WHERE id = $1", SqlValue::verbatim(run));
        self.row(statement, WorkflowRunRow::from_row).await
    }

    /// Returns the resolved definition and the options of a workflow run, as JSON.
    pub async fn workflow_spec(&self, run: &str) -> Result<Option<String>, StoreError> {
        let read = |row: &DatabaseRow| {
            let spec: String = row.get("spec")?;
            verify_checksum(row.get("sum")?, spec_checksum(run, &spec), "the settings of a workflow run").map(|()| spec)
        };
        let statement = sql!("SELECT spec, sum FROM workflow_specs WHERE run = $1", SqlValue::verbatim(run));
        self.row(statement, read).await
    }

    /// Returns the newest workflow runs that no other workflow run has started, newest first.
    pub async fn recent_workflow_runs(&self, limit: u32) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE parent IS NULL ORDER BY started_at DESC, id DESC LIMIT $1";
        self.rows(sql!(sql, limit), WorkflowRunRow::from_row).await
    }

    /// Returns a page of the workflow runs that no other workflow run has started, newest first. `before` is the id of the
    /// last run of the page before.
    pub async fn page_of_workflow_runs(
        &self,
        before: Option<&str>,
        limit: u32,
    ) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let (started_at, id) = self.page_position("workflow_runs", before).await?;
        let sql =
            "SELECT * FROM workflow_runs WHERE parent IS NULL AND started_at <= $1 AND (started_at < $1 OR id < $2)
             ORDER BY started_at DESC, id DESC LIMIT $3";
        self.rows(sql!(sql, started_at, SqlValue::verbatim(&id), limit), WorkflowRunRow::from_row).await
    }

    /// Returns the workflow runs that have not ended, newest first.
    pub async fn unfinished_workflow_runs(&self) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE status IN ('running', 'waiting') AND parent IS NULL
             ORDER BY started_at DESC, id DESC";
        self.rows(sql!(sql), WorkflowRunRow::from_row).await
    }

    /// Returns the workflow runs without a parent that have not ended, interrupted ones too, newest first.
    pub async fn open_root_workflow_runs(&self) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE ended_at IS NULL AND parent IS NULL
             ORDER BY started_at DESC, id DESC";
        self.rows(sql!(sql), WorkflowRunRow::from_row).await
    }

    /// Returns up to five workflow runs whose id starts or ends with these characters.
    pub async fn find_workflow_runs_by_id_part(&self, id_part: &str) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = format!("SELECT * FROM workflow_runs {FIND_BY_ID_PART}");
        self.rows(sql!(sql, SqlValue::verbatim(id_part)), WorkflowRunRow::from_row).await
    }

    /// Returns the workflow runs that a workflow run has started, oldest first.
    pub async fn child_workflow_runs(&self, parent: &str) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE parent = $1 ORDER BY started_at, id";
        self.rows(sql!(sql, SqlValue::verbatim(parent)), WorkflowRunRow::from_row).await
    }

    /// Returns the newest workflow run that this node of a workflow run has started.
    pub async fn newest_child_workflow_run(
        &self,
        parent: &str,
        parent_node: &str,
    ) -> Result<Option<WorkflowRunRow>, StoreError> {
        let sql = "SELECT * FROM workflow_runs WHERE parent = $1 AND parent_node = $2
             ORDER BY started_at DESC, id DESC LIMIT 1";
        let statement = sql!(sql, SqlValue::verbatim(parent), SqlValue::verbatim(parent_node));
        self.row(statement, WorkflowRunRow::from_row).await
    }

    /// Returns the children of a workflow run and their children that have not ended, oldest first.
    pub async fn unfinished_descendants(&self, run: &str) -> Result<Vec<WorkflowRunRow>, StoreError> {
        let sql = format!(
            "{DESCENDANTS} SELECT * FROM workflow_runs WHERE ended_at IS NULL AND id IN (SELECT id FROM tree)
                AND id <> $1 ORDER BY started_at, id"
        );
        self.rows(sql!(sql, SqlValue::verbatim(run)), WorkflowRunRow::from_row).await
    }

    /// Returns the ids of a workflow run, of its children and of theirs, the run itself first.
    pub async fn workflow_tree(&self, run: &str) -> Result<Vec<String>, StoreError> {
        let sql = format!(
            "{DESCENDANTS} SELECT id FROM workflow_runs WHERE id IN (SELECT id FROM tree) ORDER BY id <> $1, started_at"
        );
        self.rows(sql!(sql, SqlValue::verbatim(run)), |row| row.get("id")).await
    }

    /// Returns when each workflow run without a parent has ended, newest first.
    pub async fn list_workflow_activity(&self) -> Result<Vec<WorkflowActivity>, StoreError> {
        let sql = "SELECT id, ended_at FROM workflow_runs WHERE parent IS NULL ORDER BY started_at DESC, id DESC";
        let read = |row: &DatabaseRow| Ok(WorkflowActivity { id: row.get("id")?, ended_at: row.get("ended_at")? });
        self.rows(sql!(sql), read).await
    }

    /// Returns the ids of all workflow runs that have not ended, children too.
    pub async fn open_workflow_runs(&self) -> Result<Vec<String>, StoreError> {
        self.rows(sql!("SELECT id FROM workflow_runs WHERE ended_at IS NULL"), |row| row.get("id")).await
    }

    /// Returns the runs of agents in a workflow run and in all its children, oldest first.
    pub async fn passes_of_workflow_tree(&self, run: &str) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!(
            "{DESCENDANTS} SELECT {} FROM runs WHERE workflow IN (SELECT id FROM tree) ORDER BY started_at, id",
            RunRow::COLUMNS
        );
        self.rows(sql!(sql, SqlValue::verbatim(run)), RunRow::from_row).await
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
        let numbers = rows.iter().map(|row| row.seq);
        match find_gap(numbers, after, expected_end) {
            None => Ok(rows),
            Some(missing) => {
                let message = format!("event {missing} of workflow run {run} is missing");
                Err(self.to_store_error(DriverError::unreadable_value(message)))
            }
        }
    }

    /// Deletes a workflow run with its nodes, its journal and its answers, all or nothing. Its passes stay.
    pub async fn delete_workflow_run(&self, run: &str) -> Result<(), StoreError> {
        let tables = ["workflow_events", "workflow_nodes", "workflow_answers", "workflow_specs"];
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
