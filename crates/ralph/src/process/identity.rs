//! What names this process for ever, also to somebody on another machine or after a reboot.

use rustix::process::getpid;
use serde::{Deserialize, Serialize};

use super::platform;

/// A process by more than its number, which is given to another one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: i32,
    pub host: String,
    /// Names the time since the machine was started; empty where nobody knows it.
    pub boot: String,
    /// When the process started, in the kernel's ticks since then.
    pub start: u64,
}

impl ProcessIdentity {
    #[must_use]
    pub fn own() -> Self {
        let pid = getpid();
        Self {
            pid: pid.as_raw_pid(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot: platform::boot_id(),
            start: platform::look(pid).map_or(0, |seen| seen.start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 13
    #[test]
    fn a_process_knows_its_machine_and_its_start() {
        let own = ProcessIdentity::own();
        assert_eq!(own, ProcessIdentity::own());
        assert!(own.pid > 0 && !own.host.is_empty() && own.start > 0, "{own:?}");
    }
}
