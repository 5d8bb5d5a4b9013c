//! Identifies a process uniquely, also for readers on another machine or after a reboot.

use rustix::process::{Pid, Signal, getpid};
use serde::{Deserialize, Serialize};

use crate::processes::process_snapshot::ProcessSnapshot;
use crate::unix::platform;

/// A process, identified by more than its pid, which may be reused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: i32,
    pub host: String,
    /// The boot id of the machine; empty if it is unknown.
    pub boot: String,
    /// The start time of the process, in clock ticks since boot.
    pub start: u64,
}

impl ProcessIdentity {
    #[must_use]
    pub fn of_this_process() -> Self {
        let pid = getpid();
        Self {
            pid: pid.as_raw_pid(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot: platform::boot_id(),
            start: platform::read_process(pid).map_or(0, |process| process.start_ticks),
        }
    }

    /// Returns whether the process ran on this machine and has exited. Returns `false` for a process of another
    /// machine.
    #[must_use]
    pub fn has_exited_here(&self) -> bool {
        let own = Self::of_this_process();
        let is_here = self.host == own.host && !self.boot.is_empty();
        is_here && self.find_process().is_none()
    }

    /// Returns whether the process is alive on this machine.
    #[must_use]
    pub fn is_alive_here(&self) -> bool {
        self.host == Self::of_this_process().host && self.find_process().is_some()
    }

    /// Signals a ralph that a command is pending, so that it need not wait for its next poll. A process without a
    /// handler ignores the signal. Returns whether the signal was sent.
    pub fn notify_of_command(&self) -> bool {
        self.send_signal(Signal::URG)
    }

    /// Asks the process to stop gracefully, as a service manager does. Returns whether the signal was sent.
    pub fn terminate(&self) -> bool {
        self.send_signal(Signal::TERM)
    }

    /// Kills the process. Its keeper and supervisors notice that and end its jobs. Returns whether the signal was sent.
    pub fn kill(&self) -> bool {
        self.send_signal(Signal::KILL)
    }

    fn send_signal(&self, signal: Signal) -> bool {
        self.find_process().is_some_and(|process| platform::signal_process(&process, signal).is_ok())
    }

    /// Returns the living process, or `None` if its pid now belongs to another one.
    fn find_process(&self) -> Option<ProcessSnapshot> {
        let is_here = self.boot == platform::boot_id();
        let process = Pid::from_raw(self.pid).filter(|_| is_here).and_then(platform::read_process)?;
        (process.is_alive && process.start_ticks == self.start).then_some(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 13
    #[test]
    fn a_process_identity_names_the_host_and_start_time() {
        let own = ProcessIdentity::of_this_process();
        assert_eq!(own, ProcessIdentity::of_this_process());
        assert!(!own.has_exited_here() && own.is_alive_here());
        assert!(ProcessIdentity { start: own.start - 1, ..own.clone() }.has_exited_here(), "the pid was reused");
        assert!(ProcessIdentity { boot: "another".to_owned(), ..own.clone() }.has_exited_here());
        let elsewhere = ProcessIdentity { host: "elsewhere".to_owned(), start: 0, ..own.clone() };
        assert!(!elsewhere.has_exited_here() && !elsewhere.is_alive_here());
        assert!(own.pid > 0 && !own.host.is_empty() && own.start > 0, "{own:?}");
    }

    // spec: L11
    // fault: 13
    #[test]
    fn another_process_with_the_same_pid_is_never_signalled() {
        let own = ProcessIdentity::of_this_process();
        assert!(!own.has_exited_here() && own.notify_of_command(), "the signal has no effect without a handler");
        let later = ProcessIdentity { start: own.start + 1, ..own.clone() };
        let elsewhere = ProcessIdentity { boot: "another".to_owned(), ..own };
        for other in [later, elsewhere] {
            assert!(other.has_exited_here() && !other.notify_of_command() && !other.terminate() && !other.kill());
        }
    }
}
