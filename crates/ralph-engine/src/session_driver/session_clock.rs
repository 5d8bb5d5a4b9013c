//! The one place where this driver asks the time and rolls dice.
use ralph_core::event::UnixMillis;
use ralph_core::session_loop::DecisionMoment;

/// Returns this moment, with dice.
#[must_use]
pub fn current_moment() -> DecisionMoment {
    let at = UnixMillis(jiff::Timestamp::now().as_millisecond());
    let dice = uuid::Uuid::new_v4().as_u128();
    DecisionMoment { at, random: u32::try_from(dice & u128::from(u32::MAX)).unwrap_or_default() }
}

/// Returns a moment as people and programs write it.
pub(super) fn format_timestamp(at: UnixMillis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |time| time.to_string())
}
