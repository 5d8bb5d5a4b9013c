//! The ancestors of this process with their environments. Used to detect that ralph runs inside one of its jobs,
//! even if the environment was cleared on the way.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::process::{Pid, getpid};

use crate::unix::platform;

/// The process name of a supervisor.
pub(crate) const SUPERVISOR_PROCESS_NAME: &str = "rk-super";

/// A longer chain of parents is an inconsistent process table.
const MAX_ANCESTORS: usize = 256;

/// This process or one of its ancestors.
pub struct AncestorProcess {
    environment: Vec<u8>,
    is_supervisor: bool,
}

impl AncestorProcess {
    /// Returns an environment variable that the process was started with.
    #[must_use]
    pub fn environment_variable(&self, name: &str) -> Option<OsString> {
        let value = |entry: &[u8]| {
            let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(OsString::from_vec(value.to_vec()))
        };
        self.environment.split(|byte| *byte == 0).find_map(value)
    }

    /// Returns whether the process supervises one of ralph's jobs.
    #[must_use]
    pub fn is_supervisor(&self) -> bool {
        self.is_supervisor
    }
}

/// Returns this process and its ancestors, or only this process on platforms that cannot read others.
#[must_use]
pub fn ancestor_processes() -> Vec<AncestorProcess> {
    let own = AncestorProcess { environment: own_environment(), is_supervisor: false };
    std::iter::once(own).chain(pids_upwards(parent_of(&getpid())).filter_map(read_ancestor)).collect()
}

/// Returns another process and its ancestors; nothing if it has ended, or on platforms that cannot read others.
#[must_use]
pub fn process_lineage(pid: Pid) -> Vec<AncestorProcess> {
    pids_upwards(Some(pid)).filter_map(read_ancestor).collect()
}

fn pids_upwards(first: Option<Pid>) -> impl Iterator<Item = Pid> {
    std::iter::successors(first, parent_of).take(MAX_ANCESTORS)
}

fn parent_of(pid: &Pid) -> Option<Pid> {
    platform::read_process(*pid)?.parent_pid
}

fn read_ancestor(pid: Pid) -> Option<AncestorProcess> {
    let is_supervisor = platform::read_process(pid)?.name == SUPERVISOR_PROCESS_NAME;
    Some(AncestorProcess { environment: platform::read_environment(pid), is_supervisor })
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
        let process = AncestorProcess { environment, is_supervisor: false };
        assert_eq!(process.environment_variable("RUN"), Some("b=c".into()));
        assert_eq!(process.environment_variable("EMPTY"), Some("".into()));
        assert_eq!(process.environment_variable("RU"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_of_this_process_is_listed() {
        let ancestors = ancestor_processes();
        assert!(ancestors.len() > 1);
        assert!(ancestors[0].environment_variable("PATH").is_some() && !ancestors[0].is_supervisor());
    }
}
