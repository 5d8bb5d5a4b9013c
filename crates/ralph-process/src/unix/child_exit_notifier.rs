//! A descriptor that becomes readable when a child of this process exits, so that the keeper and the supervisors can
//! poll it together with their sockets. It does not reap the child.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::processes::process_tree::TREE_POLL_INTERVAL;
use crate::unix::signals;

pub(crate) struct ChildExitNotifier(UnixStream);

impl ChildExitNotifier {
    /// Installs the notifier of this process. Replaces a notifier that was inherited by `fork`.
    pub(crate) fn install() -> io::Result<ChildExitNotifier> {
        let (ours, handler_end) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        handler_end.set_nonblocking(true)?;
        signals::notify_on_child_exit(handler_end);
        Ok(ChildExitNotifier(ours))
    }

    /// Discards pending notifications.
    pub(crate) fn clear(&self) {
        let mut buffer = [0; 256];
        while matches!((&self.0).read(&mut buffer), Ok(count) if count > 0) {}
    }

    /// Waits for a notification, for at most [`TREE_POLL_INTERVAL`].
    pub(crate) fn wait_briefly(&self) {
        let _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&to_timespec(TREE_POLL_INTERVAL)));
        self.clear();
    }
}

impl AsFd for ChildExitNotifier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(crate) fn to_timespec(wait: Duration) -> Timespec {
    // Round up to a millisecond, so that a deadline less than a tick away does not become a busy loop.
    let wait = wait.max(Duration::from_millis(1));
    Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() }
}
