//! A task as a line of a list.
use ralph_core::task::{Approval, Status};
use serde_json::{Value, json};

use super::at_json;
use crate::sanitize::sanitize;
use crate::store::{StageRun, TaskHead};

/// Returns a task as an object of `task list --json`.
#[must_use]
pub fn task_head_json(task: &TaskHead, waits: &[String]) -> Value {
    json!({
        "id": task.id,
        "status": task.status.as_str(),
        "title": task.title,
        "spec_id": task.spec,
        "priority": task.priority,
        "dependencies": task.dependencies,
        "ready": is_ready(task, waits),
        "approved": task.approval == Approval::Given,
        "assignee": task.assignee,
        "iteration": task.run.as_ref().map_or(0, |run| run.iterations),
        "created_at": at_json(task.created_at),
        "updated_at": at_json(task.updated_at),
        "run": task.run.as_ref().map(stage_json),
    })
}

/// Tells whether a task can be worked on now.
#[must_use]
pub fn is_ready(task: &TaskHead, waits: &[String]) -> bool {
    task.status == Status::Todo && waits.is_empty() && task.approval == Approval::Given
}

fn stage_json(run: &StageRun) -> Value {
    json!({
        "id": run.id,
        "role": run.role,
        "status": run.status,
        "iterations": run.iterations,
        "max_iterations": run.max_iterations,
    })
}

/// Returns a task as a line for people.
#[must_use]
pub fn task_line(task: &TaskHead, waits: &[String]) -> String {
    let approval = (task.approval == Approval::Awaited).then_some("approval");
    let waits: Vec<&str> = waits.iter().map(String::as_str).chain(approval).collect();
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
