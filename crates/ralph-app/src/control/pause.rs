//! Pauses a loop that a process drives, or the next loop of a task.
use ralph_core::control_command::{ControlCommand, PauseTiming};
use ralph_core::loop_state::LoopPhase;
use ralph_core::task::TaskStatus;
use ralph_engine::control::CommandDelivery;
use ralph_engine::project::Project;
use ralph_store::LoopRow;

use super::loop_target::grace_period;
use super::{
    ANSWER_TIMEOUT, ControlAdvice, DrivenLoop, LoopPosition, LoopTarget, LoopTargetKind, describe_loop,
    not_running_error, poll_with_timeout, unresponsive_error,
};
use crate::error::{AppError, AppResult};
use crate::run::refuse_command_by_agent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseResult {
    Paused(LoopPosition),
    /// The loop pauses when its current iteration has ended.
    AfterIteration(LoopPosition),
    /// The task has no loop at the moment: its next one starts paused.
    BeforeNextLoop {
        task: String,
    },
}

/// The result of a request to pause a loop.
enum LoopFate {
    Paused,
    Running,
    Ended { reason: String },
}

/// Pauses the loop of a task or run, or the only active loop. The pause of a task stays until one of its loops has reached it.
pub async fn pause_loop(project: &Project, id: Option<&str>, timing: PauseTiming) -> AppResult<PauseResult> {
    refuse_command_by_agent(project, "pause a loop of the project that it works on")?;
    let target = LoopTarget::find_named_or_only(project, id).await?;
    let paused = pause_target(&target, timing).await;
    target.close().await;
    paused
}

async fn pause_target(target: &LoopTarget, timing: PauseTiming) -> AppResult<PauseResult> {
    let driven = target.find_driven_loop().await?;
    match (driven, &target.kind) {
        (Some(driven), _) => pause_driven_loop(target, &driven, timing).await,
        (None, LoopTargetKind::Task { id, .. }) => pause_between_loops(target, id, timing).await,
        (None, LoopTargetKind::Run(_)) => Err(not_running_error(target.name()).with_advice(ControlAdvice::ShowStatus)),
    }
}

async fn pause_driven_loop(target: &LoopTarget, driven: &DrivenLoop, timing: PauseTiming) -> AppResult<PauseResult> {
    let DrivenLoop { row, owner } = driven;
    let command = ControlCommand::Pause { when: timing };
    let CommandDelivery::Queued { id } = target.send_command(&command, owner.as_ref()).await? else {
        return Err(not_running_error(target.name()).with_cause("it has just ended"));
    };
    let is_answered = target.wait_for_answer(&id).await?.is_some();
    match read_fate(target, row).await? {
        LoopFate::Ended { reason } => pause_after_end(target, &reason).await,
        LoopFate::Paused => reread_position(target, row).await.map(PauseResult::Paused),
        LoopFate::Running if !is_answered => Err(unresponsive_error(row, owner.as_ref())
            .with_advice("the command stays: the loop pauses as soon as it answers")),
        LoopFate::Running => match timing {
            PauseTiming::Idle => Ok(PauseResult::AfterIteration(describe_loop(row))),
            PauseTiming::Now => wait_until_paused(target, row).await,
        },
    }
}

/// Waits until the agent and the checks of a loop have stopped.
async fn wait_until_paused(target: &LoopTarget, row: &LoopRow) -> AppResult<PauseResult> {
    let stopped = async || {
        Ok(match read_fate(target, row).await? {
            LoopFate::Running => None,
            fate @ (LoopFate::Paused | LoopFate::Ended { .. }) => Some(fate),
        })
    };
    match poll_with_timeout(grace_period(row) + ANSWER_TIMEOUT, stopped).await? {
        Some(LoopFate::Ended { reason }) => pause_after_end(target, &reason).await,
        Some(LoopFate::Paused | LoopFate::Running) => reread_position(target, row).await.map(PauseResult::Paused),
        None => Err(unresponsive_error(row, None).with_cause("the agent or a check has not stopped in time")),
    }
}

/// The loop ended before it could pause. The next loop of its task starts paused; without one there is nothing to pause.
async fn pause_after_end(target: &LoopTarget, reason: &str) -> AppResult<PauseResult> {
    let ended = || not_running_error(target.name()).with_cause(format!("it has just ended: {reason}"));
    match &target.kind {
        LoopTargetKind::Run(_) => Err(ended()),
        LoopTargetKind::Task { id, .. } => wait_for_paused_loop(target, id).await?.ok_or_else(ended),
    }
}

/// Pauses a task that has no loop at the moment.
async fn pause_between_loops(target: &LoopTarget, task: &str, timing: PauseTiming) -> AppResult<PauseResult> {
    let not_running = || not_running_error(task).with_advice(ControlAdvice::ShowStatus);
    if !is_open(target, task).await? {
        return Err(not_running());
    }
    let worker = target.find_worker().await?;
    target.send_command(&ControlCommand::Pause { when: timing }, worker.as_ref()).await?;
    match worker {
        Some(_) => wait_for_paused_loop(target, task).await?.ok_or_else(not_running),
        None => Ok(PauseResult::BeforeNextLoop { task: task.to_owned() }),
    }
}

/// Waits until the worker of a task has started its next loop, which is paused. Returns `None` if the task has ended.
async fn wait_for_paused_loop(target: &LoopTarget, task: &str) -> AppResult<Option<PauseResult>> {
    let settled = async || {
        if !is_open(target, task).await? {
            return Ok(Some(None));
        }
        let Some(DrivenLoop { row, .. }) = target.find_driven_loop().await? else { return Ok(None) };
        Ok(match read_fate(target, &row).await? {
            LoopFate::Paused => Some(Some(PauseResult::Paused(describe_loop(&row)))),
            LoopFate::Running | LoopFate::Ended { .. } => None,
        })
    };
    let waiting = PauseResult::BeforeNextLoop { task: task.to_owned() };
    Ok(poll_with_timeout(ANSWER_TIMEOUT, settled).await?.unwrap_or(Some(waiting)))
}

/// Returns whether a worker can start another loop of the task.
async fn is_open(target: &LoopTarget, task: &str) -> AppResult<bool> {
    let Some(row) = target.store.get_task(task).await? else {
        return Err(AppError::preflight(format!("{task} was deleted")));
    };
    Ok(match row.task.status {
        TaskStatus::Todo | TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => true,
        TaskStatus::Blocked | TaskStatus::Done | TaskStatus::Cancelled => false,
    })
}

async fn read_fate(target: &LoopTarget, row: &LoopRow) -> AppResult<LoopFate> {
    let state = target.store.load_run(&row.run.id).await?.state;
    if let Some(end) = state.run_end() {
        return Ok(LoopFate::Ended { reason: end.reason.clone() });
    }
    Ok(if matches!(state.phase, LoopPhase::Paused { .. }) { LoopFate::Paused } else { LoopFate::Running })
}

async fn reread_position(target: &LoopTarget, row: &LoopRow) -> AppResult<LoopPosition> {
    let now = target.store.loop_of_run(&row.run.id).await?;
    Ok(describe_loop(now.as_ref().unwrap_or(row)))
}
