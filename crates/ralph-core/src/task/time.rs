//! A time-out as it was written: a bare number is seconds.
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::duration::{self, DurationError};

/// Cannot be wrong: it is read before it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct WrittenTime {
    form: Form,
    ms: u64,
}

/// Digits are a number, anything else is a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Seconds(u64),
    Text(String),
}

impl WrittenTime {
    /// Reads a time and keeps how it was written.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        text.parse().map_or_else(|_| Form::Text(text.to_string()), Form::Seconds).try_into()
    }

    /// Returns it in milliseconds.
    #[must_use]
    pub fn ms(&self) -> u64 {
        self.ms
    }
}

impl TryFrom<Form> for WrittenTime {
    type Error = DurationError;

    fn try_from(form: Form) -> Result<Self, DurationError> {
        let time = match &form {
            Form::Seconds(seconds) => duration::parse(&seconds.to_string()),
            Form::Text(text) => duration::parse(text),
        }?;
        Ok(Self { form, ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) })
    }
}

impl From<WrittenTime> for Form {
    fn from(time: WrittenTime) -> Self {
        time.form
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V2, T2
    #[test]
    fn a_time_out_is_kept_as_it_was_written_and_a_bare_number_is_seconds() {
        for (written, ms) in [("300", 300_000), ("5m", 300_000), ("500ms", 500)] {
            let time = WrittenTime::parse(written).unwrap();
            assert_eq!(time.ms(), ms);
            let json = serde_json::to_string(&time).unwrap();
            assert_eq!(json.trim_matches('"'), written);
            assert_eq!(serde_json::from_str::<WrittenTime>(&json).unwrap(), time);
        }
        for wrong in ["0", "\"soon\""] {
            assert!(WrittenTime::parse(wrong.trim_matches('"')).is_err(), "{wrong}");
            assert!(serde_json::from_str::<WrittenTime>(wrong).is_err(), "{wrong}");
        }
    }
}
