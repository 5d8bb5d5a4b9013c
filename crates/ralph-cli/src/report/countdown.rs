//! Regular reminders of the remaining time of a wait for a rate limit.
use std::time::Duration;

/// How often the remaining time is reported during a long wait.
const REMINDER_INTERVAL: Duration = Duration::from_secs(600);
/// The remaining times of the last reports.
const FINAL_REMINDERS: [Duration; 2] = [Duration::from_secs(300), Duration::from_secs(60)];

/// Decides when the remaining time of a wait is reported.
#[derive(Debug)]
pub struct WaitCountdown {
    /// The next report is due when at most this time remains; zero if none follows.
    next_reminder: Duration,
}

impl WaitCountdown {
    /// Starts the countdown of a wait whose full length has just been reported.
    #[must_use]
    pub fn new(total_wait: Duration) -> Self {
        Self { next_reminder: next_reminder_below(total_wait) }
    }

    /// Returns whether the remaining time must be reported now.
    pub fn is_reminder_due(&mut self, left: Duration) -> bool {
        let is_due = !self.next_reminder.is_zero() && left <= self.next_reminder;
        if is_due {
            self.next_reminder = next_reminder_below(left);
        }
        is_due
    }
}

/// Returns the remaining time of the next report: every ten minutes, then at five minutes, then at one.
fn next_reminder_below(left: Duration) -> Duration {
    let steps = left.as_secs().saturating_sub(1) / REMINDER_INTERVAL.as_secs();
    match u32::try_from(steps) {
        Ok(steps @ 1..) => REMINDER_INTERVAL * steps,
        Ok(0) | Err(_) => FINAL_REMINDERS.into_iter().find(|last| *last < left).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L6
    #[test]
    fn a_wait_is_reported_every_ten_minutes_then_at_five_and_at_one() {
        let total = 1_900;
        let mut countdown = WaitCountdown::new(Duration::from_secs(total));
        let reported: Vec<u64> =
            (0..=total).rev().filter(|left| countdown.is_reminder_due(Duration::from_secs(*left))).collect();
        assert_eq!(reported, [1_800, 1_200, 600, 300, 60]);
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
