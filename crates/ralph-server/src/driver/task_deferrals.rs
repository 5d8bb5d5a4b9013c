//! Which tasks the worker could not start, and why. The reason is not part of the journal: nothing has happened to the task.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_app::error::{AppError, AppResult};
use ralph_app::landing::LandResult;
use ralph_app::work::{TaskEvent, WorkObserver};
use ralph_engine::run_driver::{Clock, RunObserver, RunPlan};

/// A task that could not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeferredTask {
    pub task: String,
    pub reason: String,
    /// When the reason was found, in milliseconds.
    pub since: i64,
}

/// The tasks that the workers of this process could not start, until one starts them.
#[derive(Default)]
pub(crate) struct TaskDeferrals {
    tasks: Mutex<BTreeMap<String, DeferredTask>>,
}

impl TaskDeferrals {
    pub(crate) fn list(&self) -> Vec<DeferredTask> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn find(&self, task: &str) -> Option<DeferredTask> {
        self.lock().get(task).cloned()
    }

    /// Forgets what an earlier worker has found.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn update(&self, event: &TaskEvent<'_>) {
        match event {
            TaskEvent::Deferred { task, reason } => {
                let (task, reason) = ((*task).to_owned(), (*reason).to_owned());
                self.lock().insert(task.clone(), DeferredTask { task, reason, since: Clock::wall_now().0 });
            }
            TaskEvent::Leased { task, .. }
            | TaskEvent::StageStarted { task, .. }
            | TaskEvent::Finished { task, .. }
            | TaskEvent::LeaseLost { task } => drop(self.lock().remove(*task)),
            TaskEvent::StageAdvanced { .. }
            | TaskEvent::Interrupted { .. }
            | TaskEvent::Parked { .. }
            | TaskEvent::Idle
            | TaskEvent::StoreBusy
            | TaskEvent::BudgetExhausted { .. }
            | TaskEvent::TooManyFailures { .. } => {}
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, DeferredTask>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes the reasons, and passes everything on to the screen of the worker.
pub(super) struct DeferralObserver {
    pub(super) deferrals: Arc<TaskDeferrals>,
    pub(super) screen: Arc<dyn WorkObserver>,
}

impl WorkObserver for DeferralObserver {
    fn on_task_event(&self, event: &TaskEvent<'_>) {
        self.deferrals.update(event);
        self.screen.on_task_event(event);
    }

    fn on_landing(&self, task: &str, result: &AppResult<LandResult>) {
        self.screen.on_landing(task, result);
    }

    fn on_warning(&self, task: &str, text: &str) {
        self.screen.on_warning(task, text);
    }

    fn stage_observer(&self, plan: &RunPlan) -> AppResult<Box<dyn RunObserver>> {
        self.screen.stage_observer(plan)
    }

    fn describe_error(&self, error: &AppError) -> String {
        self.screen.describe_error(error)
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::task::Role;

    use super::*;

    // spec: U5
    #[test]
    fn a_reason_is_kept_until_the_task_starts() {
        let deferrals = TaskDeferrals::default();
        deferrals.update(&TaskEvent::Deferred { task: "T-1", reason: "no agent" });
        deferrals.update(&TaskEvent::Deferred { task: "T-2", reason: "no branch" });
        deferrals.update(&TaskEvent::Idle);
        assert_eq!(deferrals.find("T-1").unwrap().reason, "no agent");
        deferrals.update(&TaskEvent::Leased { task: "T-1", stage: &Role::BUILT_IN[0], attempt: 1 });
        let left: Vec<String> = deferrals.list().into_iter().map(|deferred| deferred.task).collect();
        assert_eq!(left, ["T-2"]);
    }
}
