//! Tasks as reading gives them back.
use ralph_core::task::{Approval, Status, Task};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

/// What a list shows of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskHead {
    pub id: String,
    pub(super) seq: i64,
    pub spec: Option<String>,
    pub title: String,
    pub status: Status,
    pub priority: u32,
    pub dependencies: Vec<String>,
    pub assignee: Option<String>,
    pub approval: Approval,
    pub created_at: i64,
    pub updated_at: i64,
    /// The newest run that is a stage of it.
    pub run: Option<StageRun>,
}

/// How far the newest stage of a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageRun {
    pub id: String,
    pub role: String,
    /// `running`, or the outcome.
    pub status: String,
    pub iterations: i64,
    pub max_iterations: i64,
    pub started_at: i64,
    pub promise: String,
}

/// A whole task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub task: Task,
    /// JSON.
    pub metadata: String,
    pub approval: Approval,
    pub created_at: i64,
    pub updated_at: i64,
}

pub(super) const LISTED: &str = "SELECT t.id, t.seq, t.spec, t.title, t.status, t.priority, t.dependencies, t.assignee,
        t.unapproved, t.created_at, t.updated_at, r.id AS run, r.role, r.status AS run_status, r.iterations, r.max_iterations,
        r.started_at, r.promise
    FROM tasks t
    LEFT JOIN runs r ON r.id =
        (SELECT id FROM runs WHERE task = t.id AND task IS NOT NULL ORDER BY started_at DESC, id DESC LIMIT 1)
    ORDER BY COALESCE(t.priority, 3), t.seq";

pub(super) const WHOLE: &str =
    "SELECT id, spec, title, description, status, priority, dependencies, assignee,
        unapproved, created_at, updated_at, metadata, completion_spec
    FROM tasks WHERE $1 IS NULL OR id = $1 ORDER BY seq";

impl TaskHead {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let priority: Option<u32> = row.try_get("priority")?;
        Ok(Self {
            id: row.try_get("id")?,
            seq: row.try_get("seq")?,
            spec: row.try_get("spec")?,
            title: row.try_get("title")?,
            status: status(row)?,
            priority: priority.unwrap_or(Task::USUAL_PRIORITY),
            dependencies: json(row, "dependencies")?.unwrap_or_default(),
            assignee: row.try_get("assignee")?,
            approval: approval(row)?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
            run: stage_run(row)?,
        })
    }
}

impl TaskRow {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let task = Task {
            id: row.try_get("id")?,
            spec_id: row.try_get("spec")?,
            title: row.try_get("title")?,
            description: row.try_get("description")?,
            status: status(row)?,
            priority: row.try_get("priority")?,
            dependencies: json(row, "dependencies")?,
            assignee: row.try_get("assignee")?,
            completion: json(row, "completion_spec")?,
        };
        Ok(Self {
            task,
            metadata: row.try_get("metadata")?,
            approval: approval(row)?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        })
    }
}

fn stage_run(row: &SqliteRow) -> Result<Option<StageRun>, sqlx::Error> {
    let Some(id) = row.try_get::<Option<String>, _>("run")? else { return Ok(None) };
    Ok(Some(StageRun {
        id,
        role: row.try_get::<Option<String>, _>("role")?.unwrap_or_default(),
        status: row.try_get("run_status")?,
        iterations: row.try_get("iterations")?,
        max_iterations: row.try_get("max_iterations")?,
        started_at: row.try_get("started_at")?,
        promise: row.try_get("promise")?,
    }))
}

fn approval(row: &SqliteRow) -> Result<Approval, sqlx::Error> {
    let unapproved: bool = row.try_get("unapproved")?;
    Ok(if unapproved { Approval::Awaited } else { Approval::Given })
}

fn status(row: &SqliteRow) -> Result<Status, sqlx::Error> {
    let stored: String = row.try_get("status")?;
    Status::parse(&stored)
        .ok_or_else(|| sqlx::Error::Decode(format!("a task has the status {stored:?}").into()))
}

fn json<T: serde::de::DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<Option<T>, sqlx::Error> {
    let stored: Option<String> = row.try_get(column)?;
    let read = stored.map(|text| serde_json::from_str(&text)).transpose();
    read.map_err(|error| sqlx::Error::Decode(format!("{column} of a task: {error}").into()))
}
