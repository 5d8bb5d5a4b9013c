//! The time zone of this machine.
use ralph_core::event::UnixMillis;

/// Returns the distance of the local time zone from UTC at this time, in minutes; 0 if the time cannot be represented.
#[must_use]
pub fn utc_offset_minutes(at: UnixMillis) -> i32 {
    let local = jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_zoned(jiff::tz::TimeZone::system()));
    local.map_or(0, |local| local.offset().seconds() / 60)
}
