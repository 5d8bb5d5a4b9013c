//! Makes a task ready again that was blocked, was cancelled or has failed.
use ralph_core::task::TaskStatus;
use ralph_engine::project::Project;
use ralph_store::TaskSettlement;

use super::{ControlAdvice, LoopTarget, LoopTargetKind, end_orphaned_run, find_resumable_run};
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::run::refuse_command_by_agent;
use crate::view::short_id;

/// Makes the task ready again, from its first stage and with all of its attempts. Its commits stay. Returns its id.
pub async fn retry_task(project: &Project, id: &str, person: &dyn Interaction) -> AppResult<String> {
    refuse_command_by_agent(project, "retry a task of the project that it works on")?;
    let target = LoopTarget::find(project, id).await?;
    let retried = retry_target(&target, person).await;
    target.close().await;
    retried
}

async fn retry_target(target: &LoopTarget, person: &dyn Interaction) -> AppResult<String> {
    let LoopTargetKind::Task { id, status } = &target.kind else {
        return Err(AppError::invalid_request(format!("{} is a run, and only tasks can be retried", target.name()))
            .with_advice(ControlAdvice::ResumeRunInstead));
    };
    if *status == TaskStatus::Done {
        return Err(AppError::preflight(format!("{id} is done"))
            .with_advice(ControlAdvice::CreateFollowup { task: id.clone() }));
    }
    if let Some(driven) = target.find_driven_loop().await? {
        return Err(AppError::preflight(format!("run {} works on {id}", short_id(&driven.row.run.id)))
            .with_advice(ControlAdvice::CancelFirst { id: id.clone() }));
    }
    // A run that could still be resumed would work beside the new attempt.
    if let Some(row) = find_resumable_run(&target.store, id).await? {
        end_orphaned_run(&target.project, &target.store, &row, person).await?;
    }
    target.settle_task(id, TaskSettlement::ResetToReady).await?;
    Ok(id.clone())
}
