//! Commands from other processes to a run or to the worker of a task. The engine that drives the run takes each command
//! once, in the transaction that applies it.
use ralph_core::control_command::{ControlCommand, PauseTiming};
use ralph_core::event::UnixMillis;
use ralph_core::pipeline::TaskProgress;

use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::store::FencedWrite;
use crate::{RunRow, Store, StoreError};

const PAUSE_KIND: &str = "pause";
const GUIDE_KIND: &str = "guide";

/// The receiver of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTarget<'a> {
    /// The engine that drives this run.
    Run(&'a str),
    /// The worker of this task, in any stage.
    Task(&'a str),
}

/// A command that was not taken yet.
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

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandAnswer {
    Applied,
    /// The requested state was already reached, or was no longer possible.
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

/// Commands that a stage took and did not carry out before it ended.
#[derive(Debug, Clone, Copy)]
pub struct CommandsForNextStage<'a> {
    pub task: &'a str,
    /// Guidance that no prompt contained.
    pub guidance: &'a [String],
    /// Whether the next stage starts paused.
    pub pauses: bool,
}

impl CommandsForNextStage<'_> {
    /// Returns the statements that queue the commands for the next stage of the task.
    pub(crate) fn insert_commands(&self, at: UnixMillis) -> Vec<SqlStatement> {
        let guidance = self.guidance.iter().map(|words| ControlCommand::Guide { words: words.clone() });
        let pause = self.pauses.then_some(ControlCommand::Pause { when: PauseTiming::Idle });
        let insert = |command: ControlCommand| {
            let id = uuid::Uuid::now_v7().to_string();
            sql!(
                "INSERT INTO orders (id, task, kind, body, at) VALUES ($1, $2, $3, $4, $5)",
                id.as_str(),
                self.task,
                command_kind(&command),
                serde_json::to_string(&command).unwrap_or_default().as_str(),
                at.0
            )
        };
        guidance.chain(pause).map(insert).collect()
    }
}

/// A manual status change of a task without a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSettlement {
    Cancelled,
    /// Starts again at the first stage, with all of its attempts. A rejection that was not answered stays.
    ResetToReady,
}

/// A run with its loop and its owner, as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopRow {
    pub run: RunRow,
    pub loop_json: String,
    pub owner_json: Option<String>,
}

/// The owner of a task, and its fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOwnership {
    /// `None` if no worker holds the task.
    pub owner_json: Option<String>,
    pub fence: i64,
}

impl Store {
    /// Queues a command. Returns whether it was queued; commands to a run that has ended are not.
    pub async fn enqueue_command(&self, new: NewCommand<'_>) -> Result<bool, StoreError> {
        let NewCommand { id, target, command, at } = new;
        let (run, task) = match target {
            CommandTarget::Run(run) => (Some(SqlValue::verbatim(run)), None),
            CommandTarget::Task(task) => (None, Some(SqlValue::verbatim(task))),
        };
        let statement = sql!(
            "INSERT INTO orders (id, run, task, kind, body, at) SELECT $1, $2, $3, $4, $5, $6
             WHERE $2 IS NULL OR EXISTS
                (SELECT 1 FROM runs WHERE id = $2 AND status IN ('running', 'interrupted'))",
            SqlValue::verbatim(id),
            run,
            task,
            command_kind(command),
            self.to_json(command)?.as_str(),
            at.0
        );
        Ok(self.execute(statement).await? > 0)
    }

    /// Withdraws a command that was not taken yet. Returns whether it was withdrawn.
    pub async fn withdraw_command(&self, id: &str) -> Result<bool, StoreError> {
        let statement = sql!("DELETE FROM orders WHERE id = $1 AND taken_at IS NULL", SqlValue::verbatim(id));
        Ok(self.execute(statement).await? > 0)
    }

    /// Returns the pending commands for a run, and for the task whose stage it is, oldest first.
    pub async fn pending_commands(&self, run: &str, task: Option<&str>) -> Result<Vec<PendingCommand>, StoreError> {
        let sql = "SELECT id, body FROM orders WHERE taken_at IS NULL
            AND (run = $1 OR (run IS NULL AND task IS NOT NULL AND task = $2)) ORDER BY at, id";
        let statement = sql!(sql, SqlValue::verbatim(run), task.map(SqlValue::verbatim));
        let read = |row: &DatabaseRow| Ok((row.get("id")?, row.get("body")?));
        let found: Vec<(String, String)> = self.rows(statement, read).await?;
        // Skip commands that only a newer ralph knows; they stay pending for it.
        let known = |(id, body): (String, String)| {
            serde_json::from_str(&body).ok().map(|command| PendingCommand { id, command })
        };
        Ok(found.into_iter().filter_map(known).collect())
    }

    /// Returns the targets of pending commands as `(run, task)`; one of the two is set.
    pub async fn pending_command_targets(&self) -> Result<Vec<(Option<String>, Option<String>)>, StoreError> {
        let sql = "SELECT DISTINCT run, task FROM orders WHERE taken_at IS NULL";
        self.rows(sql!(sql), |row| Ok((row.get("run")?, row.get("task")?))).await
    }

    /// Marks the pending cancel commands of a task as applied.
    pub async fn mark_cancel_applied(&self, task: &str, at: UnixMillis) -> Result<(), StoreError> {
        let statement = sql!(
            "UPDATE orders SET taken_at = $1, answer = $2 WHERE task = $3 AND kind = $4 AND taken_at IS NULL",
            at.0,
            CommandAnswer::Applied.as_str(),
            SqlValue::verbatim(task),
            command_kind(&ControlCommand::Cancel)
        );
        self.execute(statement).await.map(drop)
    }

    /// Marks the pending commands of a task that has ended as having no effect, except guidance.
    pub async fn expire_task_commands(&self, task: &str, at: UnixMillis) -> Result<(), StoreError> {
        let statement = sql!(
            "UPDATE orders SET taken_at = $1, answer = $2 WHERE task = $3 AND kind <> $4 AND taken_at IS NULL",
            at.0,
            CommandAnswer::NoEffect.as_str(),
            SqlValue::verbatim(task),
            GUIDE_KIND
        );
        self.execute(statement).await.map(drop)
    }

    /// Withdraws the pauses of a task that no run has taken yet. Returns whether there were any.
    pub async fn withdraw_pauses(&self, task: &str) -> Result<bool, StoreError> {
        let statement = sql!(
            "DELETE FROM orders WHERE task = $1 AND kind = $2 AND taken_at IS NULL",
            SqlValue::verbatim(task),
            PAUSE_KIND
        );
        Ok(self.execute(statement).await? > 0)
    }

    /// Returns the result of a command, or `None` if it was not taken yet.
    pub async fn command_answer(&self, id: &str) -> Result<Option<CommandAnswer>, StoreError> {
        let statement = sql!("SELECT answer FROM orders WHERE id = $1", SqlValue::verbatim(id));
        let answer: Option<String> = self.row(statement, |row| row.get("answer")).await?.flatten();
        let all = [CommandAnswer::Applied, CommandAnswer::NoEffect];
        Ok(all.into_iter().find(|known| answer.as_deref() == Some(known.as_str())))
    }

    /// Returns the owner and the fence of a task, or `None` if the task does not exist.
    pub async fn task_ownership(&self, id: &str) -> Result<Option<TaskOwnership>, StoreError> {
        let statement = sql!("SELECT owner, fence FROM tasks WHERE id = $1", SqlValue::verbatim(id));
        let read = |row: &DatabaseRow| Ok(TaskOwnership { owner_json: row.get("owner")?, fence: row.get("fence")? });
        self.row(statement, read).await
    }

    /// Changes the status of a task and ends its lease. Returns `false` and changes nothing if the task was leased
    /// since `fence` was read. Deletes the pending commands of the task except guidance.
    pub async fn settle_task(
        &self,
        id: &str,
        fence: i64,
        settlement: TaskSettlement,
        at: UnixMillis,
    ) -> Result<bool, StoreError> {
        let (status, resets_progress) = match settlement {
            TaskSettlement::Cancelled => ("cancelled", false),
            TaskSettlement::ResetToReady => ("todo", true),
        };
        let progress = if resets_progress { self.task_progress(id).await? } else { None };
        let kept = progress.and_then(TaskProgress::reset_for_retry);
        let kept = kept.map(|progress| self.to_json(&progress)).transpose()?;
        let settle = sql!(
            "UPDATE tasks SET status = $1, pipeline = CASE WHEN $2 THEN $6 ELSE pipeline END, owner = NULL,
                lease_until = NULL, fence = fence + 1, updated_at = $3 WHERE id = $4 AND fence = $5",
            status,
            resets_progress,
            at.0,
            SqlValue::verbatim(id),
            fence,
            kept.as_deref()
        );
        let stale = "DELETE FROM orders WHERE task = $1 AND taken_at IS NULL AND kind <> 'guide'";
        let settled = self.execute_all_fenced(settle, vec![sql!(stale, SqlValue::verbatim(id))]).await?;
        Ok(settled == FencedWrite::Written)
    }

    /// Returns the runs with the status `running`, oldest first.
    pub async fn running_loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        let sql = format!(
            "SELECT {}, loop, owner FROM runs WHERE status = 'running' ORDER BY started_at, id",
            RunRow::COLUMNS
        );
        self.rows(sql!(sql), read_loop_row).await
    }

    /// Returns the runs that were stopped and can be resumed, oldest first.
    pub async fn interrupted_loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        let sql = format!(
            "SELECT {}, loop, owner FROM runs WHERE status = 'interrupted' ORDER BY started_at, id",
            RunRow::COLUMNS
        );
        self.rows(sql!(sql), read_loop_row).await
    }

    /// Returns one run with its loop and owner, whatever its status is.
    pub async fn loop_of_run(&self, run: &str) -> Result<Option<LoopRow>, StoreError> {
        let sql = format!("SELECT {}, loop, owner FROM runs WHERE id = $1", RunRow::COLUMNS);
        self.row(sql!(sql, SqlValue::verbatim(run)), read_loop_row).await
    }
}

pub(crate) fn read_loop_row(row: &DatabaseRow) -> Result<LoopRow, DriverError> {
    Ok(LoopRow { run: RunRow::from_row(row)?, loop_json: row.get("loop")?, owner_json: row.get("owner")? })
}

/// Returns the statement that marks a command as taken and stores its result.
pub(crate) fn mark_command_taken(id: &str, answer: CommandAnswer, at: UnixMillis) -> SqlStatement {
    sql!("UPDATE orders SET taken_at = $1, answer = $2 WHERE id = $3 AND taken_at IS NULL", at.0, answer.as_str(), id)
}

fn command_kind(command: &ControlCommand) -> &'static str {
    match command {
        ControlCommand::Cancel => "cancel",
        ControlCommand::Pause { .. } => PAUSE_KIND,
        ControlCommand::Resume => "resume",
        ControlCommand::Guide { .. } => GUIDE_KIND,
        ControlCommand::Limit { .. } => "limit",
        ControlCommand::Report { .. } => "report",
    }
}
