//! What names this process for ever, also to somebody on another machine or after a reboot.

use rustix::process::{Pid, Signal, getpid};
use serde::{Deserialize, Serialize};

use super::platform;
use super::process_snapshot::ProcessSnapshot;

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
    pub fn of_this_process() -> Self {
        let pid = getpid();
        Self {
            pid: pid.as_raw_pid(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot: platform::boot_id(),
            start: platform::read_process(pid).map_or(0, |process| process.start_ticks),
        }
    }

    /// Tells whether the process was on this machine and is no more. Of one elsewhere nobody here knows.
    #[must_use]
    pub fn has_exited_here(&self) -> bool {
        let own = Self::of_this_process();
        let is_here = self.host == own.host && !self.boot.is_empty();
        is_here && self.find_process().is_none()
    }

    /// Tells whether the process is on this machine, and alive.
    #[must_use]
    pub fn is_alive_here(&self) -> bool {
        self.host == Self::of_this_process().host && self.find_process().is_some()
    }

    /// Tells a ralph that an order waits for it. It looks by itself before long; one that does not listen notices nothing.
    pub fn notify_of_command(&self) -> bool {
        self.send_signal(Signal::URG)
    }

    /// Kills the process. What it had started sees that it is gone, and ends.
    pub fn kill(&self) -> bool {
        self.send_signal(Signal::KILL)
    }

    fn send_signal(&self, signal: Signal) -> bool {
        self.find_process().is_some_and(|seen| platform::signal_process(&seen, signal).is_ok())
    }

    /// Looks for the process itself: its number may have been given to another.
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
        assert!(ProcessIdentity { start: own.start - 1, ..own.clone() }.has_exited_here(), "another had the number");
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
        assert!(!own.has_exited_here() && own.notify_of_command(), "nobody listens here, and nothing happens");
        let later = ProcessIdentity { start: own.start + 1, ..own.clone() };
        let elsewhere = ProcessIdentity { boot: "another".to_owned(), ..own };
        for other in [later, elsewhere] {
            assert!(other.has_exited_here() && !other.notify_of_command() && !other.kill());
        }
    }
}
