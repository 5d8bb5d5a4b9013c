//! When a provider takes requests again, as agents write it: a moment, a time to wait, or a time of day. No clock is
//! read here: whoever has one turns it into a moment.
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};
use serde::{Serialize, Serializer};

/// When a limit ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum LimitReset {
    Unknown {},
    /// At this moment, in seconds since 1970.
    At {
        reset_at: i64,
    },
    /// So long after it was said.
    After {
        retry_after_ms: u64,
    },
    /// When a clock shows this.
    Clock {
        reset_clock: ClockTime,
    },
}

/// A time of day: in the zone that is named, else in that of the machine; on the day that is named, else the next
/// time that it comes.
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

/// Words that stand before a time to wait, in lower case.
const WAIT_MARKERS: &[&str] =
    &["try again in", "retry in", "retry after", "retry-after", "retrydelay", "reset after", "resets in"];

/// Words that stand before a time of day.
const CLOCK_MARKERS: &[&str] = &["try again at", "resets at", "resets"];

const MONTH_PREFIXES: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

impl LimitReset {
    /// Reads when a limit ends from the words of an error record.
    #[must_use]
    pub fn parse_message(message: &str) -> Self {
        let words = message.to_ascii_lowercase();
        if let Some(moment) = parse_unix_timestamp(&words) {
            return Self::At { reset_at: moment };
        }
        let wait = WAIT_MARKERS.iter().find_map(|mark| parse_wait_millis(text_after(&words, mark)?));
        if let Some(retry_after_ms) = wait {
            return Self::After { retry_after_ms };
        }
        // A zone is written as it is, so the original letters are needed too.
        let clock = CLOCK_MARKERS.iter().find_map(|mark| {
            let rest = text_after(&words, mark)?;
            ClockTime::parse(rest, message.get(message.len() - rest.len()..)?)
        });
        clock.map_or(Self::Unknown {}, |reset_clock| Self::Clock { reset_clock })
    }

    /// Returns the moment in seconds since 1970, seen from the moment at which it was said.
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
        let moment = in_zone(today.to_datetime(self.time))?;
        if moment > now.timestamp().as_second() {
            return Some(moment);
        }
        in_zone(today.checked_add(Span::new().days(1)).ok()?.to_datetime(self.time))
    }
}

/// Returns what follows a mark.
fn text_after<'a>(words: &'a str, mark: &str) -> Option<&'a str> {
    words.split_once(mark).map(|(_, rest)| rest)
}

/// Older programs put the seconds since 1970 behind a bar: `limit reached|1794790000`.
fn parse_unix_timestamp(words: &str) -> Option<i64> {
    let rest = text_after(words, "limit reached|")?;
    parse_number(rest).filter(|(_, fraction, _)| *fraction == 0).and_then(|(whole, ..)| i64::try_from(whole).ok())
}

/// Reads `1.2s`, `40 seconds`, `3h25m48s` or `5 days 12 minutes` as milliseconds. A bare number is seconds.
fn parse_wait_millis(words: &str) -> Option<u64> {
    let mut rest = words.trim_start_matches(|c: char| !c.is_ascii_digit() && !c.is_ascii_alphabetic());
    let mut sum = None;
    while let Some((whole, thousandths, behind)) = parse_number(rest) {
        let (unit_ms, behind) = parse_time_unit(behind);
        let added = whole.checked_mul(unit_ms)?.checked_add(thousandths.checked_mul(unit_ms)? / 1_000)?;
        sum = Some(sum.unwrap_or(0_u64).checked_add(added)?);
        rest = behind.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    sum
}

/// Returns the number that the words begin with: whole, thousandths, and what follows.
fn parse_number(words: &str) -> Option<(u64, u64, &str)> {
    let (whole, rest) = split_digits(words)?;
    let fraction = rest.strip_prefix('.').and_then(split_digits);
    let Some((fraction, behind)) = fraction else { return Some((whole.parse().ok()?, 0, rest)) };
    let thousandths = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    Some((whole.parse().ok()?, thousandths, behind))
}

fn split_digits(words: &str) -> Option<(&str, &str)> {
    let end = words.find(|c: char| !c.is_ascii_digit()).unwrap_or(words.len());
    (end > 0).then(|| words.split_at(end))
}

/// Returns the milliseconds of the unit that the words begin with, and what follows it.
fn parse_time_unit(words: &str) -> (u64, &str) {
    let words = words.trim_start();
    let end = words.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(words.len());
    let (name, rest) = words.split_at(end);
    match name {
        "ms" => (1, rest),
        "s" | "sec" | "secs" | "second" | "seconds" => (1_000, rest),
        "m" | "min" | "mins" | "minute" | "minutes" => (60_000, rest),
        "h" | "hr" | "hrs" | "hour" | "hours" => (3_600_000, rest),
        "d" | "day" | "days" => (86_400_000, rest),
        _ => (1_000, words),
    }
}

/// Reads `nov 16th, 2026` or `nov 16`.
fn parse_date(words: &str) -> Option<(Date, &str)> {
    let words = words.trim_start();
    let month = MONTH_PREFIXES.iter().position(|name| words.starts_with(name))?;
    let month = i8::try_from(month + 1).ok()?;
    let rest = words.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start();
    let (day, rest) = split_digits(rest)?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == ',').trim_start();
    let (year, rest) = split_digits(rest).filter(|(year, _)| year.len() == 4)?;
    Some((Date::new(year.parse().ok()?, month, day.parse().ok()?).ok()?, rest))
}

/// Reads `12:46 am`, `3pm` or `15:04`.
fn parse_time_of_day(words: &str) -> Option<(Time, &str)> {
    let (hour, rest) = split_digits(words.trim_start_matches([' ', ',']))?;
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

    fn resolve_text(words: &str) -> Option<String> {
        let seconds = LimitReset::parse_message(words).resolve_timestamp(&sample_now())?;
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
        for (words, expected) in waits {
            assert_eq!(LimitReset::parse_message(words), LimitReset::After { retry_after_ms: expected }, "{words}");
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
        for (words, expected) in clocks {
            assert_eq!(resolve_text(words).as_deref(), Some(expected), "{words}");
        }
    }

    #[test] // spec: L6
    fn a_unix_timestamp_is_taken_as_it_is() {
        let reset = LimitReset::parse_message("Claude AI usage limit reached|1794790000");
        assert_eq!(reset, LimitReset::At { reset_at: 1_794_790_000 });
    }

    #[test] // spec: L6
    fn text_without_a_valid_time_gives_no_reset() {
        let words = [
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
        for words in words {
            assert_eq!(resolve_text(words), None, "{words}");
        }
        assert_eq!(resolve_text("resets 3pm (Nowhere/City)"), None);
    }

    #[test] // spec: A8
    fn each_reset_kind_has_its_own_json_key() {
        let json = |words| serde_json::to_string(&LimitReset::parse_message(words)).unwrap();
        assert_eq!(json("x"), "{}");
        assert_eq!(json("limit reached|7"), r#"{"reset_at":7}"#);
        assert_eq!(json("retry in 2s"), r#"{"retry_after_ms":2000}"#);
        assert_eq!(json("resets 3pm (UTC)"), r#"{"reset_clock":"15:00:00 UTC"}"#);
        assert_eq!(json("try again at Nov 16th, 2026 12:46 AM"), r#"{"reset_clock":"2026-11-16 00:46:00"}"#);
    }
}
