//! Creates a task that follows the caller's own one. A person must approve its checks before they run.
use ralph_core::task::{Role, TaskAuthor};
use ralph_engine::project::Project;

use super::{MAX_TEXT_BYTES, ToolCaller, clean_agent_text};
use crate::error::{AppError, AppResult};
use crate::run::find_run;
use crate::tasks::{CreatedTask, FollowupRequest, RoleFields, TaskFields, create_followup};

/// How many acceptance criteria a follow-up may have.
const MAX_CRITERIA: usize = 50;

/// The longest id of a task.
const MAX_ID_BYTES: usize = 100;

/// A follow-up that an agent asks for.
#[derive(Debug, Clone, Default)]
pub struct FollowupTaskRequest {
    /// The caller's own run.
    pub run: String,
    /// The id of the new task.
    pub id: String,
    pub title: String,
    pub description: Option<String>,
    pub outcome: Option<String>,
    /// Replace those of the caller's task.
    pub acceptance_criteria: Vec<String>,
    pub check: Option<FollowupCheck>,
}

/// A command that must succeed in the coder stage. It does not run before a person has approved it.
#[derive(Debug, Clone)]
pub struct FollowupCheck {
    pub command: String,
}

/// Stores a follow-up of the task that the caller works on.
pub async fn create_followup_task(
    project: &Project,
    caller: &ToolCaller,
    request: FollowupTaskRequest,
) -> AppResult<CreatedTask> {
    let own = caller.ensure_own_run(&request.run, "create follow-up tasks")?;
    let found = find_run(project, Some(own)).await?;
    found.store.close().await;
    let Some(parent_id) = found.run.task else {
        return Err(AppError::preflight("this run does not work on a task, so no task can follow it")
            .with_advice("report what is left with report_progress, or write it into the notes"));
    };
    let request = followup_request(parent_id, request)?;
    create_followup(project, request, TaskAuthor::Agent).await
}

fn followup_request(parent_id: String, request: FollowupTaskRequest) -> AppResult<FollowupRequest> {
    if request.acceptance_criteria.len() > MAX_CRITERIA {
        return Err(AppError::invalid_request(format!("a task may have at most {MAX_CRITERIA} acceptance criteria")));
    }
    if request.id.len() > MAX_ID_BYTES {
        return Err(AppError::invalid_request(format!("the id of a task may have at most {MAX_ID_BYTES} bytes")));
    }
    if request.check.as_ref().is_some_and(|check| check.command.len() > MAX_TEXT_BYTES) {
        return Err(AppError::invalid_request(format!("a check command may have at most {MAX_TEXT_BYTES} bytes")));
    }
    let clean = |field: &str, text: Option<String>| text.map(|text| clean_agent_text(field, &text)).transpose();
    let criteria = request.acceptance_criteria.iter().map(|text| clean_agent_text("acceptance_criteria", text));
    let fields = TaskFields {
        description: clean("description", request.description)?,
        outcome: clean("outcome", request.outcome)?,
        acceptance: criteria.collect::<AppResult<_>>()?,
        roles: request.check.map(check_of_coder).into_iter().collect(),
        ..TaskFields::default()
    };
    Ok(FollowupRequest {
        parent_id,
        id: request.id,
        title: Some(clean_agent_text("title", &request.title)?),
        fields,
        source: "create_followup_task",
    })
}

fn check_of_coder(check: FollowupCheck) -> RoleFields {
    RoleFields {
        role: Role::Coder,
        promise: None,
        description: None,
        method: None,
        command: Some(check.command),
        config: None,
        max_iterations: None,
    }
}
