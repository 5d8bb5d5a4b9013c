//! A handle to one process that stays valid after its pid was reused.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::unix::child_exit_notifier::to_timespec;
use crate::unix::platform;

/// How often to poll for the exit of a process without a pidfd.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) enum ProcessHandle {
    PidFd(OwnedFd),
    /// pidfds are not available (not Linux, a kernel before 5.3, or a sandbox that forbids them).
    PidOnly(Pid),
    Exited,
}

impl ProcessHandle {
    pub(crate) fn open(pid: Pid) -> ProcessHandle {
        match platform::open_pidfd(pid) {
            Ok(fd) => ProcessHandle::PidFd(fd),
            Err(Errno::SRCH) => ProcessHandle::Exited,
            Err(_) => ProcessHandle::PidOnly(pid),
        }
    }

    pub(crate) fn send_signal(&self, signal: Signal) -> rustix::io::Result<()> {
        match self {
            ProcessHandle::PidFd(fd) => platform::signal_pidfd(fd, signal),
            ProcessHandle::PidOnly(pid) => kill_process(*pid, signal),
            ProcessHandle::Exited => Err(Errno::SRCH),
        }
    }

    /// Waits until the process exits, for at most `timeout`. May return early.
    pub(crate) fn wait_for_exit(&self, timeout: Duration) {
        match self {
            ProcessHandle::PidFd(fd) => drop(poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&to_timespec(timeout)))),
            ProcessHandle::PidOnly(_) => std::thread::sleep(timeout.min(EXIT_POLL_INTERVAL)),
            ProcessHandle::Exited => {}
        }
    }
}
