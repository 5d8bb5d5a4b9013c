//! The only place in which this driver reads the clock and generates random numbers.
use ralph_core::event::UnixMillis;
use ralph_core::session_loop::DecisionMoment;

/// Returns the current time with a random number.
#[must_use]
pub fn current_moment() -> DecisionMoment {
    let at = UnixMillis(jiff::Timestamp::now().as_millisecond());
    let random = uuid::Uuid::new_v4().as_u128();
    DecisionMoment { at, random: u32::try_from(random & u128::from(u32::MAX)).unwrap_or_default() }
}

/// Returns a time in the RFC 3339 format.
pub(super) fn format_timestamp(at: UnixMillis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |time| time.to_string())
}
