//! The author of a change: an agent may not set the status of a task.
use ralph_agents::is_inside_agent_session;
use ralph_core::task::{Task, TaskAuthor, TaskStatus};
use ralph_engine::project::Project;

use crate::error::{AppError, AppResult};
use crate::run::find_enclosing_run;

/// Returns who started this process: an agent of a run on this project or of a session, or a person.
#[must_use]
pub fn detect_author(project: &Project) -> TaskAuthor {
    let in_session = || is_inside_agent_session(|name| std::env::var_os(name).is_some());
    if find_enclosing_run(project).is_some() || in_session() { TaskAuthor::Agent } else { TaskAuthor::Person }
}

/// Refuses an agent that sets the status of a task.
pub fn ensure_may_set_status(author: TaskAuthor, before: TaskStatus, task: &Task) -> AppResult<()> {
    if author.can_set_status(before, task.status) {
        return Ok(());
    }
    let status = task.status.as_str();
    Err(AppError::preflight(format!("task {}: an agent cannot set its status to {status}", task.id))
        .with_advice("claim that the work is done: ralph changes the status after verification"))
}
