//! Tasks as they are read from the database.
use crate::driver::{DatabaseRow, DriverError};
use ralph_core::task::{Approval, Task, TaskStatus};
use serde::{Deserialize, Deserializer};

/// The fields of a task that a list shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskListItem {
    pub id: String,
    pub(crate) seq: i64,
    pub spec: Option<String>,
    pub title: String,
    pub status: TaskStatus,
    pub priority: u32,
    pub dependencies: Vec<String>,
    pub assignee: Option<String>,
    #[serde(rename = "unapproved", deserialize_with = "deserialize_approval")]
    pub approval: Approval,
    pub created_at: i64,
    pub updated_at: i64,
    /// The best proof level of its accepted stages: `proven`, `checked`, `judged` or `unverified`.
    #[serde(default)]
    pub proof: Option<String>,
    /// The newest run that is a stage of this task.
    pub run: Option<StageRun>,
}

/// The newest stage of a task and its progress.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StageRun {
    pub id: String,
    pub role: String,
    /// `running`, or the outcome.
    pub status: String,
    pub iterations: i64,
    pub max_iterations: i64,
    pub started_at: i64,
    pub promise: String,
    pub agent: String,
    pub cost_micros: Option<i64>,
    /// Why it ended, if the task is blocked.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A task with all its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub task: Task,
    /// JSON.
    pub metadata: String,
    pub approval: Approval,
    pub created_at: i64,
    pub updated_at: i64,
    /// The best proof level of its accepted stages.
    pub proof: Option<String>,
}

/// Selects all tasks as one JSON array. Fetching ten thousand rows with many columns takes three times as long.
pub(crate) const TASK_LIST_SQL: &str = "SELECT json_group_array(json_object(
        'id', t.id, 'seq', t.seq, 'spec', t.spec, 'title', t.title, 'status', t.status,
        'priority', COALESCE(t.priority, 3), 'dependencies', json(COALESCE(t.dependencies, '[]')),
        'assignee', t.assignee, 'unapproved', t.unapproved, 'created_at', t.created_at, 'updated_at', t.updated_at, 'proof', t.proof,
        'run', CASE WHEN r.id IS NOT NULL THEN json_object('id', r.id, 'role', COALESCE(r.role, ''), 'status', r.status,
            'iterations', r.iterations, 'max_iterations', r.max_iterations, 'started_at', r.started_at,
            'promise', r.promise, 'agent', r.agent, 'cost_micros', r.cost_micros,
            'reason', CASE WHEN t.status = 'blocked' THEN r.reason END) END)
        ORDER BY COALESCE(t.priority, 3), t.seq) AS tasks
    FROM tasks t
    LEFT JOIN runs r ON r.id =
        (SELECT id FROM runs WHERE task = t.id AND task IS NOT NULL ORDER BY started_at DESC, id DESC LIMIT 1)";

pub(crate) const FULL_TASKS_SQL: &str =
    "SELECT id, spec, spec_file, title, description, status, priority, dependencies, assignee,
        unapproved, created_at, updated_at, metadata, completion_spec, proof
    FROM tasks WHERE $1 IS NULL OR id = $1 ORDER BY seq";

/// Parses the result of [`TASK_LIST_SQL`].
pub(crate) fn parse_task_list(row: &DatabaseRow) -> Result<Vec<TaskListItem>, DriverError> {
    let tasks: String = row.get("tasks")?;
    serde_json::from_str(&tasks).map_err(|error| DriverError::unreadable_value(format!("the list of tasks: {error}")))
}

impl TaskRow {
    pub(crate) fn from_row(row: &DatabaseRow) -> Result<Self, DriverError> {
        let task = Task {
            id: row.get("id")?,
            spec_id: row.get("spec")?,
            spec_file: row.get("spec_file")?,
            title: row.get("title")?,
            description: row.get("description")?,
            status: read_status(row)?,
            priority: row.get("priority")?,
            dependencies: read_json_column(row, "dependencies")?,
            assignee: row.get("assignee")?,
            completion: read_json_column(row, "completion_spec")?,
        };
        Ok(Self {
            task,
            metadata: row.get("metadata")?,
            approval: read_approval(row)?,
            created_at: row.get("created_at")?,
            updated_at: row.get("updated_at")?,
            proof: row.get("proof")?,
        })
    }
}

fn read_approval(row: &DatabaseRow) -> Result<Approval, DriverError> {
    Ok(to_approval(row.get("unapproved")?))
}

fn deserialize_approval<'de, D: Deserializer<'de>>(stored: D) -> Result<Approval, D::Error> {
    Ok(to_approval(i64::deserialize(stored)? != 0))
}

fn to_approval(unapproved: bool) -> Approval {
    if unapproved { Approval::Pending } else { Approval::Granted }
}

pub(crate) fn read_status(row: &DatabaseRow) -> Result<TaskStatus, DriverError> {
    let stored: String = row.get("status")?;
    TaskStatus::parse(&stored)
        .ok_or_else(|| DriverError::unreadable_value(format!("a task has the unknown status {stored:?}")))
}

fn read_json_column<T: serde::de::DeserializeOwned>(row: &DatabaseRow, column: &str) -> Result<Option<T>, DriverError> {
    let stored: Option<String> = row.get(column)?;
    let read = stored.map(|text| serde_json::from_str(&text)).transpose();
    read.map_err(|error| DriverError::unreadable_value(format!("{column} of a task: {error}")))
}
