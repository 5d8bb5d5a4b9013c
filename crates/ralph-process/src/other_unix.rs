//! The same functions as on Linux with what any Unix offers. Not guaranteed here: orphans are not adopted, and no
//! other process can be seen, so a descendant that leaves its process group outlives the job; a sweep finds nothing;
//! a memory ceiling is not enforced.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, Signal, kill_process};

use super::fork::fork;
use super::seen::Seen;

/// Rust's runtime ignores SIGPIPE in ralph, and keeper and supervisors catch it.
pub(super) const NO_SIGPIPE: SendFlags = SendFlags::empty();

/// Says whether `processes` shows the whole tree. Where it does not, only a process group can be killed.
pub(super) const SEES_THE_TREE: bool = false;

pub(super) fn open_process(_pid: Pid) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

pub(super) fn signal_opened(_process: &OwnedFd, _signal: Signal) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

pub(super) fn signal(seen: &Seen, signal: Signal) -> rustix::io::Result<()> {
    kill_process(seen.pid, signal)
}

pub(super) fn is_single_threaded() -> bool {
    true
}

pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(super) fn die_with(_parent: Pid) -> rustix::io::Result<()> {
    Ok(())
}

pub(super) fn go_on_without_parent() {}

pub(super) fn name_this_process(_name: &str) {}

pub(super) fn rename_this_process(_name: &str) {}

/// Forks, as there is nothing cheaper here that Rust can call.
pub(super) fn start_child(body: &mut dyn FnMut()) -> io::Result<Pid> {
    fork(body)
}

pub(super) fn enlarge_pipe(_pipe: impl AsFd) {}

pub(super) fn processes() -> Vec<Seen> {
    Vec::new()
}

/// Unknown here.
pub(super) fn boot_id() -> String {
    String::new()
}

pub(super) fn look(_pid: Pid) -> Option<Seen> {
    None
}

/// Unknown here, and taken for nothing: no ceiling is ever exceeded.
pub(super) fn memory_at_most(_seen: &Seen) -> u64 {
    0
}

pub(super) fn memory(_seen: &Seen) -> u64 {
    0
}

pub(super) fn environment(_pid: Pid) -> Vec<u8> {
    Vec::new()
}

pub(super) fn carries(_pid: Pid, _entry: &str) -> bool {
    false
}
