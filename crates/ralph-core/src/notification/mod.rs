//! The rules of notifications: which events a target gets, when it may be sent, what it says, and when a failed one is sent again.
//! They send nothing.
mod day_minute;
mod delivery;
mod event;
mod text;
#[cfg(test)]
mod walk_tests;

pub use day_minute::{DayMinute, LocalClock, QuietHours};
pub use delivery::{
    DeliveryDecision, DeliveryFailure, DeliverySchedule, MAX_SEPARATE_MESSAGES, PendingDelivery,
    notification_retry_delay_ms,
};
pub use event::{NotificationEvent, NotificationRule, NotificationSubject};
pub use text::{DigestText, NotificationLine, format_waiting_time};
