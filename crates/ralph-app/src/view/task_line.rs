//! A task as a line of a list.
use ralph_core::task::{Approval, Status};
use serde::Serialize;
use serde_json::Value;

use super::at_json;
use ralph_store::{StageRun, TaskHead};
use ralph_util::sanitize::sanitize;

/// A task as an object of `task list --json`.
#[derive(Serialize)]
pub struct TaskHeadJson<'a> {
    id: &'a str,
    status: Status,
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
    run: Option<StageJson<'a>>,
}

#[derive(Serialize)]
struct StageJson<'a> {
    id: &'a str,
    role: &'a str,
    status: &'a str,
    iterations: i64,
    max_iterations: i64,
}

impl<'a> TaskHeadJson<'a> {
    #[must_use]
    pub fn of(task: &'a TaskHead, waits: &[&str]) -> Self {
        Self {
            id: &task.id,
            status: task.status,
            title: &task.title,
            spec_id: task.spec.as_deref(),
            priority: task.priority,
            dependencies: &task.dependencies,
            ready: is_ready(task, waits),
            approved: task.approval == Approval::Given,
            assignee: task.assignee.as_deref(),
            iteration: task.run.as_ref().map_or(0, |run| run.iterations),
            created_at: at_json(task.created_at),
            updated_at: at_json(task.updated_at),
            run: task.run.as_ref().map(StageJson::of),
        }
    }
}

impl<'a> StageJson<'a> {
    fn of(run: &'a StageRun) -> Self {
        Self {
            id: &run.id,
            role: &run.role,
            status: &run.status,
            iterations: run.iterations,
            max_iterations: run.max_iterations,
        }
    }
}

/// Tells whether a task can be worked on now.
#[must_use]
pub fn is_ready(task: &TaskHead, waits: &[&str]) -> bool {
    task.status == Status::Todo && waits.is_empty() && task.approval == Approval::Given
}

/// Returns a task as a line for people.
#[must_use]
pub fn task_line(task: &TaskHead, waits: &[&str]) -> String {
    let approval = (task.approval == Approval::Awaited).then_some("approval");
    let waits: Vec<&str> = waits.iter().copied().chain(approval).collect();
    let waits = if waits.is_empty() { String::new() } else { format!("  (waits for {})", waits.join(", ")) };
    let spec = task.spec.as_deref().unwrap_or("-");
    let line = format!(
        "{:<12}  {:<9}  {:>2}  {:<12}  {}{waits}",
        task.id,
        task.status.as_str(),
        task.priority,
        spec,
        task.title.lines().next().unwrap_or_default()
    );
    sanitize(&line)
}
