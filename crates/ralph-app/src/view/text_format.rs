//! Formatting of ids, counts, sizes, costs and times, the same for all output.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_util::duration;

/// Returns the short form of a run id: its end, because its beginning is the time.
#[must_use]
pub fn short_id(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

/// Formats a count: `1 iteration`, `3 iterations`.
#[must_use]
pub fn pluralize(count: i64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Formats a count of processes.
#[must_use]
pub fn format_process_count(count: u64) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// Formats a size: `512 bytes`, `1.5 KB`, `20.0 MB`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn format_bytes(count: u64) -> String {
    let units = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match units.into_iter().find(|(unit, _)| count >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", count as f64 / unit as f64),
        None => pluralize(i64::try_from(count).unwrap_or(i64::MAX), "byte"),
    }
}

/// Formats an amount of money. An unknown amount is shown as unknown, never as zero.
#[must_use]
pub fn format_cost(micros: Option<i64>) -> String {
    match micros {
        None => "cost unknown".to_owned(),
        Some(micros) => format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
    }
}

/// Converts an amount to dollars, for JSON.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "exact up to nine billion dollars")]
pub fn micros_to_dollars(micros: Option<i64>) -> Option<f64> {
    micros.map(|micros| micros as f64 / 1e6)
}

/// Formats a duration.
#[must_use]
pub fn format_elapsed(millis: i64) -> String {
    duration::format_rounded(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

/// Formats a stored time in the user's time zone.
#[must_use]
pub fn format_timestamp(millis: i64) -> String {
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(at) => at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "unknown time".to_owned(),
    }
}

/// Formats a time near `now` in the user's time zone: the time of day, with the date if that is another day.
#[must_use]
pub fn format_clock_time(at: UnixMillis, now: UnixMillis) -> String {
    let (whole, today) = (format_timestamp(at.0), format_timestamp(now.0));
    match (whole.split_once(' '), today.split_once(' ')) {
        (Some((date, time)), Some((today, _))) if date == today => time.to_owned(),
        (_, _) => whole,
    }
}

/// Formats a stored time in the user's time zone, for a column: month, day, hour and minute.
#[must_use]
pub fn format_minute(millis: i64) -> String {
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(at) => at.to_zoned(jiff::tz::TimeZone::system()).strftime("%m-%d %H:%M").to_string(),
        Err(_) => "unknown".to_owned(),
    }
}

/// Formats the tokens of a run: `12,345 in, 678 out`.
#[must_use]
pub fn format_tokens(input: Option<i64>, output: Option<i64>) -> Option<String> {
    let part = |count: Option<i64>, direction: &str| Some(format!("{} {direction}", group_digits(count?)));
    let parts: Vec<String> = part(input, "in").into_iter().chain(part(output, "out")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Separates thousands: `1,234,567`.
fn group_digits(count: i64) -> String {
    let digits = count.to_string();
    let grouped = digits.chars().rev().enumerate().fold(String::new(), |mut text, (at, digit)| {
        if at > 0 && at % 3 == 0 && digit != '-' {
            text.push(',');
        }
        text.push(digit);
        text
    });
    grouped.chars().rev().collect()
}

/// Formats the end of a wait that starts at `begin`: the time of day, with the date if it is on another day.
#[must_use]
pub fn format_wait_end(begin: UnixMillis, delay_ms: u64) -> String {
    let zone = jiff::tz::TimeZone::system();
    let local = |at: UnixMillis| jiff::Timestamp::from_millisecond(at.0).ok().map(|at| at.to_zoned(zone.clone()));
    let left = duration::format_rounded(Duration::from_millis(delay_ms));
    match (local(begin), local(begin.add_millis(delay_ms))) {
        (Some(begin), Some(end)) if begin.date() == end.date() => {
            format!("until {}, for {left}", end.strftime("%H:%M:%S"))
        }
        (Some(_), Some(end)) => format!("until {}, for {left}", end.strftime("%Y-%m-%d %H:%M:%S")),
        (_, _) => format!("for {left}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_the_largest_unit() {
        let shown = [0, 1, 1_023, 1_536, 20 << 20, 3 << 30].map(format_bytes);
        assert_eq!(shown, ["0 bytes", "1 byte", "1023 bytes", "1.5 KB", "20.0 MB", "3.0 GB"]);
    }

    // spec: U9
    #[test]
    fn tokens_are_shown_if_they_are_known() {
        assert_eq!(format_tokens(Some(1_234_567), Some(89)).as_deref(), Some("1,234,567 in, 89 out"));
        assert_eq!(format_tokens(None, Some(123)).as_deref(), Some("123 out"));
        assert_eq!(format_tokens(None, None), None);
    }

    #[test]
    fn an_unknown_cost_is_never_shown_as_zero() {
        assert_eq!(format_cost(None), "cost unknown");
        assert_eq!(format_cost(Some(0)), "$0.00");
        assert_eq!(format_cost(Some(12_345_678)), "$12.34");
        assert_eq!(micros_to_dollars(None), None);
    }
}
