//! When a stored message is sent: at once, after quiet hours, in the digest, or again after a failure.
use super::day_minute::{DayMinute, LocalClock, QuietHours};
use crate::event::UnixMillis;

/// If more messages than this can be sent to one target at the same time, they are sent as one.
pub const MAX_SEPARATE_MESSAGES: usize = 3;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;

/// The delays before a message is sent again. After the last one it is lost.
const RETRY_DELAYS_MS: [u64; 8] = [
    10 * SECOND_MS,
    30 * SECOND_MS,
    2 * MINUTE_MS,
    10 * MINUTE_MS,
    30 * MINUTE_MS,
    60 * MINUTE_MS,
    120 * MINUTE_MS,
    240 * MINUTE_MS,
];

/// When a target gets its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliverySchedule {
    pub quiet: Option<QuietHours>,
    /// When messages that were kept are sent, as one. Without quiet hours, all messages are kept.
    pub digest: Option<DayMinute>,
}

/// A message for one target that was not sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingDelivery {
    pub created_at: UnixMillis,
    /// When it may be sent again after a failure.
    pub retry_at: Option<UnixMillis>,
    /// Until when another process may be sending it.
    pub claimed_until: Option<UnixMillis>,
}

/// The action that a message needs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryDecision {
    Send,
    /// Send it with the others that were kept, as one message.
    SendInDigest,
    Wait {
        until: UnixMillis,
    },
}

/// How sending failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryFailure {
    /// It may work later: the connection, a timeout, a server error.
    Temporary,
    /// It will fail in the same way: the target refuses the message.
    Permanent,
}

/// Returns the delay before a message is sent again that has failed so often; `None` if it is lost.
#[must_use]
pub fn notification_retry_delay_ms(failure: DeliveryFailure, failures: u32) -> Option<u64> {
    match failure {
        DeliveryFailure::Permanent => None,
        DeliveryFailure::Temporary => {
            let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
            RETRY_DELAYS_MS.get(index).copied()
        }
    }
}

impl DeliverySchedule {
    /// Decides about a message. A message of another process is left to it.
    #[must_use]
    pub fn decide(&self, delivery: &PendingDelivery, clock: &LocalClock) -> DeliveryDecision {
        let later = |at: Option<UnixMillis>| at.filter(|at| *at > clock.now);
        if let Some(until) = later(delivery.claimed_until) {
            return DeliveryDecision::Wait { until };
        }
        let was_kept = self.keeps(delivery.created_at, clock);
        let digest_at = self.digest.filter(|_| was_kept).map(|digest| clock.next_time(digest, delivery.created_at));
        if let Some(until) = later(digest_at).or_else(|| later(delivery.retry_at)) {
            return DeliveryDecision::Wait { until };
        }
        if let Some(quiet) = self.quiet.filter(|quiet| quiet.contains(clock.day_minute(clock.now))) {
            return DeliveryDecision::Wait { until: clock.next_time(quiet.until, clock.now) };
        }
        if was_kept { DeliveryDecision::SendInDigest } else { DeliveryDecision::Send }
    }

    /// Returns whether a message of that time is not sent at once.
    fn keeps(&self, created_at: UnixMillis, clock: &LocalClock) -> bool {
        match self.quiet {
            Some(quiet) => quiet.contains(clock.day_minute(created_at)),
            None => self.digest.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn decide(schedule: DeliverySchedule, created_hour: i64, now_hour: i64) -> DeliveryDecision {
        let delivery = PendingDelivery { created_at: at(created_hour), retry_at: None, claimed_until: None };
        schedule.decide(&delivery, &LocalClock { now: at(now_hour), utc_offset_minutes: 0 })
    }

    fn at(hour: i64) -> UnixMillis {
        UnixMillis(hour * HOUR)
    }

    fn night(digest: Option<&str>) -> DeliverySchedule {
        DeliverySchedule { quiet: QuietHours::parse("22:00-07:00"), digest: digest.and_then(DayMinute::parse) }
    }

    // spec: U7
    #[test]
    fn a_message_is_sent_at_once_outside_of_quiet_hours() {
        assert_eq!(decide(DeliverySchedule::default(), 3, 3), DeliveryDecision::Send);
        assert_eq!(decide(night(None), 12, 12), DeliveryDecision::Send);
        assert_eq!(decide(night(Some("08:00")), 12, 12), DeliveryDecision::Send);
    }

    // spec: U7
    #[test]
    fn what_comes_in_quiet_hours_is_kept_and_sent_as_one_message_afterwards() {
        assert_eq!(decide(night(None), 23, 23), DeliveryDecision::Wait { until: at(31) });
        assert_eq!(decide(night(None), 23, 26), DeliveryDecision::Wait { until: at(31) });
        assert_eq!(decide(night(None), 23, 31), DeliveryDecision::SendInDigest);
    }

    // spec: U7
    #[test]
    fn a_digest_comes_at_its_time_in_the_morning() {
        assert_eq!(decide(night(Some("08:00")), 23, 31), DeliveryDecision::Wait { until: at(32) });
        assert_eq!(decide(night(Some("08:00")), 23, 32), DeliveryDecision::SendInDigest);
        assert_eq!(decide(night(Some("08:00")), 23, 40), DeliveryDecision::SendInDigest, "the machine was off at 8");
        let at_eleven_in_the_evening = decide(night(Some("08:00")), 23, 47);
        assert_eq!(at_eleven_in_the_evening, DeliveryDecision::Wait { until: at(55) }, "the machine was off all day");
    }

    // spec: U7
    #[test]
    fn without_quiet_hours_a_digest_holds_everything() {
        let daily = DeliverySchedule { quiet: None, digest: DayMinute::parse("08:00") };
        assert_eq!(decide(daily, 9, 9), DeliveryDecision::Wait { until: at(32) });
        assert_eq!(decide(daily, 9, 32), DeliveryDecision::SendInDigest);
    }

    // spec: U7
    #[test]
    fn a_message_that_another_process_sends_is_left_to_it_until_its_claim_ends() {
        let claimed = PendingDelivery { created_at: at(1), retry_at: None, claimed_until: Some(at(3)) };
        let decide =
            |hour| DeliverySchedule::default().decide(&claimed, &LocalClock { now: at(hour), utc_offset_minutes: 0 });
        assert_eq!(decide(2), DeliveryDecision::Wait { until: at(3) });
        assert_eq!(decide(3), DeliveryDecision::Send);
    }

    // spec: U7
    #[test]
    fn a_failed_message_is_sent_again_later_but_never_in_quiet_hours() {
        let failed = PendingDelivery { created_at: at(20), retry_at: Some(at(23)), claimed_until: None };
        let decide = |hour| night(None).decide(&failed, &LocalClock { now: at(hour), utc_offset_minutes: 0 });
        assert_eq!(decide(21), DeliveryDecision::Wait { until: at(23) });
        assert_eq!(decide(23), DeliveryDecision::Wait { until: at(31) });
        assert_eq!(decide(31), DeliveryDecision::Send);
    }

    // spec: U7
    #[test]
    fn delays_grow_and_end_and_a_refused_message_is_not_sent_again() {
        let delays: alloc::vec::Vec<_> =
            (1..=9).map(|failures| notification_retry_delay_ms(DeliveryFailure::Temporary, failures)).collect();
        assert_eq!(delays.first(), Some(&Some(10_000)));
        assert!(delays.is_sorted_by(|one, next| next.is_none_or(|next| Some(next) > *one)));
        assert_eq!(delays.last(), Some(&None));
        assert_eq!(notification_retry_delay_ms(DeliveryFailure::Permanent, 1), None);
    }
}
