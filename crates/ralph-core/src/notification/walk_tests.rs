//! A random walk: several processes send messages through days and nights, some die while they send.
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::event::UnixMillis;

/// How long a process may hold a message that it sends.
const CLAIM_MS: u64 = 60_000;

/// A message in the store of the walk.
struct WalkMessage {
    pending: PendingDelivery,
    failures: u32,
    is_sent: bool,
    is_lost: bool,
    /// How often the target has received it.
    received: u32,
    /// Processes that died after the target had received it, before they could record it.
    unrecorded: u32,
}

/// What one process experiences when it sends.
#[derive(Debug, Clone, Copy)]
enum SendOutcome {
    Received,
    Temporary,
    Refused,
    DiesBefore,
    DiesAfter,
}

fn outcome() -> impl Strategy<Value = SendOutcome> {
    prop_oneof![
        6 => Just(SendOutcome::Received),
        4 => Just(SendOutcome::Temporary),
        1 => Just(SendOutcome::Refused),
        1 => Just(SendOutcome::DiesBefore),
        1 => Just(SendOutcome::DiesAfter),
    ]
}

fn schedule() -> impl Strategy<Value = DeliverySchedule> {
    let quiet = prop_oneof![Just(None), Just(QuietHours::parse("22:00-07:00")), Just(QuietHours::parse("01:00-04:30"))];
    let digest = prop_oneof![Just(None), Just(DayMinute::parse("08:00")), Just(DayMinute::parse("17:15"))];
    (quiet, digest).prop_map(|(quiet, digest)| DeliverySchedule { quiet, digest })
}

fn new_message(at: UnixMillis) -> WalkMessage {
    WalkMessage {
        pending: PendingDelivery { created_at: at, retry_at: None, claimed_until: None },
        failures: 0,
        is_sent: false,
        is_lost: false,
        received: 0,
        unrecorded: 0,
    }
}

/// Sends a message if the rules say so. Returns whether it was sent.
fn try_send(schedule: DeliverySchedule, message: &mut WalkMessage, clock: &LocalClock, outcome: SendOutcome) -> bool {
    if message.is_sent || message.is_lost {
        return false;
    }
    match schedule.decide(&message.pending, clock) {
        DeliveryDecision::Wait { until } => {
            assert!(until > clock.now, "a wait must end later than now");
            return false;
        }
        DeliveryDecision::Send | DeliveryDecision::SendInDigest => {}
    }
    message.pending.claimed_until = Some(clock.now.add_millis(CLAIM_MS));
    match outcome {
        SendOutcome::Received => {
            (message.received, message.is_sent) = (message.received + 1, true);
        }
        SendOutcome::DiesBefore => return true,
        SendOutcome::DiesAfter => {
            (message.received, message.unrecorded) = (message.received + 1, message.unrecorded + 1);
            return true;
        }
        SendOutcome::Temporary | SendOutcome::Refused => {
            message.failures += 1;
            let is_refused = matches!(outcome, SendOutcome::Refused);
            let failure = if is_refused { DeliveryFailure::Permanent } else { DeliveryFailure::Temporary };
            let delay = notification_retry_delay_ms(failure, message.failures);
            message.is_lost = delay.is_none();
            message.pending.retry_at = delay.map(|delay| clock.now.add_millis(delay));
        }
    }
    message.pending.claimed_until = None;
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    // spec: U7
    #[test]
    fn every_message_is_received_once_unless_a_process_died_and_never_in_quiet_hours(
        schedule in schedule(),
        offset in -720_i32..=840,
        steps in prop::collection::vec((1_u64..180, outcome(), any::<bool>()), 1..120),
    ) {
        let mut now = UnixMillis(1_760_000_000_000);
        let mut messages: Vec<WalkMessage> = Vec::new();
        let tail = core::iter::repeat_n((30, SendOutcome::Received, false), 4 * 48);
        for (minutes, outcome, has_new) in steps.into_iter().chain(tail) {
            now = now.add_millis(minutes * 60_000);
            let clock = LocalClock { now, utc_offset_minutes: offset };
            if has_new {
                messages.push(new_message(now));
            }
            for message in &mut messages {
                // Two processes try at the same time: the second finds the claim or the result of the first.
                let first = try_send(schedule, message, &clock, outcome);
                let second = try_send(schedule, message, &clock, SendOutcome::Received);
                let has_retry_now = message.pending.retry_at.is_some_and(|at| at <= now);
                prop_assert!(!(first && second) || has_retry_now);
                let is_quiet = schedule.quiet.is_some_and(|quiet| quiet.contains(clock.day_minute(now)));
                prop_assert!(!(is_quiet && (first || second)), "sent in quiet hours");
            }
        }
        for message in &messages {
            prop_assert!(message.is_sent || message.is_lost, "a message was forgotten");
            prop_assert!(!(message.is_sent && message.is_lost));
            let expected = message.unrecorded + u32::from(message.is_sent);
            prop_assert_eq!(message.received, expected);
        }
    }

    // spec: U7
    #[test]
    fn a_digest_is_never_sent_before_its_time(
        created_minutes in 0_i64..2880,
        later_minutes in 0_i64..2880,
        offset in -720_i32..=840,
    ) {
        let digest = DayMinute::parse("08:00").unwrap();
        let schedule = DeliverySchedule { quiet: None, digest: Some(digest) };
        let created_at = UnixMillis(created_minutes * 60_000);
        let clock = LocalClock { now: UnixMillis(created_at.0 + later_minutes * 60_000), utc_offset_minutes: offset };
        let pending = PendingDelivery { created_at, retry_at: None, claimed_until: None };
        let due = clock.next_time(digest, created_at);
        prop_assert!(due > created_at && due.0 - created_at.0 <= 86_400_000);
        let expected = match due > clock.now {
            true => DeliveryDecision::Wait { until: due },
            false => DeliveryDecision::SendInDigest,
        };
        prop_assert_eq!(schedule.decide(&pending, &clock), expected);
    }
}
