//! When a rate limit ends, as agents report it: a timestamp, a wait time, or a time of day. Reads no clock: the caller
//! passes the current time to resolve it. Hand-written because agents write these times in free text.
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};
use serde::{Serialize, Serializer};

/// When a limit ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum LimitReset {
    Unknown {},
    /// At this Unix timestamp in seconds.
    At {
        reset_at: i64,
    },
    /// This long after the message.
    After {
        retry_after_ms: u64,
    },
    /// At this time of day.
    Clock {
        reset_clock: ClockTime,
    },
}

/// A time of day, in the named time zone or else the local one, on the named day or else at its next occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockTime {
    day: Option<Date>,
    time: Time,
    zone: Option<String>,
}

impl Serialize for ClockTime {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { day, time, zone } = self;
        let day = day.map(|day| format!("{day} ")).unwrap_or_default();
        let zone = zone.as_ref().map(|zone| format!(" {zone}")).unwrap_or_default();
        to.serialize_str(&format!("{day}{time}{zone}"))
    }
}

/// Lower-case phrases that precede a wait time.
const WAIT_MARKERS: &[&str] =
    &["try again in", "retry in", "retry after", "retry-after", "retrydelay", "reset after", "resets in"];

/// Lower-case phrases that precede a time of day.
const CLOCK_MARKERS: &[&str] = &["try again at", "resets at", "resets"];

const MONTH_PREFIXES: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

impl LimitReset {
    /// Parses the reset time in the message of an error record.
    #[must_use]
    pub fn parse_message(message: &str) -> Self {
        let lower = message.to_ascii_lowercase();
        if let Some(reset_at) = parse_unix_timestamp(&lower) {
            return Self::At { reset_at };
        }
        let wait = WAIT_MARKERS.iter().find_map(|marker| parse_wait_millis(text_after(&lower, marker)?));
        if let Some(retry_after_ms) = wait {
            return Self::After { retry_after_ms };
        }
        // Time zone names are case-sensitive, so the original text is needed too.
        let clock = CLOCK_MARKERS.iter().find_map(|marker| {
            let rest = text_after(&lower, marker)?;
            ClockTime::parse(rest, message.get(message.len() - rest.len()..)?)
        });
        clock.map_or(Self::Unknown {}, |reset_clock| Self::Clock { reset_clock })
    }

    /// Returns the reset time as a Unix timestamp in seconds. `now` is the time of the message.
    #[must_use]
    pub fn resolve_timestamp(&self, now: &Zoned) -> Option<i64> {
        match self {
            Self::Unknown {} => None,
            Self::At { reset_at } => Some(*reset_at),
            Self::After { retry_after_ms } => {
                let seconds = i64::try_from(retry_after_ms.div_ceil(1_000)).ok()?;
                now.timestamp().as_second().checked_add(seconds)
            }
            Self::Clock { reset_clock } => reset_clock.resolve_timestamp(now),
        }
    }
}

impl ClockTime {
    fn parse(lower: &str, original: &str) -> Option<Self> {
        let (day, rest) = match parse_date(lower) {
            Some((day, rest)) => (Some(day), rest),
            None => (None, lower),
        };
        let (time, rest) = parse_time_of_day(rest)?;
        let original = original.get(original.len() - rest.len()..)?;
        let zone = original.trim_start().strip_prefix('(').and_then(|zone| zone.split_once(')'));
        Some(Self { day, time, zone: zone.map(|(zone, _)| zone.to_owned()) })
    }

    fn resolve_timestamp(&self, now: &Zoned) -> Option<i64> {
        let zone = match &self.zone {
            Some(name) => TimeZone::get(name).ok()?,
            None => now.time_zone().clone(),
        };
        let in_zone = |at: DateTime| at.to_zoned(zone.clone()).ok().map(|at| at.timestamp().as_second());
        if let Some(day) = self.day {
            return in_zone(day.to_datetime(self.time));
        }
        let today = now.with_time_zone(zone.clone()).date();
        let reset_today = in_zone(today.to_datetime(self.time))?;
        if reset_today > now.timestamp().as_second() {
            return Some(reset_today);
        }
        in_zone(today.checked_add(Span::new().days(1)).ok()?.to_datetime(self.time))
    }
}

fn text_after<'a>(text: &'a str, marker: &str) -> Option<&'a str> {
    text.split_once(marker).map(|(_, rest)| rest)
}

/// Parses the timestamp that older versions of Claude append after a bar: `limit reached|1794790000`.
fn parse_unix_timestamp(text: &str) -> Option<i64> {
    let rest = text_after(text, "limit reached|")?;
    parse_number(rest).filter(|(_, fraction, _)| *fraction == 0).and_then(|(whole, ..)| i64::try_from(whole).ok())
}

/// Parses `1.2s`, `40 seconds`, `3h25m48s` or `5 days 12 minutes` as milliseconds. A bare number is in seconds.
fn parse_wait_millis(text: &str) -> Option<u64> {
    let mut rest = text.trim_start_matches(|c: char| !c.is_ascii_digit() && !c.is_ascii_alphabetic());
    let mut sum = None;
    while let Some((whole, thousandths, after)) = parse_number(rest) {
        let (unit_ms, after) = parse_time_unit(after);
        let added = whole.checked_mul(unit_ms)?.checked_add(thousandths.checked_mul(unit_ms)? / 1_000)?;
        sum = Some(sum.unwrap_or(0_u64).checked_add(added)?);
        rest = after.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    sum
}

/// Parses the number at the start of the text. Returns its integer part, its thousandths, and the rest of the text.
fn parse_number(text: &str) -> Option<(u64, u64, &str)> {
    let (whole, rest) = split_digits(text)?;
    let fraction = rest.strip_prefix('.').and_then(split_digits);
    let Some((fraction, after)) = fraction else { return Some((whole.parse().ok()?, 0, rest)) };
    let thousandths = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    Some((whole.parse().ok()?, thousandths, after))
}

fn split_digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Parses the time unit at the start of the text. Returns its milliseconds and the rest of the text.
fn parse_time_unit(text: &str) -> (u64, &str) {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match name {
        "ms" => (1, rest),
        "s" | "sec" | "secs" | "second" | "seconds" => (1_000, rest),
        "m" | "min" | "mins" | "minute" | "minutes" => (60_000, rest),
        "h" | "hr" | "hrs" | "hour" | "hours" => (3_600_000, rest),
        "d" | "day" | "days" => (86_400_000, rest),
        _ => (1_000, text),
    }
}

/// Parses a date such as `nov 16th, 2026`.
fn parse_date(text: &str) -> Option<(Date, &str)> {
    let text = text.trim_start();
    let month = MONTH_PREFIXES.iter().position(|name| text.starts_with(name))?;
    let month = i8::try_from(month + 1).ok()?;
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start();
    let (day, rest) = split_digits(rest)?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == ',').trim_start();
    let (year, rest) = split_digits(rest).filter(|(year, _)| year.len() == 4)?;
    Some((Date::new(year.parse().ok()?, month, day.parse().ok()?).ok()?, rest))
}

/// Parses `12:46 am`, `3pm` or `15:04`.
fn parse_time_of_day(text: &str) -> Option<(Time, &str)> {
    let (hour, rest) = split_digits(text.trim_start_matches([' ', ',']))?;
    let hour: i8 = hour.parse().ok()?;
    let minute = rest.strip_prefix(':').and_then(split_digits);
    let (minute, rest) = match minute {
        Some((minute, rest)) => (Some(minute.parse::<i8>().ok()?), rest),
        None => (None, rest),
    };
    let half = rest.trim_start();
    let (hour, rest) = match half.get(..2) {
        Some("am") => (hour % 12, half.get(2..)?),
        Some("pm") => (hour % 12 + 12, half.get(2..)?),
        _ => {
            minute?;
            (hour, rest)
        }
    };
    Some((Time::new(hour, minute.unwrap_or(0), 0, 0).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_now() -> Zoned {
        "2026-11-15T22:00:00-03:00[-03:00]".parse().unwrap()
    }

    fn resolve_text(text: &str) -> Option<String> {
        let seconds = LimitReset::parse_message(text).resolve_timestamp(&sample_now())?;
        Some(jiff::Timestamp::from_second(seconds).unwrap().to_string())
    }

    #[test] // spec: L6
    fn a_wait_time_counts_from_the_moment_it_was_reported() {
        let waits = [
            ("rate limit exceeded: slow. Please try again in 1.2s.", 1_200),
            ("Please retry in 39.714s.", 39_714),
            ("try again in 5 days 12 minutes", 432_720_000),
            ("Your quota will reset after 3h25m48s.", 12_348_000),
            ("Retry-After: 30", 30_000),
            (r#"{"retryDelay":"40s"}"#, 40_000),
            ("try again in 1 hour and 5 minutes", 3_900_000),
            ("retry after 250ms", 250),
        ];
        for (text, expected) in waits {
            assert_eq!(LimitReset::parse_message(text), LimitReset::After { retry_after_ms: expected }, "{text}");
        }
        assert_eq!(resolve_text("Please try again in 1.2s").as_deref(), Some("2026-11-16T01:00:02Z"));
    }

    #[test] // spec: L6
    fn a_time_of_day_uses_its_own_time_zone_or_the_local_one() {
        let clocks = [
            ("You’ve hit your usage limit. Visit … or try again at Nov 16th, 2026 12:46 AM.", "2026-11-16T03:46:00Z"),
            ("try again at 11:15 PM.", "2026-11-16T02:15:00Z"),
            ("try again at 9:30 PM.", "2026-11-17T00:30:00Z"),
            ("You've hit your 5-hour limit · resets 12:46am (UTC)", "2026-11-17T00:46:00Z"),
            ("You've hit your limit · resets 3pm (UTC)", "2026-11-16T15:00:00Z"),
        ];
        for (text, expected) in clocks {
            assert_eq!(resolve_text(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test] // spec: L6
    fn a_unix_timestamp_is_taken_as_it_is() {
        let reset = LimitReset::parse_message("Claude AI usage limit reached|1794790000");
        assert_eq!(reset, LimitReset::At { reset_at: 1_794_790_000 });
    }

    #[test] // spec: L6
    fn text_without_a_valid_time_gives_no_reset() {
        let texts = [
            "exceeded retry limit, last status: 429 Too Many Requests",
            "try again later",
            "try again at the office",
            "resets soon",
            "try again in 99999999999999999999 days",
            "try again in 18446744073709551615 hours",
            "try again at Feb 31st, 2026 1:00 AM",
            "try again at 99:99 PM",
            "resets 3 (Nowhere/City)",
            "",
        ];
        for text in texts {
            assert_eq!(resolve_text(text), None, "{text}");
        }
        assert_eq!(resolve_text("resets 3pm (Nowhere/City)"), None);
    }

    #[test] // spec: A8
    fn each_reset_kind_has_its_own_json_key() {
        let json = |text| serde_json::to_string(&LimitReset::parse_message(text)).unwrap();
        assert_eq!(json("x"), "{}");
        assert_eq!(json("limit reached|7"), r#"{"reset_at":7}"#);
        assert_eq!(json("retry in 2s"), r#"{"retry_after_ms":2000}"#);
        assert_eq!(json("resets 3pm (UTC)"), r#"{"reset_clock":"15:00:00 UTC"}"#);
        assert_eq!(json("try again at Nov 16th, 2026 12:46 AM"), r#"{"reset_clock":"2026-11-16 00:46:00"}"#);
    }
}
