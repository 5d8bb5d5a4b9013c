//! Who is at work: the tasks that this worker has, and how their loops are reached.
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use ralph_core::event::StopSignal;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use ralph_engine::run_driver::{ControlEvent, SignalRequest, SuspendRequest};
use ralph_store::TaskLease;

#[derive(Default)]
pub(super) struct ActiveTasks {
    tasks: RefCell<BTreeMap<String, ActiveTask>>,
    stop_signal: Cell<Option<StopSignal>>,
    pause_changed: Notify,
    /// People were told that others write to the store all the time.
    is_busy_reported: Cell<bool>,
}

struct ActiveTask {
    lease: TaskLease,
    /// Reaches the loop of this run, while there is one.
    control: Option<(String, UnboundedSender<ControlEvent>)>,
    is_lease_lost: bool,
    is_paused: bool,
}

impl ActiveTasks {
    pub(super) fn insert(&self, lease: &TaskLease) {
        let active = ActiveTask { lease: lease.clone(), control: None, is_lease_lost: false, is_paused: false };
        self.tasks.borrow_mut().insert(lease.task_id.clone(), active);
    }

    pub(super) fn remove(&self, task: &str) {
        self.tasks.borrow_mut().remove(task);
    }

    pub(super) fn leases(&self) -> Vec<TaskLease> {
        self.tasks.borrow().values().map(|seat| seat.lease.clone()).collect()
    }

    /// Returns the end of a new line to the loop of this run, a stage of this task. What was said before is said again.
    pub(super) fn open_control_channel(&self, task: &str, run: &str) -> UnboundedReceiver<ControlEvent> {
        let (sender, receiver) = unbounded_channel();
        if let Some(active) = self.tasks.borrow_mut().get_mut(task) {
            active.control = Some((run.to_owned(), sender));
            active.is_paused = false;
            let stop = self.stop_signal().map(|signal| ControlEvent::Signal(SignalRequest::Stop(signal)));
            let lost = active.is_lease_lost.then_some(ControlEvent::LeaseLost);
            stop.into_iter().chain(lost).for_each(|ask| active.send_event(ask));
        }
        receiver
    }

    /// Tells every loop that it must stop, and every task that no other stage begins.
    pub(super) fn stop_all(&self, signal: StopSignal) {
        self.stop_signal.set(Some(signal));
        self.tasks
            .borrow()
            .values()
            .for_each(|seat| seat.send_event(ControlEvent::Signal(SignalRequest::Stop(signal))));
    }

    /// Asks every loop to hold its agent.
    pub(super) fn suspend_all(&self, halt: &SuspendRequest) {
        self.tasks.borrow().values().for_each(|seat| seat.send_event(ControlEvent::Suspend(halt.clone())));
    }

    pub(super) fn stop_signal(&self) -> Option<StopSignal> {
        self.stop_signal.get()
    }

    /// Tells the loops for which orders wait: of a run, or of a task.
    pub(super) fn notify_waiting_orders(&self, awaited: &[(Option<String>, Option<String>)]) {
        for (task, active) in &*self.tasks.borrow() {
            let run = active.control.as_ref().map(|(run, _)| run);
            if awaited.iter().any(|(of, by)| by.as_ref() == Some(task) || of.is_some() && of.as_ref() == run) {
                active.send_event(ControlEvent::Signal(SignalRequest::CheckOrders));
            }
        }
    }

    /// The loop of this task pauses, or goes on.
    pub(super) fn set_paused(&self, task: &str, is_paused: bool) {
        if let Some(active) = self.tasks.borrow_mut().get_mut(task) {
            active.is_paused = is_paused;
            self.pause_changed.notify_one();
        }
    }

    /// Returns how many tasks nobody works on, because their loops are paused.
    pub(super) fn paused_count(&self) -> usize {
        self.tasks.borrow().values().filter(|seat| seat.is_paused).count()
    }

    /// Waits until a loop pauses or goes on.
    pub(super) async fn changed(&self) {
        self.pause_changed.notified().await;
    }

    /// Notes whether something could be stored. Tells whether it is news that others write all the time.
    pub(super) fn is_newly_busy(&self, is_busy: bool) -> bool {
        !self.is_busy_reported.replace(is_busy) && is_busy
    }

    /// Another worker has this task.
    pub(super) fn mark_lease_lost(&self, task: &str) {
        if let Some(active) = self.tasks.borrow_mut().get_mut(task) {
            active.is_lease_lost = true;
            active.send_event(ControlEvent::LeaseLost);
        }
    }

    pub(super) fn is_lease_lost(&self, task: &str) -> bool {
        self.tasks.borrow().get(task).is_some_and(|seat| seat.is_lease_lost)
    }
}

impl ActiveTask {
    fn send_event(&self, event: ControlEvent) {
        if let Some((_, sender)) = &self.control {
            // A loop that has just ended hears nothing.
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
