//! What people ask of a run, or of the work on a task, from another process. Whoever drives it takes each order once, in
//! the transaction that does what it asks for.
use ralph_core::event::Millis;
use ralph_core::order::Order;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::batch::{Statement, sql};
use super::{RunRow, Store, StoreError};
use ralph_util::redact;

/// Who shall do what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressee<'a> {
    /// Whoever drives this run.
    Run(&'a str),
    /// Whoever works on this task, in whichever stage.
    Task(&'a str),
}

/// An order that nobody has taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingOrder {
    pub id: String,
    pub order: Order,
}

pub struct NewOrder<'a> {
    pub id: &'a str,
    pub to: Addressee<'a>,
    pub order: &'a Order,
    pub at: Millis,
}

/// What came of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderAnswer {
    /// It changed something.
    Heeded,
    /// What it asked for was so already, or could not be any more.
    Moot,
}

impl OrderAnswer {
    fn as_str(self) -> &'static str {
        match self {
            Self::Heeded => "heeded",
            Self::Moot => "moot",
        }
    }
}

/// What people said to a stage that has ended before any prompt told it.
#[derive(Debug, Clone, Copy)]
pub struct PassedOn<'a> {
    pub task: &'a str,
    pub words: &'a [String],
}

impl PassedOn<'_> {
    /// Returns the statements by which the next stage is told.
    pub(super) fn orders(&self, at: Millis) -> Vec<Statement> {
        let order = |words: &String| {
            let order = Order::Guide { words: words.clone() };
            let id = uuid::Uuid::now_v7().to_string();
            sql!(
                "INSERT INTO orders (id, task, kind, body, at) VALUES (?, ?, ?, ?, ?)",
                id.as_str(),
                self.task,
                kind(&order),
                serde_json::to_string(&order).unwrap_or_default().as_str(),
                at.0
            )
        };
        self.words.iter().map(order).collect()
    }
}

/// What a person makes of a task that nobody works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    Cancelled,
    /// With its first stage, and all of its attempts.
    ReadyAgain,
}

/// A run that is recorded as going on, with what `status` tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopRow {
    pub run: RunRow,
    /// Its loop, as JSON.
    pub state: String,
    /// Who drives it, as JSON.
    pub owner: Option<String>,
}

impl Store {
    /// Leaves an order. Tells whether it did: a run that has ended gets none.
    pub async fn leave_order(&self, new: NewOrder<'_>) -> Result<bool, StoreError> {
        let NewOrder { id, to, order, at } = new;
        let (run, task) = match to {
            Addressee::Run(run) => (Some(run.to_owned()), None),
            Addressee::Task(task) => (None, Some(task.to_owned())),
        };
        let body = redact::text(&self.encode(order)?).into_owned();
        let sql = "INSERT INTO orders (id, run, task, kind, body, at) SELECT $1, $2, $3, $4, $5, $6
            WHERE $2 IS NULL OR EXISTS
                (SELECT 1 FROM runs WHERE id = $2 AND status IN ('running', 'interrupted'))";
        let query = sqlx::query(sql).bind(id.to_owned()).bind(run).bind(task);
        let query = query.bind(kind(order)).bind(body).bind(at.0);
        let mut connection = self.connection.lock().await;
        let done = query.execute(&mut *connection).await.map_err(|source| self.failed(source))?;
        Ok(done.rows_affected() > 0)
    }

    /// Takes an order back that nobody has taken. Tells whether it did.
    pub async fn withdraw_order(&self, id: &str) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM orders WHERE id = $1 AND taken_at IS NULL").bind(id.to_owned());
        let mut connection = self.connection.lock().await;
        let done = query.execute(&mut *connection).await.map_err(|source| self.failed(source))?;
        Ok(done.rows_affected() > 0)
    }

    /// Returns the orders for a run, and for the task whose stage it is, the oldest first.
    pub async fn waiting_orders(
        &self,
        run: &str,
        task: Option<&str>,
    ) -> Result<Vec<WaitingOrder>, StoreError> {
        let sql = "SELECT id, body FROM orders WHERE taken_at IS NULL
            AND (run = $1 OR (run IS NULL AND task IS NOT NULL AND task = $2)) ORDER BY at, id";
        let query = sqlx::query(sql).bind(run.to_owned()).bind(task.map(str::to_owned));
        let read = |row: &SqliteRow| Ok((row.try_get("id")?, row.try_get("body")?));
        let found: Vec<(String, String)> = self.rows(query, read).await?;
        // What only a newer ralph knows is left for it.
        let known = |(id, body): (String, String)| {
            serde_json::from_str(&body).ok().map(|order| WaitingOrder { id, order })
        };
        Ok(found.into_iter().filter_map(known).collect())
    }

    /// Returns the runs and the tasks for which orders wait: `(run, task)`, one of them.
    pub async fn awaited(&self) -> Result<Vec<(Option<String>, Option<String>)>, StoreError> {
        let sql = "SELECT DISTINCT run, task FROM orders WHERE taken_at IS NULL";
        self.rows(sqlx::query(sql), |row| Ok((row.try_get("run")?, row.try_get("task")?))).await
    }

    /// Takes the orders that a task be cancelled: it is.
    pub async fn heed_cancel(&self, task: &str, at: Millis) -> Result<(), StoreError> {
        let sql =
            "UPDATE orders SET taken_at = $1, answer = $2 WHERE task = $3 AND kind = $4 AND taken_at IS NULL";
        let query = sqlx::query(sql).bind(at.0).bind(OrderAnswer::Heeded.as_str());
        let query = query.bind(task.to_owned()).bind(kind(&Order::Cancel));
        self.written_beside(query, |_| Ok(())).await.map(drop)
    }

    /// Returns what came of an order; `None`: nobody has taken it.
    pub async fn order_answer(&self, id: &str) -> Result<Option<OrderAnswer>, StoreError> {
        let query = sqlx::query("SELECT answer FROM orders WHERE id = $1").bind(id.to_owned());
        let answer: Option<String> = self.rows(query, |row| row.try_get(0)).await?.pop().flatten();
        let all = [OrderAnswer::Heeded, OrderAnswer::Moot];
        Ok(all.into_iter().find(|known| answer.as_deref() == Some(known.as_str())))
    }

    /// Returns who works on a task, as JSON, and the fence that he has; `None`: there is no such task.
    pub async fn task_claim(&self, id: &str) -> Result<Option<(Option<String>, i64)>, StoreError> {
        let query = sqlx::query("SELECT owner, fence FROM tasks WHERE id = $1").bind(id.to_owned());
        let read = |row: &SqliteRow| Ok((row.try_get("owner")?, row.try_get("fence")?));
        Ok(self.rows(query, read).await?.pop())
    }

    /// Gives a task another status, and takes it from whoever worked on it. Tells whether it did: not where somebody has
    /// taken the task since its fence was read. What was asked of it before is forgotten, but for guidance.
    pub async fn settle_task(
        &self,
        (id, fence): (&str, i64),
        settled: Settled,
        at: Millis,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE tasks SET status = $1, pipeline = CASE WHEN $2 THEN NULL ELSE pipeline END, owner = NULL,
                lease_until = NULL, fence = fence + 1, updated_at = $3 WHERE id = $4 AND fence = $5 RETURNING id";
        let (status, is_anew) = match settled {
            Settled::Cancelled => ("cancelled", false),
            Settled::ReadyAgain => ("todo", true),
        };
        let query = sqlx::query(sql).bind(status).bind(is_anew).bind(at.0);
        let query = query.bind(id.to_owned()).bind(fence);
        let is_settled = !self.rows(query, |row| row.try_get::<String, _>(0)).await?.is_empty();
        if is_settled {
            let stale = "DELETE FROM orders WHERE task = $1 AND taken_at IS NULL AND kind <> 'guide'";
            self.rows(sqlx::query(stale).bind(id.to_owned()), |_| Ok(())).await?;
        }
        Ok(is_settled)
    }

    /// Returns the runs that are recorded as going on, the oldest first.
    pub async fn loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        let sql = format!(
            "SELECT {}, loop, owner FROM runs WHERE status = 'running' ORDER BY started_at, id",
            RunRow::COLUMNS
        );
        self.rows(sqlx::query(sqlx::AssertSqlSafe(sql)), loop_row).await
    }

    /// Returns one run in the same way, however it is recorded.
    pub async fn loop_of(&self, run: &str) -> Result<Option<LoopRow>, StoreError> {
        let sql = format!("SELECT {}, loop, owner FROM runs WHERE id = $1", RunRow::COLUMNS);
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(run.to_owned());
        Ok(self.rows(query, loop_row).await?.pop())
    }
}

fn loop_row(row: &SqliteRow) -> Result<LoopRow, sqlx::Error> {
    Ok(LoopRow { run: RunRow::read(row)?, state: row.try_get("loop")?, owner: row.try_get("owner")? })
}

/// Returns the statement by which an order is taken, with its answer.
pub(super) fn taken((id, answer): (&str, OrderAnswer), at: Millis) -> Statement {
    sql!(
        "UPDATE orders SET taken_at = ?, answer = ? WHERE id = ? AND taken_at IS NULL",
        at.0,
        answer.as_str(),
        id
    )
}

fn kind(order: &Order) -> &'static str {
    match order {
        Order::Cancel => "cancel",
        Order::Pause { .. } => "pause",
        Order::Resume => "resume",
        Order::Guide { .. } => "guide",
    }
}
