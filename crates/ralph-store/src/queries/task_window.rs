//! The tasks that a board shows first, and how many there are of each status. Reads no journal.
use ralph_core::event::UnixMillis;
use ralph_core::task::TaskStatus;

use crate::driver::statement::{SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::tasks::task_rows::{TASK_LIST_SQL, TaskListItem, parse_task_list, read_status};
use crate::{Store, StoreError};

/// How many tasks of each lane are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskWindow {
    /// Of the tasks to do, those that are ready first.
    pub to_do: u32,
    /// Of the tasks that have ended, the newest first.
    pub ended: u32,
}

/// How many tasks have a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskStatusCount {
    pub status: TaskStatus,
    pub tasks: usize,
}

impl Store {
    /// Returns the tasks in progress, and the first ones of those to do and of those that have ended. They are ordered as
    /// [`Self::list_tasks`] orders them.
    pub async fn window_of_tasks(&self, window: TaskWindow) -> Result<Vec<TaskListItem>, StoreError> {
        let sql = format!(
            "{TASK_LIST_SQL} WHERE t.id IN (
                SELECT id FROM tasks WHERE status IN ('coding', 'reviewing', 'testing', 'qa')
                UNION ALL SELECT task FROM runs WHERE status = 'running'
                UNION ALL SELECT id FROM (SELECT id FROM tasks WHERE status IN ('done', 'blocked', 'cancelled')
                    ORDER BY updated_at DESC LIMIT $1)
                UNION ALL SELECT id FROM (SELECT w.id FROM tasks w WHERE w.status = 'todo'
                    ORDER BY EXISTS (SELECT 1 FROM json_each(COALESCE(w.dependencies, '[]')) d
                            LEFT JOIN tasks o ON o.id = d.value WHERE o.status IS NOT 'done'),
                        COALESCE(w.priority, 3), w.seq LIMIT $2))"
        );
        Ok(self.row(sql!(sql, window.ended, window.to_do), parse_task_list).await?.unwrap_or_default())
    }

    /// Returns those of these tasks that exist, as list items.
    pub async fn list_tasks_among(&self, ids: &[String]) -> Result<Vec<TaskListItem>, StoreError> {
        let sql = format!("{TASK_LIST_SQL} WHERE t.id IN (SELECT value FROM json_each($1))");
        let ids = self.to_json(&ids)?;
        Ok(self.row(sql!(sql, SqlValue::verbatim(&ids)), parse_task_list).await?.unwrap_or_default())
    }

    /// Returns how many tasks have each status.
    pub async fn count_tasks_by_status(&self) -> Result<Vec<TaskStatusCount>, StoreError> {
        let read = |row: &DatabaseRow| -> Result<TaskStatusCount, DriverError> {
            let tasks = usize::try_from(row.get::<i64>("tasks")?).unwrap_or_default();
            Ok(TaskStatusCount { status: read_status(row)?, tasks })
        };
        self.rows(sql!("SELECT status, COUNT(*) AS tasks FROM tasks GROUP BY status"), read).await
    }

    /// Returns the known cost of all runs that started since then, with those of workflow nodes; `None` if none is known.
    pub async fn known_cost_since(&self, since: UnixMillis) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT SUM(cost_micros) AS micros FROM runs WHERE started_at >= $1";
        Ok(self.row(sql!(sql, since.0), |row| row.get::<Option<i64>>("micros")).await?.flatten())
    }
}
