//! Changes since an earlier query, for readers that show live data. Cheap if nothing has changed.
use crate::driver::statement::sql;
use crate::driver::{DatabaseRow, DriverError};
use crate::{Store, StoreError};

/// A position in the changes of a database, for one open store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangePosition {
    /// Changes with every commit of another connection.
    data_version: i64,
    last_event: i64,
    last_workflow_event: i64,
    last_run: i64,
    task_count: i64,
    tasks_changed_at: i64,
}

/// The changes between two positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredChanges {
    /// The runs that have new facts.
    pub runs: Vec<String>,
    /// The workflow runs that have new events.
    pub workflow_runs: Vec<String>,
    /// The tasks that were changed, or the tasks of the runs that have new facts.
    pub tasks: Vec<String>,
    /// Whether what waits for a person may have changed.
    pub may_change_inbox: bool,
}

impl StoredChanges {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A run that has new facts.
struct ChangedRunRow {
    run: String,
    may_change_inbox: bool,
    task: Option<String>,
    /// The workflow run that it is a pass of.
    workflow: Option<String>,
}

impl ChangedRunRow {
    fn from_row(row: &DatabaseRow) -> Result<Self, DriverError> {
        Ok(Self {
            run: row.get("run")?,
            may_change_inbox: row.get::<i64>("for_inbox")? != 0,
            task: row.get("task")?,
            workflow: row.get("workflow")?,
        })
    }
}

/// The facts that only report progress inside an iteration.
const PROGRESS_KINDS: &str = "('iteration.started', 'attempt.started', 'attempt.ended', 'iteration.ended', 'claim')";

impl Store {
    /// Returns the position now.
    pub async fn change_position(&self) -> Result<ChangePosition, StoreError> {
        let data_version = self.data_version().await?;
        let sql = "SELECT
            (SELECT COALESCE(MAX(rowid), 0) FROM events) AS last_event,
            (SELECT COALESCE(MAX(rowid), 0) FROM workflow_events) AS last_workflow_event,
            (SELECT COALESCE(MAX(rowid), 0) FROM runs) AS last_run,
            (SELECT COUNT(*) FROM tasks) AS task_count,
            (SELECT COALESCE(MAX(updated_at), 0) FROM tasks) AS tasks_changed_at";
        let position = self.row(sql!(sql), |row| {
            Ok(ChangePosition {
                data_version,
                last_event: row.get("last_event")?,
                last_workflow_event: row.get("last_workflow_event")?,
                last_run: row.get("last_run")?,
                task_count: row.get("task_count")?,
                tasks_changed_at: row.get("tasks_changed_at")?,
            })
        });
        Ok(position.await?.unwrap_or_default())
    }

    async fn data_version(&self) -> Result<i64, StoreError> {
        let version = self.row(sql!("PRAGMA data_version"), |row| row.get("data_version")).await?;
        Ok(version.unwrap_or_default())
    }

    /// Returns what has changed since a position of this store, and moves the position.
    pub async fn changes_since(&self, position: &mut ChangePosition) -> Result<StoredChanges, StoreError> {
        if self.data_version().await? == position.data_version {
            return Ok(StoredChanges::default());
        }
        let before = position.clone();
        let now = self.change_position().await?;
        let mut changes = StoredChanges::default();
        let sql = format!(
            "SELECT events.run, MAX(events.kind NOT IN {PROGRESS_KINDS}) AS for_inbox, runs.task AS task, runs.workflow AS workflow
             FROM events JOIN runs ON runs.id = events.run WHERE events.rowid > $1 GROUP BY events.run"
        );
        for row in self.rows(sql!(sql, before.last_event), ChangedRunRow::from_row).await? {
            changes.may_change_inbox |= row.may_change_inbox;
            changes.runs.push(row.run);
            changes.tasks.extend(row.task);
            changes.workflow_runs.extend(row.workflow);
        }
        let sql = "SELECT DISTINCT run FROM workflow_events WHERE rowid > $1";
        let workflow_runs = self.rows(sql!(sql, before.last_workflow_event), |row| row.get("run")).await?;
        changes.workflow_runs.extend::<Vec<String>>(workflow_runs);
        let sql = "SELECT id FROM tasks WHERE updated_at > $1";
        let has_task_change = now.tasks_changed_at != before.tasks_changed_at;
        if has_task_change {
            changes
                .tasks
                .extend::<Vec<String>>(self.rows(sql!(sql, before.tasks_changed_at), |row| row.get("id")).await?);
        }
        // A deleted run or task has no id any more.
        let has_deletion = now.task_count < before.task_count || now.last_run < before.last_run;
        changes.may_change_inbox |= has_task_change || has_deletion || !changes.workflow_runs.is_empty();
        for ids in [&mut changes.workflow_runs, &mut changes.tasks] {
            ids.sort_unstable();
            ids.dedup();
        }
        // After an error, the next call reads the same changes again.
        *position = now;
        Ok(changes)
    }
}
