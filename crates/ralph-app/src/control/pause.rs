//! Pauses a loop that a process drives.
use ralph_core::control_command::{ControlCommand, PauseTiming};
use ralph_core::loop_state::LoopPhase;
use ralph_engine::control::CommandDelivery;
use ralph_engine::project::Project;
use ralph_store::LoopRow;

use super::loop_target::grace_period;
use super::{
    ANSWER_TIMEOUT, ControlAdvice, DrivenLoop, LoopPosition, LoopTarget, describe_loop, not_running_error,
    poll_with_timeout, unresponsive_error,
};
use crate::error::AppResult;
use crate::run::refuse_command_by_agent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseResult {
    Paused(LoopPosition),
    /// The loop pauses when its current iteration has ended.
    AfterIteration(LoopPosition),
}

/// Pauses the loop of a task or run.
pub async fn pause_loop(project: &Project, id: &str, timing: PauseTiming) -> AppResult<PauseResult> {
    refuse_command_by_agent(project, "pause a loop of the project that it works on")?;
    let target = LoopTarget::find(project, id).await?;
    let paused = pause_target(&target, timing).await;
    target.close().await;
    paused
}

async fn pause_target(target: &LoopTarget, timing: PauseTiming) -> AppResult<PauseResult> {
    let Some(DrivenLoop { row, owner }) = target.find_driven_loop().await? else {
        return Err(not_running_error(target.name()).with_advice(ControlAdvice::ShowStatus));
    };
    let command = ControlCommand::Pause { when: timing };
    let CommandDelivery::Queued { id } = target.send_command(&command, owner.as_ref()).await? else {
        return Err(not_running_error(target.name()).with_cause("it has just ended"));
    };
    if target.wait_for_answer(&id).await?.is_none() {
        return Err(unresponsive_error(&row, owner.as_ref())
            .with_advice("the command stays: the loop pauses as soon as it answers"));
    }
    match timing {
        PauseTiming::Idle if !is_paused(target, &row).await? => Ok(PauseResult::AfterIteration(describe_loop(&row))),
        PauseTiming::Idle => reread_position(target, &row).await.map(PauseResult::Paused),
        PauseTiming::Now => wait_until_paused(target, &row).await,
    }
}

async fn wait_until_paused(target: &LoopTarget, row: &LoopRow) -> AppResult<PauseResult> {
    let paused = async || Ok(is_paused(target, row).await?.then_some(()));
    match poll_with_timeout(grace_period(row) + ANSWER_TIMEOUT, paused).await? {
        Some(()) => reread_position(target, row).await.map(PauseResult::Paused),
        None => Err(unresponsive_error(row, None).with_cause("the agent or a check has not stopped in time")),
    }
}

/// Returns whether the loop is paused. Fails if it has ended: it will never be.
async fn is_paused(target: &LoopTarget, row: &LoopRow) -> AppResult<bool> {
    let state = target.store.load_run(&row.run.id).await?.state;
    if let Some(end) = state.run_end() {
        return Err(not_running_error(target.name()).with_cause(format!("it has just ended: {}", end.reason)));
    }
    Ok(matches!(state.phase, LoopPhase::Paused { .. }))
}

async fn reread_position(target: &LoopTarget, row: &LoopRow) -> AppResult<LoopPosition> {
    let now = target.store.loop_of_run(&row.run.id).await?;
    Ok(describe_loop(now.as_ref().unwrap_or(row)))
}
