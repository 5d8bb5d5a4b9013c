//! The one place where this driver asks the time and rolls dice.
use ralph_core::event::Millis;
use ralph_core::session::Moment;

/// Returns this moment, with dice.
#[must_use]
pub fn now() -> Moment {
    let at = Millis(jiff::Timestamp::now().as_millisecond());
    let dice = uuid::Uuid::new_v4().as_u128();
    Moment { at, dice: u32::try_from(dice & u128::from(u32::MAX)).unwrap_or_default() }
}

/// Returns a moment as people and programs write it.
pub(super) fn written(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |time| time.to_string())
}
