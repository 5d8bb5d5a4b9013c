//! What people ask of a run, or of the work on a task, from another process. Whoever drives it takes each order once, in
//! the transaction that does what it asks for.
use ralph_core::control_command::ControlCommand;
use ralph_core::event::UnixMillis;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::statement_batch::{SqlStatement, sql};
use super::{RunRow, Store, StoreError};
use ralph_util::redact;

/// Who shall do what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTarget<'a> {
    /// Whoever drives this run.
    Run(&'a str),
    /// Whoever works on this task, in whichever stage.
    Task(&'a str),
}

/// An order that nobody has taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCommand {
    pub id: String,
    pub command: ControlCommand,
}

pub struct NewCommand<'a> {
    pub id: &'a str,
    pub target: CommandTarget<'a>,
    pub command: &'a ControlCommand,
    pub at: UnixMillis,
}

/// What came of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandAnswer {
    /// It changed something.
    Applied,
    /// What it asked for was so already, or could not be any more.
    NoEffect,
}

impl CommandAnswer {
    fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "heeded",
            Self::NoEffect => "moot",
        }
    }
}

/// What people said to a stage that has ended before any prompt told it.
#[derive(Debug, Clone, Copy)]
pub struct GuidanceForNextStage<'a> {
    pub task: &'a str,
    pub guidance: &'a [String],
}

impl GuidanceForNextStage<'_> {
    /// Returns the statements by which the next stage is told.
    pub(super) fn insert_commands(&self, at: UnixMillis) -> Vec<SqlStatement> {
        let order = |words: &String| {
            let order = ControlCommand::Guide { words: words.clone() };
            let id = uuid::Uuid::now_v7().to_string();
            sql!(
                "INSERT INTO orders (id, task, kind, body, at) VALUES (?, ?, ?, ?, ?)",
                id.as_str(),
                self.task,
                command_kind(&order),
                serde_json::to_string(&order).unwrap_or_default().as_str(),
                at.0
            )
        };
        self.guidance.iter().map(order).collect()
    }
}

/// What a person makes of a task that nobody works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSettlement {
    Cancelled,
    /// With its first stage, and all of its attempts.
    ResetToReady,
}

/// A run that is recorded as going on, with what `status` tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopRow {
    pub run: RunRow,
    /// Its loop, as JSON.
    pub loop_json: String,
    /// Who drives it, as JSON.
    pub owner_json: Option<String>,
}

impl Store {
    /// Leaves an order. Tells whether it did: a run that has ended gets none.
    pub async fn enqueue_command(&self, new: NewCommand<'_>) -> Result<bool, StoreError> {
        let NewCommand { id, target: to, command: order, at } = new;
        let (run, task) = match to {
            CommandTarget::Run(run) => (Some(run.to_owned()), None),
            CommandTarget::Task(task) => (None, Some(task.to_owned())),
        };
        let body = redact::redact_text(&self.to_json(order)?).into_owned();
        let sql = "INSERT INTO orders (id, run, task, kind, body, at) SELECT $1, $2, $3, $4, $5, $6
            WHERE $2 IS NULL OR EXISTS
                (SELECT 1 FROM runs WHERE id = $2 AND status IN ('running', 'interrupted'))";
        let query = sqlx::query(sql).bind(id.to_owned()).bind(run).bind(task);
        let query = query.bind(command_kind(order)).bind(body).bind(at.0);
        let mut connection = self.connection.lock().await;
        let done = query.execute(&mut *connection).await.map_err(|source| self.to_store_error(source))?;
        Ok(done.rows_affected() > 0)
    }

    /// Takes an order back that nobody has taken. Tells whether it did.
    pub async fn withdraw_command(&self, id: &str) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM orders WHERE id = $1 AND taken_at IS NULL").bind(id.to_owned());
        let mut connection = self.connection.lock().await;
        let done = query.execute(&mut *connection).await.map_err(|source| self.to_store_error(source))?;
        Ok(done.rows_affected() > 0)
    }

    /// Returns the orders for a run, and for the task whose stage it is, the oldest first.
    pub async fn pending_commands(&self, run: &str, task: Option<&str>) -> Result<Vec<PendingCommand>, StoreError> {
        let sql = "SELECT id, body FROM orders WHERE taken_at IS NULL
            AND (run = $1 OR (run IS NULL AND task IS NOT NULL AND task = $2)) ORDER BY at, id";
        let query = sqlx::query(sql).bind(run.to_owned()).bind(task.map(str::to_owned));
        let read = |row: &SqliteRow| Ok((row.try_get("id")?, row.try_get("body")?));
        let found: Vec<(String, String)> = self.fetch_rows(query, read).await?;
        // What only a newer ralph knows is left for it.
        let known = |(id, body): (String, String)| {
            serde_json::from_str(&body).ok().map(|order| PendingCommand { id, command: order })
        };
        Ok(found.into_iter().filter_map(known).collect())
    }

    /// Returns the runs and the tasks for which orders wait: `(run, task)`, one of them.
    pub async fn pending_command_targets(&self) -> Result<Vec<(Option<String>, Option<String>)>, StoreError> {
        let sql = "SELECT DISTINCT run, task FROM orders WHERE taken_at IS NULL";
        self.fetch_rows(sqlx::query(sql), |row| Ok((row.try_get("run")?, row.try_get("task")?))).await
    }

    /// Takes the orders that a task be cancelled: it is.
    pub async fn mark_cancel_applied(&self, task: &str, at: UnixMillis) -> Result<(), StoreError> {
        let sql = "UPDATE orders SET taken_at = $1, answer = $2 WHERE task = $3 AND kind = $4 AND taken_at IS NULL";
        let query = sqlx::query(sql).bind(at.0).bind(CommandAnswer::Applied.as_str());
        let query = query.bind(task.to_owned()).bind(command_kind(&ControlCommand::Cancel));
        self.write_outside_run(query, |_| Ok(())).await.map(drop)
    }

    /// Returns what came of an order; `None`: nobody has taken it.
    pub async fn command_answer(&self, id: &str) -> Result<Option<CommandAnswer>, StoreError> {
        let query = sqlx::query("SELECT answer FROM orders WHERE id = $1").bind(id.to_owned());
        let answer: Option<String> = self.fetch_rows(query, |row| row.try_get(0)).await?.pop().flatten();
        let all = [CommandAnswer::Applied, CommandAnswer::NoEffect];
        Ok(all.into_iter().find(|known| answer.as_deref() == Some(known.as_str())))
    }

    /// Returns who works on a task, as JSON, and the fence that he has; `None`: there is no such task.
    pub async fn task_owner_and_fence(&self, id: &str) -> Result<Option<(Option<String>, i64)>, StoreError> {
        let query = sqlx::query("SELECT owner, fence FROM tasks WHERE id = $1").bind(id.to_owned());
        let read = |row: &SqliteRow| Ok((row.try_get("owner")?, row.try_get("fence")?));
        Ok(self.fetch_rows(query, read).await?.pop())
    }

    /// Gives a task another status, and takes it from whoever worked on it. Tells whether it did: not where somebody has
    /// taken the task since its fence was read. What was asked of it before is forgotten, but for guidance.
    pub async fn settle_task(
        &self,
        (id, fence): (&str, i64),
        settlement: TaskSettlement,
        at: UnixMillis,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE tasks SET status = $1, pipeline = CASE WHEN $2 THEN NULL ELSE pipeline END, owner = NULL,
                lease_until = NULL, fence = fence + 1, updated_at = $3 WHERE id = $4 AND fence = $5 RETURNING id";
        let (status, is_anew) = match settlement {
            TaskSettlement::Cancelled => ("cancelled", false),
            TaskSettlement::ResetToReady => ("todo", true),
        };
        let query = sqlx::query(sql).bind(status).bind(is_anew).bind(at.0);
        let query = query.bind(id.to_owned()).bind(fence);
        let is_settled = !self.fetch_rows(query, |row| row.try_get::<String, _>(0)).await?.is_empty();
        if is_settled {
            let stale = "DELETE FROM orders WHERE task = $1 AND taken_at IS NULL AND kind <> 'guide'";
            self.fetch_rows(sqlx::query(stale).bind(id.to_owned()), |_| Ok(())).await?;
        }
        Ok(is_settled)
    }

    /// Returns the runs that are recorded as going on, the oldest first.
    pub async fn running_loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        let sql = format!(
            "SELECT {}, loop, owner FROM runs WHERE status = 'running' ORDER BY started_at, id",
            RunRow::COLUMNS
        );
        self.fetch_rows(sqlx::query(sqlx::AssertSqlSafe(sql)), read_loop_row).await
    }

    /// Returns one run in the same way, however it is recorded.
    pub async fn loop_of_run(&self, run: &str) -> Result<Option<LoopRow>, StoreError> {
        let sql = format!("SELECT {}, loop, owner FROM runs WHERE id = $1", RunRow::COLUMNS);
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(run.to_owned());
        Ok(self.fetch_rows(query, read_loop_row).await?.pop())
    }
}

fn read_loop_row(row: &SqliteRow) -> Result<LoopRow, sqlx::Error> {
    Ok(LoopRow { run: RunRow::from_row(row)?, loop_json: row.try_get("loop")?, owner_json: row.try_get("owner")? })
}

/// Returns the statement by which an order is taken, with its answer.
pub(super) fn mark_command_taken((id, answer): (&str, CommandAnswer), at: UnixMillis) -> SqlStatement {
    sql!("UPDATE orders SET taken_at = ?, answer = ? WHERE id = ? AND taken_at IS NULL", at.0, answer.as_str(), id)
}

fn command_kind(command: &ControlCommand) -> &'static str {
    match command {
        ControlCommand::Cancel => "cancel",
        ControlCommand::Pause { .. } => "pause",
        ControlCommand::Resume => "resume",
        ControlCommand::Guide { .. } => "guide",
    }
}
