//! Who is at work: the tasks that this worker has, and how their loops are reached.
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use ralph_core::event::StopSignal;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::engine::{Ask, Asked, Halt};
use ralph_store::Claim;

#[derive(Default)]
pub(super) struct Desk {
    seats: RefCell<BTreeMap<String, Seat>>,
    stopped: Cell<Option<StopSignal>>,
    paused: Notify,
    /// People were told that others write to the store all the time.
    is_busy: Cell<bool>,
}

struct Seat {
    claim: Claim,
    /// Reaches the loop of this run, while there is one.
    line: Option<(String, UnboundedSender<Ask>)>,
    is_lost: bool,
    is_paused: bool,
}

impl Desk {
    pub(super) fn sit(&self, claim: &Claim) {
        let seat = Seat { claim: claim.clone(), line: None, is_lost: false, is_paused: false };
        self.seats.borrow_mut().insert(claim.task.clone(), seat);
    }

    pub(super) fn leave(&self, task: &str) {
        self.seats.borrow_mut().remove(task);
    }

    pub(super) fn claims(&self) -> Vec<Claim> {
        self.seats.borrow().values().map(|seat| seat.claim.clone()).collect()
    }

    /// Returns the end of a new line to the loop of this run, a stage of this task. What was said before is said again.
    pub(super) fn line(&self, task: &str, run: &str) -> UnboundedReceiver<Ask> {
        let (line, end) = unbounded_channel();
        if let Some(seat) = self.seats.borrow_mut().get_mut(task) {
            seat.line = Some((run.to_owned(), line));
            seat.is_paused = false;
            let stop = self.stopped().map(|signal| Ask::Signal(Asked::Stop(signal)));
            let lost = seat.is_lost.then_some(Ask::Lost);
            stop.into_iter().chain(lost).for_each(|ask| seat.tell(ask));
        }
        end
    }

    /// Tells every loop that it must stop, and every task that no other stage begins.
    pub(super) fn stop(&self, signal: StopSignal) {
        self.stopped.set(Some(signal));
        self.seats.borrow().values().for_each(|seat| seat.tell(Ask::Signal(Asked::Stop(signal))));
    }

    /// Asks every loop to hold its agent.
    pub(super) fn halt(&self, halt: &Halt) {
        self.seats.borrow().values().for_each(|seat| seat.tell(Ask::Halt(halt.clone())));
    }

    pub(super) fn stopped(&self) -> Option<StopSignal> {
        self.stopped.get()
    }

    /// Tells the loops for which orders wait: of a run, or of a task.
    pub(super) fn look(&self, awaited: &[(Option<String>, Option<String>)]) {
        for (task, seat) in &*self.seats.borrow() {
            let run = seat.line.as_ref().map(|(run, _)| run);
            if awaited.iter().any(|(of, by)| by.as_ref() == Some(task) || of.is_some() && of.as_ref() == run)
            {
                seat.tell(Ask::Signal(Asked::Look));
            }
        }
    }

    /// The loop of this task pauses, or goes on.
    pub(super) fn pause(&self, task: &str, is_paused: bool) {
        if let Some(seat) = self.seats.borrow_mut().get_mut(task) {
            seat.is_paused = is_paused;
            self.paused.notify_one();
        }
    }

    /// Returns how many tasks nobody works on, because their loops are paused.
    pub(super) fn paused(&self) -> usize {
        self.seats.borrow().values().filter(|seat| seat.is_paused).count()
    }

    /// Waits until a loop pauses or goes on.
    pub(super) async fn changed(&self) {
        self.paused.notified().await;
    }

    /// Notes whether something could be stored. Tells whether it is news that others write all the time.
    pub(super) fn is_busy_now(&self, is_busy: bool) -> bool {
        !self.is_busy.replace(is_busy) && is_busy
    }

    /// Another worker has this task.
    pub(super) fn lose(&self, task: &str) {
        if let Some(seat) = self.seats.borrow_mut().get_mut(task) {
            seat.is_lost = true;
            seat.tell(Ask::Lost);
        }
    }

    pub(super) fn is_lost(&self, task: &str) -> bool {
        self.seats.borrow().get(task).is_some_and(|seat| seat.is_lost)
    }
}

impl Seat {
    fn tell(&self, ask: Ask) {
        if let Some((_, line)) = &self.line {
            // A loop that has just ended hears nothing.
            let _ = line.send(ask);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L11
    // fault: 94
    #[test]
    fn a_loop_that_begins_after_the_stop_or_the_loss_hears_of_it() {
        let desk = Desk::default();
        desk.sit(&Claim { task: "T-1".to_owned(), fence: 1 });
        desk.stop(StopSignal::Int);
        desk.lose("T-1");
        let mut line = desk.line("T-1", "r1");
        assert!(matches!(line.try_recv(), Ok(Ask::Signal(Asked::Stop(StopSignal::Int)))));
        assert!(matches!(line.try_recv(), Ok(Ask::Lost)));
        assert!(line.try_recv().is_err());
    }
}
