//! Sets up the work tree of a task, and handles a stop, a cancellation or a lost lease meanwhile.
use std::pin::pin;
use std::sync::Arc;

use ralph_core::control_command::ControlCommand;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::task_runner::TaskRunner;
use crate::error::AppResult;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{self, ControlEvent, suspend_commands};
use ralph_process::{JobCommand, Keeper};
use ralph_store::{Store, StoreError, TaskLease};

/// The context in which setup commands run.
pub struct SetupContext {
    pub keeper: Keeper,
    pub commands: UnboundedReceiver<JobCommand>,
    store: Arc<Store>,
    lease: TaskLease,
}

/// Checks whether this worker still holds the lease of a task.
pub struct LeaseCheck {
    store: Arc<Store>,
    lease: TaskLease,
}

impl LeaseCheck {
    /// Returns false if the store cannot be read.
    pub async fn is_held(&self) -> bool {
        let held = self.store.task_ownership(&self.lease.task_id).await;
        held.is_ok_and(|held| held.is_some_and(|task| task.owner_json.is_some() && task.fence == self.lease.fence))
    }
}

impl SetupContext {
    pub fn lease_check(&self) -> LeaseCheck {
        LeaseCheck { store: Arc::clone(&self.store), lease: self.lease.clone() }
    }
}

/// The result of a setup.
pub(super) enum WorktreeSetup {
    Ready(Project),
    /// The worker was stopped.
    Stopped,
    /// The task was cancelled.
    Cancelled,
}

impl TaskRunner {
    pub(super) async fn set_up_worktree(&self) -> AppResult<WorktreeSetup> {
        let task = &self.lease.task_id;
        if self.is_task_cancelled().await? {
            return Ok(WorktreeSetup::Cancelled);
        }
        let mut events = self.active_tasks.open_control_channel(task, "");
        let (command_sender, command_receiver) = unbounded_channel();
        let context = SetupContext {
            keeper: self.keeper.clone(),
            commands: command_receiver,
            store: Arc::clone(&self.store),
            lease: self.lease.clone(),
        };
        let mut setup = pin!(self.services.prepare_worktree(&self.task_row, context));
        tokio::select! {
            project = &mut setup => project.map(WorktreeSetup::Ready),
            end = self.wait_for_setup_end(&mut events, &command_sender) => {
                let end = end?;
                let _ = command_sender.send(JobCommand::Kill);
                let project = setup.await;
                end.map_or_else(|| project.map(WorktreeSetup::Ready), Ok)
            }
        }
    }

    /// Waits until the setup must end. Returns its result, or `None` if the lease is lost.
    pub(super) async fn wait_for_setup_end(
        &self,
        events: &mut UnboundedReceiver<ControlEvent>,
        command_sender: &UnboundedSender<JobCommand>,
    ) -> Result<Option<WorktreeSetup>, StoreError> {
        loop {
            match events.recv().await {
                Some(ControlEvent::LeaseLost) => return Ok(None),
                Some(ControlEvent::Signal(run_driver::SignalRequest::Stop(_))) => {
                    return Ok(Some(WorktreeSetup::Stopped));
                }
                Some(ControlEvent::Suspend(request)) => suspend_commands(request, command_sender).await,
                Some(ControlEvent::Signal(run_driver::SignalRequest::CheckOrders))
                    if self.is_task_cancelled().await? =>
                {
                    return Ok(Some(WorktreeSetup::Cancelled));
                }
                Some(ControlEvent::Signal(
                    run_driver::SignalRequest::CheckOrders | run_driver::SignalRequest::Suspend,
                )) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Returns whether a cancel waits for the task. A run that has started takes it itself.
    pub(super) async fn is_task_cancelled(&self) -> Result<bool, StoreError> {
        // No run of the task is in progress, so only commands for the task matter.
        let pending = self.store.pending_commands("", Some(&self.lease.task_id)).await?;
        Ok(pending.iter().any(|pending| pending.command == ControlCommand::Cancel))
    }
}
