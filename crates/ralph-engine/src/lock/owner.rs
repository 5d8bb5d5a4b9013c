//! Who drives a run, for messages. Whether he lives is not read from here.
use std::fmt;

use ralph_core::event::Millis;
use serde::{Deserialize, Serialize};

use ralph_process::ProcessIdentity;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    #[serde(flatten)]
    pub process: ProcessIdentity,
    pub run: String,
    pub since: Millis,
}

impl Owner {
    /// Names this process as the one that drives a run.
    #[must_use]
    pub fn of(run: &str, since: Millis) -> Self {
        Self { process: ProcessIdentity::own(), run: run.to_owned(), since }
    }

    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what was written; anything else means that nobody is known.
    #[must_use]
    pub fn parse(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

impl fmt::Display for Owner {
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
    fn an_owner_is_read_back_and_garbage_is_nobody() {
        let owner = Owner::of("r1", Millis(0));
        assert_eq!(Owner::parse(&owner.json()), Some(owner.clone()));
        assert_eq!(Owner::parse("4711"), None);
        let said = owner.to_string();
        assert!(said.starts_with(&format!("process {} on ", std::process::id())), "{said}");
        assert!(said.contains(", since 19"), "{said}");
    }
}
