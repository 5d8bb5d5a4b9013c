//! The wait that an agent asks for with `<wait until="TIME">` or `<wait for="30m">`.
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::slice_or_empty;
use crate::duration;
use crate::event::UnixMillis;

/// A wait that the agent asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRequest {
    pub time: WaitTime,
    pub reason: String,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitTime {
    Until(UnixMillis),
    For { ms: u64 },
}

impl WaitTime {
    /// Parses the attributes of the tag. Returns `None` if they do not name exactly one valid time.
    pub(crate) fn parse(attributes: &str) -> Option<Self> {
        let (name, value) = attributes.split_once('=')?;
        let value = value.trim().replace("&quot;", "\"");
        let value = value.trim_matches(['"', '\'', '\u{201c}', '\u{201d}']);
        match name.trim() {
            name if name.eq_ignore_ascii_case("until") => Self::parse_until(value),
            name if name.eq_ignore_ascii_case("for") => Self::parse_for(value),
            _ => None,
        }
    }

    /// Parses a time with a zone, such as `2026-03-04T15:00Z`.
    #[must_use]
    pub fn parse_until(text: &str) -> Option<Self> {
        parse_timestamp(text.trim()).map(Self::Until)
    }

    /// Parses a duration with its unit, such as `30m`.
    #[must_use]
    pub fn parse_for(text: &str) -> Option<Self> {
        let length = duration::parse(text.trim()).ok()?;
        Some(Self::For { ms: u64::try_from(length.as_millis()).ok()? })
    }

    /// Returns how long the wait is, from this time on.
    #[must_use]
    pub fn wait_ms(self, wall_clock: UnixMillis) -> u64 {
        match self {
            Self::Until(time) => time.elapsed_since(wall_clock),
            Self::For { ms } => ms,
        }
    }
}

/// Parses a time with a zone, such as `2026-03-04T15:00Z` or `2026-03-04 15:00:00+01:00`. A time without a zone is refused,
/// because it is unknown which one the agent means.
fn parse_timestamp(text: &str) -> Option<UnixMillis> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let clock = rest.strip_prefix(['T', 't', ' '])?;
    let zone_at = clock.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = clock.split_at(zone_at);
    let [year, month, day] = parse_numbers(date, '-')?;
    let clock = clock.trim_end().split_once('.').map_or(clock.trim_end(), |(whole, _)| whole);
    let [hour, minute, second] = match clock.matches(':').count() {
        1 => {
            let [hour, minute] = parse_numbers(clock, ':')?;
            [hour, minute, 0]
        }
        _ => parse_numbers(clock, ':')?,
    };
    let is_valid =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && hour < 24 && minute < 60 && second <= 60;
    let is_valid_day = (1..=days_in_month(year, month)).contains(&day);
    if !is_valid || !is_valid_day {
        return None;
    }
    let days = days_since_1970(year, month, day);
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - parse_zone(zone)?;
    Some(UnixMillis(seconds.checked_mul(1_000)?))
}

/// Returns the offset of a zone from UTC, in seconds: `Z`, `+02:00` or `+0200`.
fn parse_zone(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone.get(1..)?.replace(':', "");
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = slice_or_empty(&digits, 0..2).parse().ok()?;
    let minutes: i64 = slice_or_empty(&digits, 2..4).parse().ok()?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Parses numbers between separators. Each has only digits.
fn parse_numbers<const COUNT: usize>(text: &str, separator: char) -> Option<[i64; COUNT]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; COUNT];
    for number in &mut numbers {
        let part = parts.next().filter(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

fn is_leap_year(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let leap_days = |year: i64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    let months: i64 = (1..month).map(|month| days_in_month(year, month)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Claim, ClaimFinder, ClaimReading, ClaimRules, NoClaimReason, Promise, TranscriptEvent};

    fn until(text: &str) -> Option<i64> {
        match WaitTime::parse(&alloc::format!("until=\"{text}\""))? {
            WaitTime::Until(time) => Some(time.0),
            WaitTime::For { .. } => None,
        }
    }

    // spec: L17
    #[test]
    fn a_time_with_a_zone_is_read_in_its_usual_spellings() {
        assert_eq!(until("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(until("2026-03-04T05:06:07Z"), Some(1_772_600_767_000));
        assert_eq!(until("2026-03-04T05:06:07.999Z"), Some(1_772_600_767_000));
        assert_eq!(until("2026-03-04 06:06:07+01:00"), Some(1_772_600_767_000));
        assert_eq!(until("2026-03-04T03:06-0200"), Some(1_772_600_760_000));
        assert_eq!(until("2024-02-29T00:00Z"), Some(1_709_164_800_000), "a leap day");
        assert_eq!(until("2000-03-01T00:00Z"), Some(951_868_800_000));
    }

    // spec: L17
    #[test]
    fn a_duration_is_read_with_its_unit() {
        assert_eq!(WaitTime::parse("for=\"30m\""), Some(WaitTime::For { ms: 1_800_000 }));
        assert_eq!(WaitTime::parse("for='2h'"), Some(WaitTime::For { ms: 7_200_000 }));
    }

    // spec: L17
    #[test]
    fn a_malformed_time_is_refused_and_never_a_panic() {
        for text in [
            "",
            "tomorrow",
            "15:00",
            "2026-03-04",
            "2026-03-04T15:00",
            "2026-02-29T00:00Z",
            "2026-13-01T00:00Z",
            "2026-03-04T25:00Z",
            "2026-03-04T15:00+99:99",
            "2026-03-04T15:00Zulu",
            "2026-03-04T15:-1Z",
            "äöüäöüäöüäöü",
            "99999-01-01T00:00Z",
        ] {
            assert_eq!(until(text), None, "{text}");
        }
        for attributes in
            ["", "for", "for=", "for=\"soon\"", "for=\"-5m\"", "for=\"0s\"", "after=\"5m\"", "id=\"k3f9\""]
        {
            assert_eq!(WaitTime::parse(attributes), None, "{attributes}");
        }
    }

    fn read(text: &str) -> ClaimReading {
        let mut finder = ClaimFinder::new(ClaimRules::new(Promise::parse("DONE").unwrap()), "");
        finder.handle_event(TranscriptEvent::AgentText { message: 1, text });
        finder.finish()
    }

    // spec: L17
    #[test]
    fn a_wait_counts_if_it_is_the_last_signal_that_is_used() {
        let reading = read("The build has started.\n\n<wait for=\"30m\">the build runs</wait>");
        let time = WaitTime::For { ms: 1_800_000 };
        assert_eq!(reading.wait, Some(WaitRequest { time, reason: "the build runs".into() }));
        assert_eq!(reading.claim, Claim::None { why: NoClaimReason::Waits });
        let later = read("<wait for=\"30m\">the build</wait>\nIt is over already.\n\n<promise>DONE</promise>");
        assert!(later.claim.is_made() && later.wait.is_none());
        let earlier = read("<promise>DONE</promise>\n\nThe build still runs.\n\n<wait for=\"30m\">the build</wait>");
        assert!(!earlier.claim.is_made() && earlier.wait.is_some());
    }

    // spec: L17
    #[test]
    fn a_wait_that_is_only_mentioned_or_malformed_does_not_count() {
        for text in [
            "I could answer `<wait for=\"30m\">x</wait>` but I will not.",
            "```\n<wait for=\"30m\">x</wait>\n```",
            "> <wait for=\"30m\">x</wait>",
            "wait for=\"30m\"",
        ] {
            assert_eq!(read(text).wait, None, "{text}");
        }
        for text in ["<wait>the build</wait>", "<wait until=\"tomorrow\">the build</wait>"] {
            let reading = read(text);
            assert_eq!(
                (reading.wait, reading.claim),
                (None, Claim::None { why: NoClaimReason::MalformedWait }),
                "{text}"
            );
        }
    }
}
