//! The tasks that this worker has leased, and the control channels to their loops.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ralph_core::event::StopSignal;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use ralph_engine::run_driver::{ControlEvent, SignalRequest, SuspendRequest};
use ralph_store::TaskLease;

#[derive(Default)]
pub(super) struct ActiveTasks {
    tasks: Mutex<BTreeMap<String, ActiveTask>>,
    stop_signal: Mutex<Option<StopSignal>>,
    pause_changed: Notify,
    /// Whether a busy database was reported.
    is_busy_reported: AtomicBool,
}

struct ActiveTask {
    lease: TaskLease,
    /// The run id and the channel of the loop in progress.
    control: Option<(String, UnboundedSender<ControlEvent>)>,
    is_lease_lost: bool,
    is_paused: bool,
}

impl ActiveTasks {
    fn lock_tasks(&self) -> MutexGuard<'_, BTreeMap<String, ActiveTask>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, lease: &TaskLease) {
        let active = ActiveTask { lease: lease.clone(), control: None, is_lease_lost: false, is_paused: false };
        self.lock_tasks().insert(lease.task_id.clone(), active);
    }

    pub(super) fn remove(&self, task: &str) {
        self.lock_tasks().remove(task);
    }

    pub(super) fn leases(&self) -> Vec<TaskLease> {
        self.lock_tasks().values().map(|active| active.lease.clone()).collect()
    }

    /// Opens a control channel to the loop of this run, a stage of this task. An earlier stop or lost lease is sent again.
    pub(super) fn open_control_channel(&self, task: &str, run: &str) -> UnboundedReceiver<ControlEvent> {
        let (sender, receiver) = unbounded_channel();
        if let Some(active) = self.lock_tasks().get_mut(task) {
            active.control = Some((run.to_owned(), sender));
            active.is_paused = false;
            let stop = self.stop_signal().map(|signal| ControlEvent::Signal(SignalRequest::Stop(signal)));
            let lost = active.is_lease_lost.then_some(ControlEvent::LeaseLost);
            stop.into_iter().chain(lost).for_each(|event| active.send_event(event));
        }
        receiver
    }

    /// Stops every loop. No task starts another stage.
    pub(super) fn stop_all(&self, signal: StopSignal) {
        *self.stop_signal.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
        let stop = || ControlEvent::Signal(SignalRequest::Stop(signal));
        self.lock_tasks().values().for_each(|active| active.send_event(stop()));
    }

    /// Asks every loop to pause its agent.
    pub(super) fn suspend_all(&self, request: &SuspendRequest) {
        self.lock_tasks().values().for_each(|active| active.send_event(ControlEvent::Suspend(request.clone())));
    }

    pub(super) fn stop_signal(&self) -> Option<StopSignal> {
        *self.stop_signal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the loops for which orders wait. A target is the id of a run, or of a task.
    pub(super) fn notify_waiting_commands(&self, targets: &[(Option<String>, Option<String>)]) {
        for (task, active) in &*self.lock_tasks() {
            let run = active.control.as_ref().map(|(run, _)| run);
            let is_target = |of_run: Option<&String>, of_task: Option<&String>| {
                of_task == Some(task) || of_run.is_some() && of_run == run
            };
            if targets.iter().any(|(of_run, of_task)| is_target(of_run.as_ref(), of_task.as_ref())) {
                active.send_event(ControlEvent::Signal(SignalRequest::CheckOrders));
            }
        }
    }

    /// Records that the loop of this task is paused or resumed.
    pub(super) fn set_paused(&self, task: &str, is_paused: bool) {
        if let Some(active) = self.lock_tasks().get_mut(task) {
            active.is_paused = is_paused;
            self.pause_changed.notify_one();
        }
    }

    /// Returns how many tasks are paused.
    pub(super) fn paused_count(&self) -> usize {
        self.lock_tasks().values().filter(|active| active.is_paused).count()
    }

    /// Waits until a loop is paused or resumed.
    pub(super) async fn changed(&self) {
        self.pause_changed.notified().await;
    }

    /// Records whether the database is busy. Returns whether that must be reported.
    pub(super) fn is_newly_busy(&self, is_busy: bool) -> bool {
        !self.is_busy_reported.swap(is_busy, Ordering::Relaxed) && is_busy
    }

    /// Records that another worker has leased this task, and stops its loop.
    pub(super) fn mark_lease_lost(&self, task: &str) {
        if let Some(active) = self.lock_tasks().get_mut(task) {
            active.is_lease_lost = true;
            active.send_event(ControlEvent::LeaseLost);
        }
    }

    pub(super) fn is_lease_lost(&self, task: &str) -> bool {
        self.lock_tasks().get(task).is_some_and(|active| active.is_lease_lost)
    }
}

impl ActiveTask {
    fn send_event(&self, event: ControlEvent) {
        if let Some((_, sender)) = &self.control {
            // A loop that has just ended receives nothing.
            let _ = sender.send(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L11
    // fault: 94
    #[test]
    fn a_loop_that_starts_after_a_stop_or_a_lost_lease_is_notified() {
        let active_tasks = ActiveTasks::default();
        active_tasks.insert(&TaskLease { task_id: "T-1".to_owned(), fence: 1 });
        active_tasks.stop_all(StopSignal::Int);
        active_tasks.mark_lease_lost("T-1");
        let mut events = active_tasks.open_control_channel("T-1", "r1");
        assert!(matches!(events.try_recv(), Ok(ControlEvent::Signal(SignalRequest::Stop(StopSignal::Int)))));
        assert!(matches!(events.try_recv(), Ok(ControlEvent::LeaseLost)));
        assert!(events.try_recv().is_err());
    }
}
