//! The process that drives a run, for messages. Not used to test liveness.
use std::fmt;

use ralph_core::event::UnixMillis;
use serde::{Deserialize, Serialize};

use ralph_process::ProcessIdentity;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOwner {
    #[serde(flatten)]
    pub process: ProcessIdentity,
    pub run: String,
    pub since: UnixMillis,
}

impl RunOwner {
    /// Returns this process as the owner of a run.
    #[must_use]
    pub fn for_this_process(run: &str, since: UnixMillis) -> Self {
        Self { process: ProcessIdentity::of_this_process(), run: run.to_owned(), since }
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the JSON of an owner; `None` for anything else.
    #[must_use]
    pub fn parse(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

impl fmt::Display for RunOwner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "process {} on {}", self.process.pid, self.process.host)?;
        match jiff::Timestamp::from_millisecond(self.since.0) {
            Ok(at) => {
                let at = at.to_zoned(jiff::tz::TimeZone::system());
                write!(out, ", since {}", at.strftime("%Y-%m-%d %H:%M:%S"))
            }
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 11
    #[test]
    fn an_owner_round_trips_through_json_and_garbage_is_rejected() {
        let owner = RunOwner::for_this_process("r1", UnixMillis(0));
        assert_eq!(RunOwner::parse(&owner.to_json()), Some(owner.clone()));
        assert_eq!(RunOwner::parse("4711"), None);
        let text = owner.to_string();
        assert!(text.starts_with(&format!("process {} on ", std::process::id())), "{text}");
        assert!(text.contains(", since 19"), "{text}");
    }
}
