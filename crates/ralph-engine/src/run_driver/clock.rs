//! The only place where the engine reads the time. Within a run it never jumps: the wall clock is read once, and the
//! monotonic clock advances it. Time in which Ctrl-Z stopped the process does not count for timers.
use std::time::{Duration, Instant, SystemTime};

use ralph_core::event::UnixMillis;

#[derive(Debug)]
pub struct Clock {
    wall_start_ms: i64,
    started: Instant,
    stopped_time: Duration,
}

impl Clock {
    #[must_use]
    pub fn start() -> Self {
        let UnixMillis(wall_start_ms) = Self::wall_now();
        Self { wall_start_ms, started: Instant::now(), stopped_time: Duration::ZERO }
    }

    /// Returns the time to record in the journal.
    #[must_use]
    pub fn now(&self) -> UnixMillis {
        let run = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        UnixMillis(self.wall_start_ms.saturating_add(run))
    }

    /// Reads the wall clock. It may have been set since the last call, and it advances while the machine sleeps.
    #[must_use]
    pub fn wall_now() -> UnixMillis {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        UnixMillis(i64::try_from(wall.as_millis()).unwrap_or(i64::MAX))
    }

    /// Reads the wall clock in the user's time zone, to resolve times of day.
    #[must_use]
    pub fn local_now() -> jiff::Zoned {
        jiff::Zoned::now()
    }

    /// Returns the time for the rules. It excludes the time in which the process was stopped, so that no limit counts it.
    #[must_use]
    pub fn active_now(&self) -> UnixMillis {
        let run = i64::try_from(self.active_elapsed().as_millis()).unwrap_or(i64::MAX);
        UnixMillis(self.wall_start_ms.saturating_add(run))
    }

    /// Returns how long this clock has run, without the time in which the process was stopped. Timers use it.
    #[must_use]
    pub fn active_elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.stopped_time)
    }

    /// Runs `stop` and excludes its duration from timers.
    pub fn while_stopped<T>(&mut self, stop: impl FnOnce() -> T) -> T {
        let before = Instant::now();
        let value = stop();
        self.add_stopped_since(before);
        value
    }

    /// Excludes the time since `before` from timers.
    pub fn add_stopped_since(&mut self, before: Instant) {
        self.stopped_time += before.elapsed();
    }
}

/// Returns a random number for the rules, which have no randomness themselves.
#[must_use]
pub fn random_number() -> u32 {
    let (_, random) = uuid::Uuid::new_v4().as_u64_pair();
    (random & u64::from(u32::MAX)) as u32
}

/// Returns an id for a new run. Ids sort by time; a clock before 1970 counts as 1970.
#[must_use]
pub fn new_run_id() -> String {
    run_id_at(SystemTime::now())
}

fn run_id_at(wall: SystemTime) -> String {
    let wall = wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = uuid::Timestamp::from_unix(uuid::NoContext, wall.as_secs(), wall.subsec_nanos());
    uuid::Uuid::new_v7(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 68
    // spec: L1
    #[test]
    fn run_ids_sort_by_time_and_a_clock_before_1970_still_gives_one() {
        let second = Duration::from_secs(1);
        let times = [SystemTime::UNIX_EPOCH - second, SystemTime::UNIX_EPOCH + second, SystemTime::now()];
        let ids = times.map(run_id_at);
        assert!(ids.is_sorted(), "{ids:?}");
        assert!(ids.iter().all(|id| id.parse::<uuid::Uuid>().is_ok()));
        assert_ne!(new_run_id(), new_run_id());
    }

    // spec: L7
    #[test]
    fn stopped_time_is_recorded_but_counts_toward_no_limit() {
        let mut clock = Clock::start();
        let until = Instant::now() + Duration::from_millis(20);
        clock.while_stopped(|| while Instant::now() < until {});
        let lag = clock.now().elapsed_since(clock.active_now());
        assert!(lag >= 19, "{lag}");
    }
}
