//! The timers that the rules have started. They run on active time; timers of rate limits also on the wall clock.
use std::time::Duration;

use ralph_core::event::{LoopTimer, UnixMillis};

#[derive(Debug, Default)]
pub struct TimerQueue {
    timers: Vec<RunningTimer>,
}

#[derive(Debug)]
struct RunningTimer {
    timer: LoopTimer,
    due: Duration,
    /// The wall-clock time at which it is due even if `due` is not reached.
    wall_due: Option<UnixMillis>,
}

impl TimerQueue {
    /// Starts or restarts a timer.
    pub fn start(&mut self, timer: LoopTimer, due: Duration) {
        self.cancel(timer);
        self.timers.push(RunningTimer { timer, due, wall_due: None });
    }

    /// Starts a timer that is due by either clock: active time does not advance while the machine sleeps, and the wall clock
    /// can be set.
    pub fn start_with_wall_due(&mut self, timer: LoopTimer, due: Duration, wall: UnixMillis) {
        self.cancel(timer);
        self.timers.push(RunningTimer { timer, due, wall_due: Some(wall) });
    }

    pub fn cancel(&mut self, timer: LoopTimer) {
        self.timers.retain(|running| running.timer != timer);
    }

    /// Removes all timers: a new attempt starts new ones.
    pub fn clear(&mut self) {
        self.timers.clear();
    }

    /// Returns when the next timer is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.timers.iter().map(|running| running.due).min()
    }

    /// Removes and returns the timer that has been due longest.
    pub fn take_due(&mut self, now: Duration, wall: UnixMillis) -> Option<LoopTimer> {
        let is_due = |running: &RunningTimer| running.due <= now || running.wall_due.is_some_and(|due| due <= wall);
        let (at, _) = self
            .timers
            .iter()
            .enumerate()
            .filter(|(_, running)| is_due(running))
            .min_by_key(|(_, running)| running.due)?;
        Some(self.timers.swap_remove(at).timer)
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::AttemptKey;

    use super::*;

    #[test]
    fn timers_fire_in_the_order_they_are_due_and_once() {
        let key = AttemptKey { iteration: 1, attempt: 1 };
        let (silence, iteration) = (LoopTimer::Silence { key }, LoopTimer::Iteration { key });
        let mut timers = TimerQueue::default();
        timers.start(iteration, Duration::from_secs(9));
        timers.start(silence, Duration::from_secs(2));
        timers.start(silence, Duration::from_secs(3));
        assert_eq!(timers.next_due(), Some(Duration::from_secs(3)));
        assert_eq!(timers.take_due(Duration::from_secs(2), UnixMillis(0)), None);
        assert_eq!(timers.take_due(Duration::from_secs(10), UnixMillis(0)), Some(silence));
        assert_eq!(timers.take_due(Duration::from_secs(10), UnixMillis(0)), Some(iteration));
        assert_eq!(timers.take_due(Duration::from_secs(10), UnixMillis(0)), None);
    }

    // spec: L6
    #[test]
    fn a_limit_wait_ends_by_whichever_clock_is_due_first() {
        let timer = LoopTimer::Limit { key: AttemptKey { iteration: 1, attempt: 2 } };
        let (due, wall) = (Duration::from_secs(60), UnixMillis(1_000_060_000));
        let mut timers = TimerQueue::default();
        let early = (Duration::from_secs(59), UnixMillis(1_000_059_999));
        let slept = (Duration::from_secs(1), wall);
        let set_back = (due, UnixMillis(0));
        for elapsed in [slept, set_back] {
            timers.start_with_wall_due(timer, due, wall);
            assert_eq!(timers.take_due(early.0, early.1), None);
            assert_eq!(timers.take_due(elapsed.0, elapsed.1), Some(timer));
        }
    }
}
