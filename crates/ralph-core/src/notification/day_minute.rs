//! Times of day in the time zone of the user, and the quiet hours between two of them.
use core::fmt;

use crate::event::UnixMillis;

const MINUTE_MS: i64 = 60_000;
const MINUTES_PER_DAY: i64 = 24 * 60;
const DAY_MS: i64 = MINUTES_PER_DAY * MINUTE_MS;

/// A time of day, to the minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayMinute(u16);

/// The clock of a machine with the distance of its time zone from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalClock {
    pub now: UnixMillis,
    pub utc_offset_minutes: i32,
}

/// The part of each day in which nothing is sent. It may include midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    pub from: DayMinute,
    /// The first minute in which messages are sent again.
    pub until: DayMinute,
}

impl DayMinute {
    /// Reads `HH:MM`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.trim().split_once(':')?;
        let number = |digits: &str, max: u16| {
            let is_plain = matches!(digits.len(), 1 | 2) && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u16>().ok().filter(|number| is_plain && *number <= max)
        };
        let is_complete = minutes.len() == 2;
        Some(Self(number(hours, 23)? * 60 + number(minutes, 59)?)).filter(|_| is_complete)
    }
}

impl fmt::Display for DayMinute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl LocalClock {
    /// Returns the time of day of `at`.
    #[must_use]
    pub fn day_minute(&self, at: UnixMillis) -> DayMinute {
        let minutes = self.to_local_ms(at).rem_euclid(DAY_MS) / MINUTE_MS;
        DayMinute(u16::try_from(minutes).unwrap_or(0))
    }

    /// Returns when a time of day comes next after `after`.
    #[must_use]
    pub fn next_time(&self, minute: DayMinute, after: UnixMillis) -> UnixMillis {
        let local = self.to_local_ms(after);
        let today = local.saturating_sub(local.rem_euclid(DAY_MS)).saturating_add(i64::from(minute.0) * MINUTE_MS);
        let next = if today > local { today } else { today.saturating_add(DAY_MS) };
        UnixMillis(next.saturating_sub(self.offset_ms()))
    }

    fn to_local_ms(self, at: UnixMillis) -> i64 {
        at.0.saturating_add(self.offset_ms())
    }

    fn offset_ms(self) -> i64 {
        i64::from(self.utc_offset_minutes) * MINUTE_MS
    }
}

impl QuietHours {
    /// Reads `HH:MM-HH:MM`. The two times must differ.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (from, until) = text.split_once('-')?;
        let hours = Self { from: DayMinute::parse(from)?, until: DayMinute::parse(until)? };
        Some(hours).filter(|hours| hours.from != hours.until)
    }

    #[must_use]
    pub fn contains(&self, minute: DayMinute) -> bool {
        if self.from < self.until {
            self.from <= minute && minute < self.until
        } else {
            minute >= self.from || minute < self.until
        }
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.until)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn minute(text: &str) -> DayMinute {
        DayMinute::parse(text).unwrap()
    }

    // spec: U7
    #[test]
    fn a_time_of_day_has_hours_and_two_digits_of_minutes() {
        for (text, shown) in [("22:00", "22:00"), ("8:05", "08:05"), (" 00:00 ", "00:00"), ("23:59", "23:59")] {
            assert_eq!(minute(text).to_string(), shown);
        }
        for text in ["24:00", "8", "8:5", "08:60", "+8:00", "8:00:00", "-1:00", "", ":00", "008:00"] {
            assert_eq!(DayMinute::parse(text), None, "{text}");
        }
    }

    // spec: U7
    #[test]
    fn quiet_hours_may_include_midnight() {
        let night = QuietHours::parse("22:00-07:00").unwrap();
        for text in ["22:00", "23:59", "00:00", "06:59"] {
            assert!(night.contains(minute(text)), "{text}");
        }
        for text in ["07:00", "12:00", "21:59"] {
            assert!(!night.contains(minute(text)), "{text}");
        }
        let lunch = QuietHours::parse("12:00-13:30").unwrap();
        assert!(lunch.contains(minute("13:29")));
        assert!(!lunch.contains(minute("13:30")));
        assert!(!lunch.contains(minute("00:00")));
        assert_eq!(QuietHours::parse("22:00-22:00"), None, "that would be never or always");
        assert_eq!(QuietHours::parse("22:00"), None);
    }

    // spec: U7
    #[test]
    fn the_next_time_of_day_is_in_the_time_zone_of_the_user_and_never_now() {
        let noon_utc = UnixMillis(12 * 60 * MINUTE_MS);
        let utc = LocalClock { now: noon_utc, utc_offset_minutes: 0 };
        assert_eq!(utc.next_time(minute("13:00"), noon_utc), UnixMillis(13 * 60 * MINUTE_MS));
        assert_eq!(utc.next_time(minute("12:00"), noon_utc), UnixMillis(36 * 60 * MINUTE_MS));
        let india = LocalClock { now: noon_utc, utc_offset_minutes: 330 };
        assert_eq!(india.day_minute(noon_utc), minute("17:30"));
        assert_eq!(india.next_time(minute("18:00"), noon_utc), noon_utc.add_millis(30 * 60_000));
        let west = LocalClock { now: noon_utc, utc_offset_minutes: -780 };
        assert_eq!(west.day_minute(noon_utc), minute("23:00"));
    }
}
