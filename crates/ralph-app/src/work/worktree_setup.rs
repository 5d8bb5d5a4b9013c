//! The work tree of a task is made fit for work. Whoever stops the worker, cancels the task or takes it over is heard meanwhile.
use std::pin::pin;
use std::sync::Arc;

use ralph_core::control_command::ControlCommand as Asked;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::task_runner::TaskRunner;
use crate::error::AppResult;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{self, ControlEvent, suspend_commands};
use ralph_process::{JobCommand, Keeper};
use ralph_store::{Store, StoreError, TaskLease};

/// What the user's commands are started with.
pub struct SetupContext {
    pub keeper: Keeper,
    pub commands: UnboundedReceiver<JobCommand>,
    store: Arc<Store>,
    lease: TaskLease,
}

impl SetupContext {
    /// Tells whether the task is still this worker's. Who cannot tell starts nothing.
    pub fn lease_check(&self) -> impl AsyncFn() -> bool + use<> {
        let (store, claim) = (Arc::clone(&self.store), self.lease.clone());
        async move || {
            let held = store.task_ownership(&claim.task_id).await;
            held.is_ok_and(|held| held.is_some_and(|task| task.owner_json.is_some() && task.fence == claim.fence))
        }
    }
}

/// What became of it.
pub(super) enum WorktreeSetup {
    Ready(Project),
    /// The worker was told to stop.
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
        let with = SetupContext {
            keeper: self.keeper.clone(),
            commands: command_receiver,
            store: Arc::clone(&self.store),
            lease: self.lease.clone(),
        };
        let mut setup = pin!(self.services.prepare_worktree(&self.task_row, with));
        tokio::select! {
            made = &mut setup => made.map(WorktreeSetup::Ready),
            end = self.wait_for_setup_end(&mut events, &command_sender) => {
                let end = end?;
                let _ = command_sender.send(JobCommand::Kill);
                let made = setup.await;
                end.map_or_else(|| made.map(WorktreeSetup::Ready), Ok)
            }
        }
    }

    /// Waits until the commands must end. Returns what that makes of the task, where it is still ours.
    async fn wait_for_setup_end(
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
                Some(ControlEvent::Suspend(halt)) => suspend_commands(halt, command_sender).await,
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

    async fn is_task_cancelled(&self) -> Result<bool, StoreError> {
        // There is no run yet that orders could be for.
        let waiting = self.store.pending_commands("", Some(&self.lease.task_id)).await?;
        Ok(waiting.iter().any(|waiting| waiting.command == Asked::Cancel))
    }
}
