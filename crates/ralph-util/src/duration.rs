//! Formats durations. The parser is in `ralph_core::duration`.
use std::time::Duration;

pub use ralph_core::duration::{DurationError, parse};

/// Formats a duration, rounded to at most two units: `420ms`, `5.2s`, `5m 23s`, `2h 05m`.
#[must_use]
pub fn format_rounded(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..=9 => format!("{:.1}s", duration.as_secs_f64()),
        10..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Formats a duration exactly, in the largest unit that divides it: `90s`, `10m`, `2h`.
#[must_use]
pub fn format_exact(duration: Duration) -> String {
    let ms = duration.as_millis();
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let whole = units.into_iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{ms}ms"), |(unit, name)| format!("{}{name}", ms / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_two_units_at_most() {
        let shown = |ms| format_rounded(Duration::from_millis(ms));
        assert_eq!(shown(420), "420ms");
        assert_eq!(shown(5_240), "5.2s");
        assert_eq!(shown(323_000), "5m 23s");
        assert_eq!(shown(7_500_000), "2h 05m");
    }

    #[test]
    fn a_formatted_duration_parses_to_the_same_value() {
        for text in ["500ms", "1500ms", "90s", "10m", "2h", "25h"] {
            assert_eq!(format_exact(parse(text).unwrap()), text);
        }
        assert_eq!(format_exact(parse("3600").unwrap()), "1h");
    }
}
