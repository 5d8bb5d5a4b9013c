//! Addresses one process, also after its number was given to another. It never looks at what the process does.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::bell::timespec;
use super::platform;

/// How long to rest where the end of a process cannot be waited for.
const BLIND_REST: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) enum Handle {
    Exact(OwnedFd),
    /// There are no handles for processes here (not Linux, older than 5.3, or a sandbox forbids them).
    Number(Pid),
    Ended,
}

impl Handle {
    pub(super) fn of(pid: Pid) -> Handle {
        match platform::open_process(pid) {
            Ok(fd) => Handle::Exact(fd),
            Err(Errno::SRCH) => Handle::Ended,
            Err(_) => Handle::Number(pid),
        }
    }

    pub(super) fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        match self {
            Handle::Exact(fd) => platform::signal_opened(fd, signal),
            Handle::Number(pid) => kill_process(*pid, signal),
            Handle::Ended => Err(Errno::SRCH),
        }
    }

    /// Waits until the process ends, for `time` at most. May return early.
    pub(super) fn rest(&self, time: Duration) {
        match self {
            Handle::Exact(fd) => drop(poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timespec(time)))),
            Handle::Number(_) => std::thread::sleep(time.min(BLIND_REST)),
            Handle::Ended => {}
        }
    }
}
