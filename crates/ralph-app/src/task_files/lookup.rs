//! Finds the tasks that a person names, in the store of a project.
use ralph_engine::project::Project;
use ralph_engine::run_driver::EngineError;
use ralph_store::{OpenMode, RunRow, Store, TaskRow};
use ralph_util::suggest;

use crate::advice::Advice;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::open_existing_store;
use crate::state::{StateEvidence, adopt_old_state};
use crate::view::short_id;

/// A task with the open store that it was found in.
pub struct FoundTask {
    pub store: Store,
    pub row: TaskRow,
}

/// Opens the store of a project that has one.
pub async fn open_task_store(project: &Project) -> AppResult<Store> {
    open_existing_store(project)
        .await?
        .ok_or_else(|| AppError::preflight("this project has no tasks yet").with_advice(Advice::CreateTask))
}

/// Opens the store of a project, and creates it if there is none.
pub async fn open_or_create_store(project: &Project) -> AppResult<Store> {
    adopt_old_state(project, StateEvidence::Required)?;
    project.create_state_folder().map_err(EngineError::from)?;
    let store = Store::open(&project.state_folder(), OpenMode::Create).await?;
    store.ok_or_else(|| AppError::from_message(ErrorKind::Preflight, "the database was not created"))
}

/// Returns the task of that id.
pub async fn find_task(project: &Project, id: &str) -> AppResult<FoundTask> {
    let store = open_task_store(project).await?;
    match store.get_task(id).await? {
        Some(row) => Ok(FoundTask { store, row }),
        None => Err(unknown_task_error(&store, id).await?),
    }
}

/// Returns the error for an id that no task has, with the nearest one that exists.
pub async fn unknown_task_error(store: &Store, id: &str) -> AppResult<AppError> {
    let tasks = store.list_tasks().await?;
    Ok(unknown_id_error(id, &tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>()))
}

/// Like [`unknown_task_error`], with the ids that exist.
#[must_use]
pub fn unknown_id_error(id: &str, known_ids: &[&str]) -> AppError {
    let failure = AppError::not_found(format!("there is no task {id:?} here"));
    match suggest::nearest_name(id, known_ids) {
        Some(near) => failure.with_advice(format!("did you mean {near}?")),
        None => failure.with_advice(Advice::ListTasks),
    }
}

/// Returns the run that worked in a work tree of that name, such as `run-3f2a9c41`.
pub async fn find_run_by_tree_name(store: &Store, name: &str) -> AppResult<Option<RunRow>> {
    let Some(part) = name.strip_prefix("run-") else { return Ok(None) };
    Ok(store.find_runs_by_id_part(part).await?.into_iter().find(|run| short_id(&run.id) == part))
}
