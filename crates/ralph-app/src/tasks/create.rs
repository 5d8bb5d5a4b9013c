//! Creates tasks.
use ralph_core::task::{Approval, Task, TaskAuthor, TaskProblem, TaskStatus};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{TaskChange, TaskListItem};
use serde_json::{Map, Value};

use super::checks::{OriginalTask, check_task};
use super::{TaskAdvice, TaskFields, ensure_may_set_status};
use crate::error::{AppError, AppResult};
use crate::task_files::{ParsedTask, TaskOrigin, check_consistency, open_or_create_store};

/// A task to create.
#[derive(Debug)]
pub struct NewTaskRequest {
    /// A task from a file. The other fields of this request replace its fields.
    pub base: Option<ParsedTask>,
    pub id: Option<String>,
    pub spec: Option<String>,
    pub title: Option<String>,
    pub fields: TaskFields,
    pub criteria: CriteriaRule,
    /// The name of this request in errors, such as the command.
    pub source: &'static str,
}

/// Whether the task must say when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CriteriaRule {
    Required,
    Optional,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedTask {
    pub id: String,
    pub title: String,
}

impl From<&Task> for CreatedTask {
    fn from(task: &Task) -> Self {
        Self { id: task.id.clone(), title: task.title.clone() }
    }
}

/// Checks and stores a new task.
pub async fn create_task(project: &Project, request: NewTaskRequest, author: TaskAuthor) -> AppResult<CreatedTask> {
    let fields = request.fields.clone();
    let new = build_task(project, request)?;
    add_task(project, new, &fields, author).await
}

/// Stores one new task with the dependencies that a request gave.
pub(super) async fn add_task(
    project: &Project,
    new: ParsedTask,
    fields: &TaskFields,
    author: TaskAuthor,
) -> AppResult<CreatedTask> {
    let task = new.task.clone();
    add_tasks(project, vec![new], author, |stored| fields.ensure_valid_dependencies(&task, stored)).await?;
    Ok(CreatedTask::from(&task))
}

/// Stores new tasks, all or none, unless `check` refuses them.
pub async fn add_tasks(
    project: &Project,
    new: Vec<ParsedTask>,
    author: TaskAuthor,
    check: impl FnOnce(&[TaskListItem]) -> AppResult<()>,
) -> AppResult<()> {
    let store = open_or_create_store(project).await?;
    let decide = |stored: &[TaskListItem]| {
        check(stored)?;
        plan_additions(new, stored, author)
    };
    let added = store.change_tasks(Clock::wall_now(), decide).await;
    store.close().await;
    added
}

/// Returns the changes that store new tasks, if they fit together and fit the stored ones.
pub fn plan_additions(new: Vec<ParsedTask>, stored: &[TaskListItem], author: TaskAuthor) -> AppResult<Vec<TaskChange>> {
    let stored: Vec<_> = stored.iter().map(|task| (task.id.clone(), task.dependencies.clone())).collect();
    check_consistency(&new, &stored)?;
    new.iter().try_for_each(|parsed| ensure_may_set_status(author, TaskStatus::Todo, &parsed.task))?;
    let add = |parsed: ParsedTask| TaskChange::Add {
        approval: Approval::after_change(parsed.approval, None, &parsed.task, author),
        task: parsed.task,
        metadata: Value::Object(parsed.metadata).to_string(),
    };
    Ok(new.into_iter().map(add).collect())
}

fn build_task(project: &Project, request: NewTaskRequest) -> AppResult<ParsedTask> {
    let NewTaskRequest { base, id, spec, title, fields, criteria, source } = request;
    let empty = || ParsedTask {
        task: Task::default(),
        metadata: Map::new(),
        approval: Approval::Granted,
        origin: TaskOrigin::Command(source),
    };
    let mut new = base.unwrap_or_else(empty);
    let before = new.task.clone();
    let original = OriginalTask { task: &before, origin: &new.origin };
    let task = &mut new.task;
    task.id = id.unwrap_or_else(|| before.id.clone());
    task.title = title.unwrap_or_else(|| before.title.clone());
    task.spec_id = spec.or(task.spec_id.take());
    fields.apply_to(task);
    if task.completion.is_none() && criteria == CriteriaRule::Required {
        return Err(missing_criteria_error(&original, task));
    }
    check_task(project, task, &original)?;
    Ok(new)
}

fn missing_criteria_error(original: &OriginalTask<'_>, task: &Task) -> AppError {
    let problem = TaskProblem::new("completion", "the task does not say when it is done", "");
    AppError { advice: vec![TaskAdvice::GiveCriteria.into()], ..original.rejection_error(&problem, task) }
}
