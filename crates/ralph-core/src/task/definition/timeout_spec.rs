//! A timeout as written. A number without a unit is in seconds.
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::duration::{self, DurationError};

/// Always valid, because it is parsed on construction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TimeoutNotation", into = "TimeoutNotation")]
pub struct TimeoutSpec {
    form: TimeoutNotation,
    ms: u64,
}

/// A number of seconds, or a text with a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum TimeoutNotation {
    Seconds(u64),
    Text(String),
}

impl TimeoutSpec {
    /// Parses a duration and keeps its notation.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        text.parse().map_or_else(|_| TimeoutNotation::Text(text.to_string()), TimeoutNotation::Seconds).try_into()
    }

    #[must_use]
    pub fn as_millis(&self) -> u64 {
        self.ms
    }
}

impl TryFrom<TimeoutNotation> for TimeoutSpec {
    type Error = DurationError;

    fn try_from(form: TimeoutNotation) -> Result<Self, DurationError> {
        let time = match &form {
            TimeoutNotation::Seconds(seconds) => duration::parse(&seconds.to_string()),
            TimeoutNotation::Text(text) => duration::parse(text),
        }?;
        Ok(Self { form, ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) })
    }
}

impl From<TimeoutSpec> for TimeoutNotation {
    fn from(time: TimeoutSpec) -> Self {
        time.form
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V2, T2
    #[test]
    fn a_timeout_keeps_its_notation_and_a_number_without_a_unit_is_in_seconds() {
        for (written, ms) in [("300", 300_000), ("5m", 300_000), ("500ms", 500)] {
            let time = TimeoutSpec::parse(written).unwrap();
            assert_eq!(time.as_millis(), ms);
            let json = serde_json::to_string(&time).unwrap();
            assert_eq!(json.trim_matches('"'), written);
            assert_eq!(serde_json::from_str::<TimeoutSpec>(&json).unwrap(), time);
        }
        for wrong in ["0", "\"soon\""] {
            assert!(TimeoutSpec::parse(wrong.trim_matches('"')).is_err(), "{wrong}");
            assert!(serde_json::from_str::<TimeoutSpec>(wrong).is_err(), "{wrong}");
        }
    }
}
