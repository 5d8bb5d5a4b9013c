//! Ends a loop for good, and its task.
use ralph_core::control_command::ControlCommand;
use ralph_core::task::TaskStatus;
use ralph_engine::control::CommandDelivery;
use ralph_engine::lock::RunOwner;
use ralph_store::{CommandAnswer, LoopRow, TaskSettlement};
use ralph_util::duration;

use super::loop_target::grace_period;
use super::{
    ANSWER_TIMEOUT, ControlAdvice, DrivenLoop, LoopPosition, LoopTarget, LoopTargetKind, describe_loop,
    end_orphaned_run, find_resumable_run, poll_with_timeout, unresponsive_error,
};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::run::refuse_command_by_agent;

/// Whether the caller waits until the loop has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelMode {
    /// Return as soon as the command is recorded.
    NoWait,
    /// Wait for the end of the loop.
    Wait,
    /// Wait, and kill the ralph that drives the loop if it does not answer.
    WaitThenKill,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelResult {
    /// The loop was asked to stop.
    StoppingLoop(LoopPosition),
    /// The worker of the task was asked to stop.
    StoppingTask {
        task: String,
    },
    LoopCancelled(LoopPosition),
    /// The worker has cancelled the task between two loops.
    TaskCancelled {
        task: String,
    },
    /// No loop was running for the task.
    IdleTaskCancelled {
        task: String,
    },
    LoopAlreadyCancelled(LoopPosition),
    TaskAlreadyCancelled {
        task: String,
    },
    /// Another process ended the loop at the same time.
    EndedByOther(LoopPosition),
    /// The task or run was deleted meanwhile.
    Deleted,
}

/// Cancels the loop of a task or run. Dropping the future ends the waiting, not the cancelling.
pub async fn cancel_loop(target: &LoopTarget, mode: CancelMode, person: &dyn Interaction) -> AppResult<CancelResult> {
    refuse_command_by_agent(&target.project, "cancel a loop of the project that it works on")?;
    let cancellation = Cancellation { target, mode, person };
    match (target.find_driven_loop().await?, target.find_worker().await?) {
        (Some(driven), _) => cancellation.stop_driven_loop(driven).await,
        (None, Some(owner)) => cancellation.cancel_through_worker(&owner).await,
        (None, None) => cancellation.cancel_idle_target().await,
    }
}

struct Cancellation<'a> {
    target: &'a LoopTarget,
    mode: CancelMode,
    person: &'a dyn Interaction,
}

impl Cancellation<'_> {
    /// The worker of the task is between two loops. It reads the command when it starts the next one.
    async fn cancel_through_worker(&self, owner: &RunOwner) -> AppResult<CancelResult> {
        self.target.send_command(&ControlCommand::Cancel, Some(owner)).await?;
        if self.mode == CancelMode::NoWait {
            return Ok(CancelResult::StoppingTask { task: self.target.name().to_owned() });
        }
        self.wait_until_task_ends(owner).await
    }

    /// Waits until the worker has carried out a cancel between two loops of the task.
    async fn wait_until_task_ends(&self, owner: &RunOwner) -> AppResult<CancelResult> {
        let task = self.target.name().to_owned();
        let ended = async || {
            let row = self.target.store.get_task(&task).await?;
            Ok(row
                .map(|row| row.task.status)
                .filter(|status| matches!(status, TaskStatus::Cancelled | TaskStatus::Done)))
        };
        match poll_with_timeout(ANSWER_TIMEOUT * 2, ended).await? {
            Some(TaskStatus::Cancelled) => {
                self.wait_until_released().await?;
                Ok(CancelResult::TaskCancelled { task })
            }
            Some(_) => Err(nothing_to_cancel(&task)),
            None => {
                let message = format!("{owner} prepares the next loop of {task}");
                Err(AppError::from_message(ErrorKind::StateUnusable, message)
                    .with_advice("the command stays: the loop ends as soon as it starts"))
            }
        }
    }

    /// Asks the driver of the loop to end it, and waits for the end.
    async fn stop_driven_loop(&self, driven: DrivenLoop) -> AppResult<CancelResult> {
        let DrivenLoop { row, owner } = driven;
        let command_id = match self.target.send_command(&ControlCommand::Cancel, owner.as_ref()).await? {
            CommandDelivery::Queued { id } => id,
            CommandDelivery::RunEnded => return Box::pin(self.cancel_idle_target()).await,
        };
        let time = duration::format_exact(grace_period(&row));
        self.person.show_note(&format!("the agent and its checks have at most {time} to stop; then they are killed"));
        if self.mode == CancelMode::NoWait {
            return Ok(CancelResult::StoppingLoop(describe_loop(&row)));
        }
        let gone = async || Ok(self.target.find_driven_loop().await?.is_none().then_some(()));
        let mut has_ended = poll_with_timeout(grace_period(&row) + ANSWER_TIMEOUT, gone).await?.is_some();
        if !has_ended && self.mode == CancelMode::WaitThenKill {
            owner.as_ref().map(|owner| owner.process.kill());
            has_ended = poll_with_timeout(ANSWER_TIMEOUT, gone).await?.is_some();
        }
        if !has_ended {
            return Err(unresponsive_error(&row, owner.as_ref())
                .with_advice("the command stays: the loop ends as soon as it answers")
                .with_advice(ControlAdvice::KillDriver));
        }
        self.confirm_stopped_loop(&row, &command_id).await
    }

    /// Returns how a loop ended that no process drives any more.
    async fn confirm_stopped_loop(&self, row: &LoopRow, command_id: &str) -> AppResult<CancelResult> {
        let store = &self.target.store;
        let answer = store.command_answer(command_id).await?;
        let Some(row) = store.loop_of_run(&row.run.id).await? else { return Ok(CancelResult::Deleted) };
        match (row.run.status.as_str(), answer) {
            ("cancelled", Some(CommandAnswer::Applied)) => {
                self.wait_until_released().await?;
                Ok(CancelResult::LoopCancelled(describe_loop(&row)))
            }
            ("cancelled", Some(CommandAnswer::NoEffect) | None) => {
                Ok(CancelResult::LoopAlreadyCancelled(describe_loop(&row)))
            }
            // It ended by itself. The worker of its task carries out the cancel before the next loop.
            (_, _) => match self.target.find_worker().await? {
                Some(owner) => self.wait_until_task_ends(&owner).await,
                None => {
                    store.withdraw_command(command_id).await?;
                    self.cancel_idle_target().await
                }
            },
        }
    }

    /// Waits until the worker has released the task.
    async fn wait_until_released(&self) -> AppResult<()> {
        let free = async || Ok(self.target.find_worker().await?.is_none().then_some(()));
        poll_with_timeout(ANSWER_TIMEOUT, free).await.map(drop)
    }

    /// Cancels a task or run that no process drives.
    async fn cancel_idle_target(&self) -> AppResult<CancelResult> {
        match &self.target.kind {
            LoopTargetKind::Run(row) => self.cancel_idle_run(row).await,
            LoopTargetKind::Task { id, .. } => self.cancel_idle_task(id).await,
        }
    }

    async fn cancel_idle_run(&self, row: &LoopRow) -> AppResult<CancelResult> {
        let row = self.target.store.loop_of_run(&row.run.id).await?.unwrap_or_else(|| row.clone());
        let position = describe_loop(&row);
        match row.run.status.as_str() {
            "running" | "interrupted" => match self.end_orphaned_run(&row).await? {
                true => Ok(CancelResult::LoopCancelled(position)),
                false => Ok(CancelResult::EndedByOther(position)),
            },
            "cancelled" => Ok(CancelResult::LoopAlreadyCancelled(position)),
            status => Err(AppError::preflight(format!("the Ralph loop for {position} has ended: {status}"))
                .with_advice("there is nothing to cancel")),
        }
    }

    async fn end_orphaned_run(&self, row: &LoopRow) -> AppResult<bool> {
        end_orphaned_run(&self.target.project, &self.target.store, row, self.person).await
    }

    /// Cancels a task that no worker has, and its run that could be resumed.
    async fn cancel_idle_task(&self, id: &str) -> AppResult<CancelResult> {
        let task = id.to_owned();
        if let Some(row) = find_resumable_run(&self.target.store, id).await? {
            self.end_orphaned_run(&row).await?;
            self.target.settle_task(id, TaskSettlement::Cancelled).await?;
            return Ok(CancelResult::LoopCancelled(describe_loop(&row)));
        }
        let Some(row) = self.target.store.get_task(id).await? else { return Ok(CancelResult::Deleted) };
        match row.task.status {
            TaskStatus::Cancelled => return Ok(CancelResult::TaskAlreadyCancelled { task }),
            TaskStatus::Done => return Err(nothing_to_cancel(id)),
            TaskStatus::Todo
            | TaskStatus::Coding
            | TaskStatus::Reviewing
            | TaskStatus::Testing
            | TaskStatus::Qa
            | TaskStatus::Blocked => {}
        }
        self.target.settle_task(id, TaskSettlement::Cancelled).await?;
        Ok(CancelResult::IdleTaskCancelled { task })
    }
}

fn nothing_to_cancel(task: &str) -> AppError {
    AppError::preflight(format!("{task} is done")).with_advice("there is nothing to cancel")
}
