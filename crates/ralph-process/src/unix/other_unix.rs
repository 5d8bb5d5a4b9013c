//! The platform functions for Unix systems other than Linux. Limitations: orphans are not adopted and processes cannot
//! be listed, so a descendant that leaves its process group outlives the job; a sweep finds nothing; memory limits are
//! not enforced.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, Signal, kill_process};

use crate::processes::process_snapshot::ProcessSnapshot;
use crate::unix::fork_process::fork_process;

/// No flag is needed: Rust's runtime ignores SIGPIPE in ralph, and the keeper and supervisors catch it.
pub(crate) const NO_SIGPIPE: SendFlags = SendFlags::empty();

/// Whether [`list_processes`] shows the whole tree. If not, only a process group can be killed.
pub(crate) const CAN_LIST_PROCESSES: bool = false;

pub(crate) fn open_pidfd(_pid: Pid) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

pub(crate) fn signal_pidfd(_process: &OwnedFd, _signal: Signal) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

pub(crate) fn signal_process(process: &ProcessSnapshot, signal: Signal) -> rustix::io::Result<()> {
    kill_process(process.pid, signal)
}

pub(crate) fn is_single_threaded() -> bool {
    true
}

pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(crate) fn die_with_parent(_parent: Pid) -> rustix::io::Result<()> {
    Ok(())
}

pub(crate) fn continue_when_parent_dies() {}

pub(crate) fn set_process_title(_name: &str) {}

pub(crate) fn set_process_name(_name: &str) {}

/// Forks, because Rust can call nothing cheaper here.
pub(crate) fn spawn_sharing_memory(body: &mut dyn FnMut()) -> io::Result<Pid> {
    fork_process(body)
}

pub(crate) fn enlarge_pipe(_pipe: impl AsFd) {}

pub(crate) fn tcp_tables() -> Vec<String> {
    Vec::new()
}

pub(crate) fn socket_holders(_inode: u64) -> Vec<Pid> {
    Vec::new()
}

pub(crate) fn list_processes() -> Vec<ProcessSnapshot> {
    Vec::new()
}

/// Returns an empty string: the boot id is unknown.
pub(crate) fn boot_id() -> String {
    String::new()
}

pub(crate) fn read_process(_pid: Pid) -> Option<ProcessSnapshot> {
    None
}

/// Returns 0: memory usage is unknown, so no limit is ever exceeded.
pub(crate) fn resident_memory(_process: &ProcessSnapshot) -> u64 {
    0
}

pub(crate) fn proportional_memory(_process: &ProcessSnapshot) -> u64 {
    0
}

pub(crate) fn read_environment(_pid: Pid) -> Vec<u8> {
    Vec::new()
}

pub(crate) fn has_environment_entry(_pid: Pid, _entry: &str) -> bool {
    false
}
