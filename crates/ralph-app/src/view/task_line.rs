//! Renders a task in a list.
use ralph_core::task::{Approval, TaskStatus};
use serde::Serialize;
use serde_json::Value;

use super::run_list::proof_level_json;
use super::timestamp_json;
use ralph_store::{StageRun, TaskListItem};
use ralph_util::sanitize::sanitize_text;

/// The JSON object of a task in `task list --json`.
#[derive(Serialize)]
pub struct TaskListItemJson<'a> {
    id: &'a str,
    status: TaskStatus,
    proof: Value,
    title: &'a str,
    spec_id: Option<&'a str>,
    priority: u32,
    dependencies: &'a [String],
    ready: bool,
    approved: bool,
    assignee: Option<&'a str>,
    iteration: i64,
    created_at: Value,
    updated_at: Value,
    run: Option<StageRunJson<'a>>,
}

#[derive(Serialize)]
struct StageRunJson<'a> {
    id: &'a str,
    role: &'a str,
    status: &'a str,
    iterations: i64,
    max_iterations: i64,
}

impl<'a> TaskListItemJson<'a> {
    #[must_use]
    pub fn from_list_item(task: &'a TaskListItem, blockers: &[&str]) -> Self {
        Self {
            id: &task.id,
            status: task.status,
            proof: proof_level_json(task.proof.as_deref()),
            title: &task.title,
            spec_id: task.spec.as_deref(),
            priority: task.priority,
            dependencies: &task.dependencies,
            ready: is_task_ready(task, blockers),
            approved: task.approval == Approval::Granted,
            assignee: task.assignee.as_deref(),
            iteration: task.run.as_ref().map_or(0, |run| run.iterations),
            created_at: timestamp_json(task.created_at),
            updated_at: timestamp_json(task.updated_at),
            run: task.run.as_ref().map(StageRunJson::from_stage_run),
        }
    }
}

impl<'a> StageRunJson<'a> {
    fn from_stage_run(run: &'a StageRun) -> Self {
        Self {
            id: &run.id,
            role: &run.role,
            status: &run.status,
            iterations: run.iterations,
            max_iterations: run.max_iterations,
        }
    }
}

/// Returns whether a worker can start the task now.
#[must_use]
pub fn is_task_ready(task: &TaskListItem, blockers: &[&str]) -> bool {
    task.status == TaskStatus::Todo && blockers.is_empty() && task.approval == Approval::Granted
}

/// The columns of `ralph task list`.
pub const TASK_COLUMNS: [&str; 5] = ["task", "status", "prio", "spec", "title"];

/// Returns the cells of a task in `ralph task list`, in the order of [`TASK_COLUMNS`].
#[must_use]
pub fn task_cells(task: &TaskListItem, blockers: &[&str]) -> [String; 5] {
    let approval = (task.approval == Approval::Pending).then_some("approval");
    let blockers: Vec<&str> = blockers.iter().copied().chain(approval).collect();
    let waits = if blockers.is_empty() { String::new() } else { format!("waits for {}: ", blockers.join(", ")) };
    let is_done = task.status == TaskStatus::Done;
    let proof = task.proof.as_ref().filter(|_| is_done).map(|proof| format!(" ({proof})")).unwrap_or_default();
    let title = task.title.lines().next().unwrap_or_default();
    [
        task.id.clone(),
        format!("{}{proof}", task.status.as_str()),
        task.priority.to_string(),
        task.spec.clone().unwrap_or_else(|| "-".to_owned()),
        format!("{waits}{title}"),
    ]
    .map(|cell| sanitize_text(&cell))
}
