//! Tasks that a run is working on.
use ralph_engine::project::Project;
use ralph_store::TaskListItem;

use crate::control::ControlAdvice;
use crate::error::{AppError, AppResult};
use crate::run::is_orphaned;
use crate::view::short_id;

/// Refuses a task that a run is working on.
pub fn ensure_not_running(task: &TaskListItem, project: &Project) -> AppResult<()> {
    match &task.run {
        Some(run) if run.status == "running" && !is_orphaned(project, &run.id) => {
            Err(AppError::preflight(format!("run {} is working on task {}", short_id(&run.id), task.id))
                .with_advice(ControlAdvice::WaitOrCancel { id: task.id.clone() }))
        }
        Some(_) | None => Ok(()),
    }
}
