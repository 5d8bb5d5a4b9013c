//! How a wait for a rate limit is told: when it ends, and now and then how long it still takes.
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_core::event::UnixMillis;

use ralph_util::duration;

/// From here up, a line every so often is enough.
const REMINDER_INTERVAL: Duration = Duration::from_secs(600);
/// The last times at which a line is told.
const FINAL_REMINDERS: [Duration; 2] = [Duration::from_secs(300), Duration::from_secs(60)];

/// When to tell how long a wait still takes.
#[derive(Debug)]
pub struct WaitCountdown {
    /// Nothing is told while more than this is left.
    next_reminder: Duration,
}

impl WaitCountdown {
    /// Begins with a wait whose length was just told.
    #[must_use]
    pub fn new(total_wait: Duration) -> Self {
        Self { next_reminder: next_reminder_below(total_wait) }
    }

    /// Tells whether this is worth a line.
    pub fn is_reminder_due(&mut self, left: Duration) -> bool {
        let is_due = !self.next_reminder.is_zero() && left <= self.next_reminder;
        if is_due {
            self.next_reminder = next_reminder_below(left);
        }
        is_due
    }
}

/// Returns the next moment before the end at which a line is told: every ten minutes, then at five, then at one.
fn next_reminder_below(left: Duration) -> Duration {
    let steps = left.as_secs().saturating_sub(1) / REMINDER_INTERVAL.as_secs();
    match u32::try_from(steps) {
        Ok(steps @ 1..) => REMINDER_INTERVAL * steps,
        Ok(0) | Err(_) => FINAL_REMINDERS.into_iter().find(|last| *last < left).unwrap_or_default(),
    }
}

/// Says when a wait that begins now ends: the time of day, with the date where it is another.
#[must_use]
pub fn format_wait_end(begin: UnixMillis, delay_ms: u64) -> String {
    let zone = TimeZone::system();
    let local = |at: UnixMillis| Timestamp::from_millisecond(at.0).ok().map(|at| at.to_zoned(zone.clone()));
    let left = duration::format_rounded(Duration::from_millis(delay_ms));
    match (local(begin), local(begin.add_millis(delay_ms))) {
        (Some(begin), Some(end)) if begin.date() == end.date() => {
            format!("until {}, for {left}", end.strftime("%H:%M:%S"))
        }
        (Some(_), Some(end)) => format!("until {}, for {left}", end.strftime("%Y-%m-%d %H:%M:%S")),
        (_, _) => format!("for {left}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L6
    #[test]
    fn a_wait_is_reported_every_ten_minutes_then_at_five_and_at_one() {
        let whole = 1_900;
        let mut countdown = WaitCountdown::new(Duration::from_secs(whole));
        let told: Vec<u64> =
            (0..=whole).rev().filter(|left| countdown.is_reminder_due(Duration::from_secs(*left))).collect();
        assert_eq!(told, [1_800, 1_200, 600, 300, 60]);
    }

    // spec: L6
    #[test]
    fn a_wait_is_reported_once_after_sleep_and_a_short_wait_not_at_all() {
        let mut slept = WaitCountdown::new(Duration::from_secs(7_200));
        assert!(slept.is_reminder_due(Duration::from_secs(200)));
        assert!(!slept.is_reminder_due(Duration::from_secs(199)));
        assert!(slept.is_reminder_due(Duration::from_secs(60)));
        let mut short = WaitCountdown::new(Duration::from_secs(30));
        assert!((0..=30).all(|left| !short.is_reminder_due(Duration::from_secs(left))));
    }
}
