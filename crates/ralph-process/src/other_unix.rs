//! The platform functions for Unix systems other than Linux. Limitations: orphans are not adopted and processes cannot
//! be listed, so a descendant that leaves its process group outlives the job; a sweep finds nothing; memory limits are
//! not enforced.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, Signal, kill_process};

use super::fork::fork_process;
use super::process_snapshot::ProcessSnapshot;

/// No flag is needed: Rust's runtime ignores SIGPIPE in ralph, and the keeper and supervisors catch it.
pub(super) const NO_SIGPIPE: SendFlags = SendFlags::empty();

/// Whether [`list_processes`] shows the whole tree. If not, only a process group can be killed.
pub(super) const CAN_LIST_PROCESSES: bool = false;

pub(super) fn open_pidfd(_pid: Pid) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

pub(super) fn signal_pidfd(_process: &OwnedFd, _signal: Signal) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

pub(super) fn signal_process(process: &ProcessSnapshot, signal: Signal) -> rustix::io::Result<()> {
    kill_process(process.pid, signal)
}

pub(super) fn is_single_threaded() -> bool {
    true
}

pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(super) fn die_with_parent(_parent: Pid) -> rustix::io::Result<()> {
    Ok(())
}

pub(super) fn continue_when_parent_dies() {}

pub(super) fn set_process_title(_name: &str) {}

pub(super) fn set_process_name(_name: &str) {}

/// Forks, because Rust can call nothing cheaper here.
pub(super) fn spawn_sharing_memory(body: &mut dyn FnMut()) -> io::Result<Pid> {
    fork_process(body)
}

pub(super) fn enlarge_pipe(_pipe: impl AsFd) {}

pub(super) fn list_processes() -> Vec<ProcessSnapshot> {
    Vec::new()
}

/// Returns an empty string: the boot id is unknown.
pub(super) fn boot_id() -> String {
    String::new()
}

pub(super) fn read_process(_pid: Pid) -> Option<ProcessSnapshot> {
    None
}

/// Returns 0: memory usage is unknown, so no limit is ever exceeded.
pub(super) fn resident_memory(_process: &ProcessSnapshot) -> u64 {
    0
}

pub(super) fn proportional_memory(_process: &ProcessSnapshot) -> u64 {
    0
}

pub(super) fn read_environment(_pid: Pid) -> Vec<u8> {
    Vec::new()
}

pub(super) fn has_environment_entry(_pid: Pid, _entry: &str) -> bool {
    false
}
