//! Creates a task that follows one that a run has worked on.
use ralph_core::task::{Task, TaskAuthor, TaskStatus};
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};
use serde_json::json;

use super::checks::{OriginalTask, check_task};
use super::create::add_task;
use super::{CreatedTask, TaskAdvice, TaskFields};
use crate::error::{AppError, AppResult};
use crate::task_files::{FoundTask, ParsedTask, TaskOrigin, find_task};

/// A follow-up to create. It inherits spec, priority and criteria.
#[derive(Debug)]
pub struct FollowupRequest {
    /// The id of the task that it follows.
    pub parent_id: String,
    pub id: String,
    /// Default: `Follow-up: ` and the title of the parent.
    pub title: Option<String>,
    pub fields: TaskFields,
    /// The name of this request in errors, such as the command.
    pub source: &'static str,
}

/// Checks and stores a follow-up.
pub async fn create_followup(
    project: &Project,
    request: FollowupRequest,
    author: TaskAuthor,
) -> AppResult<CreatedTask> {
    let FoundTask { store, row: parent } = find_task(project, &request.parent_id).await?;
    let started = ensure_started(&store, &parent).await;
    store.close().await;
    started?;
    let fields = request.fields.clone();
    let new = build_followup(project, request, &parent)?;
    add_task(project, new, &fields, author).await
}

/// Refuses to follow up a task that no run has worked on.
async fn ensure_started(store: &Store, parent: &TaskRow) -> AppResult<()> {
    let id = &parent.task.id;
    if parent.task.status != TaskStatus::Todo || !store.runs_of_task(id).await?.is_empty() {
        return Ok(());
    }
    Err(AppError::preflight(format!("task {id} is neither finished nor failed: no run has worked on it yet"))
        .with_advice(TaskAdvice::EditTask { task: id.clone() }))
}

fn build_followup(project: &Project, request: FollowupRequest, row: &TaskRow) -> AppResult<ParsedTask> {
    let parent = &row.task;
    let mut task = Task {
        id: request.id,
        title: request.title.unwrap_or_else(|| format!("Follow-up: {}", parent.title)),
        spec_id: parent.spec_id.clone(),
        spec_file: parent.spec_file.clone(),
        priority: parent.priority,
        completion: parent.completion.clone(),
        ..Task::default()
    };
    request.fields.apply_to(&mut task);
    let origin = TaskOrigin::Command(request.source);
    check_task(project, &task, &OriginalTask { task: parent, origin: &origin })?;
    Ok(ParsedTask {
        task,
        metadata: [("followup_of".to_owned(), json!(parent.id))].into_iter().collect(),
        // Criteria that no person has approved for the parent are not approved here either.
        approval: row.approval,
        origin,
    })
}
