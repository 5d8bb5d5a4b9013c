//! The terms of a task that an agent wrote: when it is done, and how that is verified.
use ralph_core::task::completion_terms;
use ralph_engine::project::Project;
use ralph_store::TaskRow;
use ralph_util::sanitize::escape_hidden;

use super::shown_text::ShownText;
use crate::error::AppResult;
use crate::tasks::{approve_tasks, detect_author, find_pending_task};

/// The terms of a task that waits for approval.
pub struct TaskTerms {
    pub shown: ShownText,
    row: TaskRow,
}

impl TaskTerms {
    /// Fails if the task does not wait for approval.
    pub async fn load(project: &Project, task: &str) -> AppResult<Self> {
        let row = find_pending_task(project, task, detect_author(project)).await?;
        Ok(Self { shown: ShownText::new(describe_terms(&row), &[]), row })
    }

    /// Approves these terms. Fails if the task has changed since they were loaded.
    pub async fn approve(&self, project: &Project) -> AppResult<()> {
        approve_tasks(project, std::slice::from_ref(&self.row), detect_author(project)).await
    }
}

/// Approves the terms of a task if the person has seen them as they are now.
pub async fn approve_seen_task(project: &Project, task: &str, seen: &str) -> AppResult<()> {
    let terms = TaskTerms::load(project, task).await?;
    terms.shown.ensure_seen(seen, &format!("the checks of {task}"))?;
    terms.approve(project).await
}

fn describe_terms(row: &TaskRow) -> String {
    let mut text = format!("{}  {}\n", row.task.id, row.task.title);
    for term in completion_terms(&row.task) {
        text.push_str(&format!("  {}\n      {}\n", term.location, term.description.replace('\n', "\n      ")));
    }
    escape_hidden(&text)
}
