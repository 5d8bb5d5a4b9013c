//! The timers that the rules started, by name. They run on active time; those of limits also by the clock on the wall.
use std::time::Duration;

use ralph_core::event::{Millis, Timer};

#[derive(Debug, Default)]
pub struct Timers {
    running: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    timer: Timer,
    due: Duration,
    /// When it is due at the latest, whatever the own clock says.
    wall: Option<Millis>,
}

impl Timers {
    /// Starts a timer, or starts it anew.
    pub fn start(&mut self, timer: Timer, due: Duration) {
        self.cancel(timer);
        self.running.push(Running { timer, due, wall: None });
    }

    /// Starts a timer that is due by either clock: one stands still while the machine sleeps, the other can be set.
    pub fn start_by_both(&mut self, timer: Timer, due: Duration, wall: Millis) {
        self.cancel(timer);
        self.running.push(Running { timer, due, wall: Some(wall) });
    }

    pub fn cancel(&mut self, timer: Timer) {
        self.running.retain(|running| running.timer != timer);
    }

    /// Forgets all timers: a new attempt starts its own.
    pub fn clear(&mut self) {
        self.running.clear();
    }

    /// Returns when the next timer is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.running.iter().map(|running| running.due).min()
    }

    /// Takes the timer that has been due longest.
    pub fn take_due(&mut self, now: Duration, wall: Millis) -> Option<Timer> {
        let is_due = |running: &Running| running.due <= now || running.wall.is_some_and(|due| due <= wall);
        let (at, _) = self
            .running
            .iter()
            .enumerate()
            .filter(|(_, running)| is_due(running))
            .min_by_key(|(_, running)| running.due)?;
        Some(self.running.swap_remove(at).timer)
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::AttemptKey;

    use super::*;

    #[test]
    fn timers_fire_in_the_order_they_are_due_and_once() {
        let key = AttemptKey { iteration: 1, attempt: 1 };
        let (silence, iteration) = (Timer::Silence { key }, Timer::Iteration { key });
        let mut timers = Timers::default();
        timers.start(iteration, Duration::from_secs(9));
        timers.start(silence, Duration::from_secs(2));
        timers.start(silence, Duration::from_secs(3));
        assert_eq!(timers.next_due(), Some(Duration::from_secs(3)));
        assert_eq!(timers.take_due(Duration::from_secs(2), Millis(0)), None);
        assert_eq!(timers.take_due(Duration::from_secs(10), Millis(0)), Some(silence));
        assert_eq!(timers.take_due(Duration::from_secs(10), Millis(0)), Some(iteration));
        assert_eq!(timers.take_due(Duration::from_secs(10), Millis(0)), None);
    }

    // spec: L6
    #[test]
    fn a_wait_for_a_limit_is_over_by_the_clock_that_is_there_first() {
        let timer = Timer::Limit { key: AttemptKey { iteration: 1, attempt: 2 } };
        let (due, wall) = (Duration::from_secs(60), Millis(1_000_060_000));
        let mut timers = Timers::default();
        let early = (Duration::from_secs(59), Millis(1_000_059_999));
        let slept = (Duration::from_secs(1), wall);
        let set_back = (due, Millis(0));
        for over in [slept, set_back] {
            timers.start_by_both(timer, due, wall);
            assert_eq!(timers.take_due(early.0, early.1), None);
            assert_eq!(timers.take_due(over.0, over.1), Some(timer));
        }
    }
}
