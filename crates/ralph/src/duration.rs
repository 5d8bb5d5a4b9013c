//! Durations as users write them: `500ms`, `30s`, `10m`, `2h`; a bare number is seconds.
use std::time::Duration;

/// Longer waits are mistakes.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3_600);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("{text:?} is not a duration: write 500ms, 30s, 10m or 2h (a bare number is seconds)")]
    Malformed { text: String },
    #[error("{text:?} is no time at all: it must be more than zero")]
    Zero { text: String },
    #[error("{text:?} is longer than a year")]
    TooLong { text: String },
}

/// Parses a duration that is more than nothing and at most a year.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let malformed = || DurationError::Malformed { text: text.to_owned() };
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(malformed()),
    };
    if number.is_empty() {
        return Err(malformed());
    }
    let too_long = || DurationError::TooLong { text: text.to_owned() };
    let ms =
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_ms)).ok_or_else(too_long)?;
    match Duration::from_millis(ms) {
        Duration::ZERO => Err(DurationError::Zero { text: text.to_owned() }),
        long if long > LONGEST => Err(too_long()),
        fine => Ok(fine),
    }
}

/// Shows a duration to people: `420ms`, `5.2s`, `5m 23s`, `2h 05m`.
#[must_use]
pub fn show(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..=9 => format!("{:.1}s", duration.as_secs_f64()),
        10..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Writes a duration as a user would, in the largest unit that holds it whole: `90s`, `10m`, `2h`.
#[must_use]
pub fn write(duration: Duration) -> String {
    let ms = duration.as_millis();
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let whole = units.into_iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{ms}ms"), |(unit, name)| format!("{}{name}", ms / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_understood_and_a_bare_number_is_seconds() {
        for (text, ms) in [("500ms", 500), ("30s", 30_000), ("7", 7_000), ("10m", 600_000), ("2h", 7_200_000)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)));
        }
    }

    #[test]
    fn nonsense_zero_and_overflow_are_refused() {
        for text in ["", "s", "-5s", "NaN", "1.5h", "10 m", "1e9", "5x"] {
            assert!(matches!(parse(text), Err(DurationError::Malformed { .. })), "{text}");
        }
        assert!(matches!(parse("0"), Err(DurationError::Zero { .. })));
        for text in ["1000000000h", "99999999999999999999s", "400d"] {
            assert!(matches!(parse(text), Err(DurationError::TooLong { .. })), "{text}");
        }
    }

    #[test]
    fn durations_are_shown_in_two_units_at_most() {
        let shown = |ms| show(Duration::from_millis(ms));
        assert_eq!(shown(420), "420ms");
        assert_eq!(shown(5_240), "5.2s");
        assert_eq!(shown(323_000), "5m 23s");
        assert_eq!(shown(7_500_000), "2h 05m");
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["500ms", "1500ms", "90s", "10m", "2h", "25h"] {
            assert_eq!(write(parse(text).unwrap()), text);
        }
        assert_eq!(write(parse("3600").unwrap()), "1h");
    }
}
