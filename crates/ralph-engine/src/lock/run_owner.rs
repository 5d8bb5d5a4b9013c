//! Who drives a run, for messages. Whether he lives is not read from here.
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
    /// Names this process as the one that drives a run.
    #[must_use]
    pub fn for_this_process(run: &str, since: UnixMillis) -> Self {
        Self { process: ProcessIdentity::of_this_process(), run: run.to_owned(), since }
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what was written; anything else means that nobody is known.
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
        let said = owner.to_string();
        assert!(said.starts_with(&format!("process {} on ", std::process::id())), "{said}");
        assert!(said.contains(", since 19"), "{said}");
    }
}
