//! Changes the limits of a loop that is running.
use ralph_core::control_command::ControlCommand;
use ralph_core::limit_change::{ChangedLimits, LimitChanges};
use ralph_engine::control::CommandDelivery;
use ralph_engine::project::Project;
use ralph_store::CommandAnswer;

use super::continue_run::missing_limit_error;
use super::{
    ControlAdvice, DrivenLoop, LoopPosition, LoopTarget, describe_loop, not_running_error, unresponsive_error,
};
use crate::error::AppResult;
use crate::run::refuse_command_by_agent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitResult {
    /// The limits apply from the next decision of the loop on.
    Changed { position: LoopPosition, limits: ChangedLimits },
    /// The loop has these limits already.
    Unchanged(LoopPosition),
}

/// Changes the limits of the loop of a task or run, or of the only active loop.
pub async fn change_limits(project: &Project, id: Option<&str>, changes: LimitChanges) -> AppResult<LimitResult> {
    refuse_command_by_agent(project, "change the limits of a loop of the project that it works on")?;
    let target = LoopTarget::find_named_or_only(project, id).await?;
    let changed = change_target(&target, changes).await;
    target.close().await;
    changed
}

async fn change_target(target: &LoopTarget, changes: LimitChanges) -> AppResult<LimitResult> {
    let Some(DrivenLoop { row, owner }) = target.find_driven_loop().await? else {
        let id = target.name().to_owned();
        return Err(not_running_error(target.name()).with_advice(ControlAdvice::ResumeWithLimits { id }));
    };
    let policy = target.store.load_run(&row.run.id).await?.state.policy;
    let limits = changes.resolve(&policy).map_err(|missing| missing_limit_error(&missing))?;
    let command = ControlCommand::Limit { changes };
    let CommandDelivery::Queued { id } = target.send_command(&command, owner.as_ref()).await? else {
        return Err(not_running_error(target.name()).with_cause("it has just ended"));
    };
    let Some(answer) = target.wait_for_answer(&id).await? else {
        return Err(unresponsive_error(&row, owner.as_ref())
            .with_advice("the command stays: the limits change as soon as the loop answers"));
    };
    let now = target.store.loop_of_run(&row.run.id).await?;
    let position = describe_loop(now.as_ref().unwrap_or(&row));
    Ok(match answer {
        CommandAnswer::Applied => LimitResult::Changed { position, limits },
        CommandAnswer::NoEffect => LimitResult::Unchanged(position),
    })
}
