//! What names this process for ever, also to somebody on another machine or after a reboot.

use rustix::process::{Pid, Signal, getpid};
use serde::{Deserialize, Serialize};

use super::platform;
use super::seen::Seen;

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

    /// Tells whether the process was on this machine and is no more. Of one elsewhere nobody here knows.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let own = Self::own();
        let is_here = self.host == own.host && !self.boot.is_empty();
        is_here && self.seen().is_none()
    }

    /// Tells whether the process is on this machine, and alive.
    #[must_use]
    pub fn lives_here(&self) -> bool {
        self.host == Self::own().host && self.seen().is_some()
    }

    /// Tells a ralph that an order waits for it. It looks by itself before long; one that does not listen notices nothing.
    pub fn nudge(&self) -> bool {
        self.signal(Signal::URG)
    }

    /// Kills the process. What it had started sees that it is gone, and ends.
    pub fn kill(&self) -> bool {
        self.signal(Signal::KILL)
    }

    fn signal(&self, signal: Signal) -> bool {
        self.seen().is_some_and(|seen| platform::signal(&seen, signal).is_ok())
    }

    /// Looks for the process itself: its number may have been given to another.
    fn seen(&self) -> Option<Seen> {
        let is_here = self.boot == platform::boot_id();
        let seen = Pid::from_raw(self.pid).filter(|_| is_here).and_then(platform::look)?;
        (seen.alive && seen.start == self.start).then_some(seen)
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
        assert!(!own.is_gone() && own.lives_here());
        assert!(ProcessIdentity { start: own.start - 1, ..own.clone() }.is_gone(), "another had the number");
        assert!(ProcessIdentity { boot: "another".to_owned(), ..own.clone() }.is_gone());
        let elsewhere = ProcessIdentity { host: "elsewhere".to_owned(), start: 0, ..own.clone() };
        assert!(!elsewhere.is_gone() && !elsewhere.lives_here());
        assert!(own.pid > 0 && !own.host.is_empty() && own.start > 0, "{own:?}");
    }

    // spec: L11
    // fault: 13
    #[test]
    fn only_the_process_itself_is_nudged_and_no_other_with_its_number() {
        let own = ProcessIdentity::own();
        assert!(!own.is_gone() && own.nudge(), "nobody listens here, and nothing happens");
        let later = ProcessIdentity { start: own.start + 1, ..own.clone() };
        let elsewhere = ProcessIdentity { boot: "another".to_owned(), ..own };
        for other in [later, elsewhere] {
            assert!(other.is_gone() && !other.nudge() && !other.kill());
        }
    }
}
