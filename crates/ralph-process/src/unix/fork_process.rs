//! Forks processes without `exec`, and ends them. Only for single-threaded callers: ralph before its first thread,
//! the keeper and the supervisors.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Pid;

/// Forks a process that runs `body` and then exits, with exit code 0 unless it panicked. It never returns to the
/// caller's stack, flushes no buffers and runs no exit hooks.
#[expect(unsafe_code, reason = "no safe wrapper of fork exists")]
pub(crate) fn fork_process(body: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: the callers are single-threaded, so no lock can be held by a thread that does not exist in the child.
    let child_pid = unsafe { libc::fork() };
    if child_pid == 0 {
        let result = catch_unwind(AssertUnwindSafe(body));
        exit_immediately(result.is_err().into())
    }
    Pid::from_raw(child_pid.max(0)).ok_or_else(io::Error::last_os_error)
}

/// Ends this process without running exit hooks or flushing buffers that were copied from the parent.
#[expect(unsafe_code, reason = "no safe wrapper of _exit exists")]
pub(crate) fn exit_immediately(code: i32) -> ! {
    // SAFETY: _exit has no preconditions and does not return.
    unsafe { libc::_exit(code) }
}
