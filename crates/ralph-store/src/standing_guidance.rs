//! Guidance that is part of every prompt of a run, or of all runs of a task, until it is cleared.
use ralph_core::event::UnixMillis;

use crate::driver::DatabaseRow;
use crate::driver::statement::{SqlValue, sql};
use crate::{CommandTarget, Store, StoreError};

impl Store {
    /// Adds guidance for a run, or for all runs of a task.
    pub async fn add_standing_guidance(
        &self,
        target: CommandTarget<'_>,
        words: &str,
        at: UnixMillis,
    ) -> Result<(), StoreError> {
        let id = uuid::Uuid::now_v7().to_string();
        let TargetColumns { run, task } = target.into();
        let statement = sql!(
            "INSERT INTO guidance (id, run, task, words, at) VALUES ($1, $2, $3, $4, $5)",
            SqlValue::verbatim(&id),
            run,
            task,
            words,
            at.0
        );
        self.execute(statement).await.map(drop)
    }

    /// Returns the guidance for a run, and for the task that it is a stage of, oldest first.
    pub async fn standing_guidance(&self, run: Option<&str>, task: Option<&str>) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT words FROM guidance WHERE (run IS NOT NULL AND run = $1)
            OR (task IS NOT NULL AND task = $2) ORDER BY at, id";
        let statement = sql!(sql, run.map(SqlValue::verbatim), task.map(SqlValue::verbatim));
        self.rows(statement, |row: &DatabaseRow| row.get("words")).await
    }

    /// Deletes the guidance of a run or of a task. Returns how many entries there were.
    pub async fn clear_standing_guidance(&self, target: CommandTarget<'_>) -> Result<u64, StoreError> {
        let TargetColumns { run, task } = target.into();
        let sql = "DELETE FROM guidance WHERE (run IS NOT NULL AND run = $1) OR (task IS NOT NULL AND task = $2)";
        self.execute(sql!(sql, run, task)).await
    }
}

/// The columns that name a target; one of them is set.
struct TargetColumns {
    run: Option<SqlValue>,
    task: Option<SqlValue>,
}

impl From<CommandTarget<'_>> for TargetColumns {
    fn from(target: CommandTarget<'_>) -> Self {
        match target {
            CommandTarget::Run(run) => Self { run: Some(SqlValue::verbatim(run)), task: None },
            CommandTarget::Task(task) => Self { run: None, task: Some(SqlValue::verbatim(task)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenMode;

    // finding: N56
    #[tokio::test]
    async fn guidance_of_a_task_is_that_of_all_its_runs_and_stays_until_it_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), OpenMode::Create).await.unwrap().unwrap();
        let add =
            async |target, words: &str, at| store.add_standing_guidance(target, words, UnixMillis(at)).await.unwrap();
        add(CommandTarget::Task("T-1"), "use tabs", 1).await;
        add(CommandTarget::Run("r1"), "look in src", 2).await;
        let read = async |run, task| store.standing_guidance(Some(run), task).await.unwrap();
        assert_eq!(read("r1", Some("T-1")).await, ["use tabs", "look in src"]);
        assert_eq!(read("r2", Some("T-1")).await, ["use tabs"]);
        assert_eq!(read("r2", None).await, [""; 0]);
        assert_eq!(store.clear_standing_guidance(CommandTarget::Task("T-1")).await.unwrap(), 1);
        assert_eq!(read("r1", Some("T-1")).await, ["look in src"]);
    }
}
