//! The processes above this one, as far as they can be seen: who has started it, whatever its environment says.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::process::{Pid, getpid};

use super::platform;

/// What a supervisor is called.
pub(super) const SUPERVISOR: &str = "rk-super";

/// More processes than this above each other are a mistake in the table.
const LONGEST: usize = 256;

/// One process of the line.
pub struct Ancestor {
    environment: Vec<u8>,
    is_supervisor: bool,
}

impl Ancestor {
    /// Returns a variable with which it was started.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let value = |entry: &[u8]| {
            let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(OsString::from_vec(value.to_vec()))
        };
        self.environment.split(|byte| *byte == 0).find_map(value)
    }

    /// Tells whether it answers for a job of ralph's.
    #[must_use]
    pub fn is_supervisor(&self) -> bool {
        self.is_supervisor
    }
}

/// Returns this process and those above it. Where other processes cannot be seen, it is this one alone.
#[must_use]
pub fn line() -> Vec<Ancestor> {
    let mine = Ancestor { environment: own_environment(), is_supervisor: false };
    let parent = |pid: &Pid| platform::look(*pid)?.parent;
    let above = std::iter::successors(parent(&getpid()), parent).take(LONGEST);
    std::iter::once(mine).chain(above.filter_map(seen)).collect()
}

fn seen(pid: Pid) -> Option<Ancestor> {
    let is_supervisor = platform::look(pid)?.name == SUPERVISOR;
    Some(Ancestor { environment: platform::environment(pid), is_supervisor })
}

fn own_environment() -> Vec<u8> {
    let entry = |(name, value): (OsString, OsString)| {
        [name.as_os_str(), OsStr::new("="), &value, OsStr::new("\0")].map(OsStrExt::as_bytes).concat()
    };
    std::env::vars_os().flat_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let environment = b"RUN_ID=a\0RUN=b=c\0EMPTY=\0".to_vec();
        let process = Ancestor { environment, is_supervisor: false };
        assert_eq!(process.variable("RUN"), Some("b=c".into()));
        assert_eq!(process.variable("EMPTY"), Some("".into()));
        assert_eq!(process.variable("RU"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whoever_started_this_process_is_seen() {
        let line = line();
        assert!(line.len() > 1);
        assert!(line[0].variable("PATH").is_some() && !line[0].is_supervisor());
    }
}
