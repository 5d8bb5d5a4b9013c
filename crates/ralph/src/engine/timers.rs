//! The timers that the rules started, by name. They run on active time.
use std::time::Duration;

use ralph_core::event::Timer;

#[derive(Debug, Default)]
pub struct Timers {
    running: Vec<(Timer, Duration)>,
}

impl Timers {
    /// Starts a timer, or starts it anew.
    pub fn start(&mut self, timer: Timer, due: Duration) {
        self.cancel(timer);
        self.running.push((timer, due));
    }

    pub fn cancel(&mut self, timer: Timer) {
        self.running.retain(|(running, _)| *running != timer);
    }

    /// Forgets all timers: a new attempt starts its own.
    pub fn clear(&mut self) {
        self.running.clear();
    }

    /// Returns when the next timer is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.running.iter().map(|(_, due)| *due).min()
    }

    /// Takes the timer that has been due longest.
    pub fn take_due(&mut self, now: Duration) -> Option<Timer> {
        let (at, _) = self
            .running
            .iter()
            .enumerate()
            .filter(|(_, (_, due))| *due <= now)
            .min_by_key(|(_, (_, due))| *due)?;
        Some(self.running.swap_remove(at).0)
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
        assert_eq!(timers.take_due(Duration::from_secs(2)), None);
        assert_eq!(timers.take_due(Duration::from_secs(10)), Some(silence));
        assert_eq!(timers.take_due(Duration::from_secs(10)), Some(iteration));
        assert_eq!(timers.take_due(Duration::from_secs(10)), None);
    }
}
