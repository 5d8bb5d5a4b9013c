//! A time-out as it was written: a bare number is seconds.
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::duration::{self, DurationError};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WrittenTime {
    Seconds(u64),
    Text(String),
}

impl WrittenTime {
    /// Keeps what was written: digits are a number, anything else is a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Text(text.to_string()), Self::Seconds)
    }

    /// Returns it in milliseconds.
    pub fn ms(&self) -> Result<u64, DurationError> {
        let parsed = match self {
            Self::Seconds(seconds) => duration::parse(&seconds.to_string()),
            Self::Text(text) => duration::parse(text),
        };
        parsed.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V2, T2
    #[test]
    fn a_time_out_is_kept_as_it_was_written_and_a_bare_number_is_seconds() {
        for (written, ms) in [("300", 300_000), ("5m", 300_000), ("500ms", 500)] {
            let time = WrittenTime::of(written);
            assert_eq!(time.ms(), Ok(ms));
            let json = serde_json::to_string(&time).unwrap();
            assert_eq!(json.trim_matches('"'), written);
        }
        assert!(WrittenTime::of("0").ms().is_err() && WrittenTime::of("soon").ms().is_err());
    }
}
