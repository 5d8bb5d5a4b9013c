//! Durations as users write them: `500ms`, `30s`, `10m`, `2h`; a bare number is seconds.
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::time::Duration;

/// A longer duration is assumed to be a mistake.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 3_600);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("{text:?} is not a duration: write 500ms, 30s, 10m, 2h or 7d (a bare number is seconds)")]
    Malformed { text: String },
    #[error("{text:?} is not a valid duration: it must be longer than zero")]
    Zero { text: String },
    #[error("{text:?} is longer than a year")]
    TooLong { text: String },
}

/// Parses a duration. It must be longer than zero and at most a year.
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
    let ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_ms)).ok_or_else(too_long)?;
    match Duration::from_millis(ms) {
        Duration::ZERO => Err(DurationError::Zero { text: text.to_owned() }),
        long if long > MAX_DURATION => Err(too_long()),
        fine => Ok(fine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_parsed_and_a_bare_number_is_seconds() {
        for (text, ms) in [("500ms", 500), ("30s", 30_000), ("7", 7_000), ("10m", 600_000), ("2h", 7_200_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)));
        }
    }

    #[test]
    fn malformed_zero_and_too_long_durations_are_errors() {
        for text in ["", "s", "-5s", "NaN", "1.5h", "10 m", "1e9", "5x"] {
            assert!(matches!(parse(text), Err(DurationError::Malformed { .. })), "{text}");
        }
        assert!(matches!(parse("0"), Err(DurationError::Zero { .. })));
        for text in ["1000000000h", "99999999999999999999s", "400d"] {
            assert!(matches!(parse(text), Err(DurationError::TooLong { .. })), "{text}");
        }
    }
}
