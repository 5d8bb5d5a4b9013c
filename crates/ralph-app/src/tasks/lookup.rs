//! Finds the task that a person names.
use ralph_engine::project::Project;
use ralph_store::{OpenMode, Store, TaskListItem, TaskRow};
use ralph_util::suggest;

use super::TaskAdvice;
use crate::control::ControlAdvice;
use crate::error::{AppError, AppResult};
use crate::run::{is_orphaned, open_existing_store};
use crate::view::short_id;

/// A task with the open store that it was found in.
pub struct FoundTask {
    pub store: Store,
    pub row: TaskRow,
}

/// Opens the store of the project, and creates it if there is none.
pub async fn open_or_create_store(project: &Project) -> AppResult<Store> {
    let store = Store::open(&project.state_folder(), OpenMode::Create).await?;
    store.ok_or_else(|| AppError::preflight("the database was not created"))
}

/// Opens the store of a project that must have one.
pub async fn open_task_store(project: &Project) -> AppResult<Store> {
    let none = || AppError::preflight("this project has no tasks yet").with_advice(TaskAdvice::AddTasks);
    open_existing_store(project).await?.ok_or_else(none)
}

/// Returns the task with this id.
pub async fn find_task(project: &Project, id: &str) -> AppResult<FoundTask> {
    let store = open_task_store(project).await?;
    match store.get_task(id).await? {
        Some(row) => Ok(FoundTask { store, row }),
        None => {
            let tasks = store.list_tasks().await?;
            Err(unknown_task_error(id, &tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>()))
        }
    }
}

/// There is no task with this id.
#[must_use]
pub fn unknown_task_error(id: &str, known_ids: &[&str]) -> AppError {
    let failure = AppError::invalid_request(format!("there is no task {id:?} here"));
    match suggest::nearest_name(id, known_ids) {
        Some(near) => failure.with_advice(format!("did you mean {near}?")),
        None => failure.with_advice(TaskAdvice::ListTasks),
    }
}

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
