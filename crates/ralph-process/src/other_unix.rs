//! The same functions as on Linux with what any Unix offers. Not guaranteed here: orphans are not adopted, and no
//! other process can be seen, so a descendant that leaves its process group outlives the job; a sweep finds nothing;
//! a memory ceiling is not enforced.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, Signal, kill_process};

use super::fork::fork;
use super::process_snapshot::ProcessSnapshot;

/// Rust's runtime ignores SIGPIPE in ralph, and keeper and supervisors catch it.
pub(super) const NO_SIGPIPE: SendFlags = SendFlags::empty();

/// Says whether `processes` shows the whole tree. Where it does not, only a process group can be killed.
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

/// Forks, as there is nothing cheaper here that Rust can call.
pub(super) fn spawn_sharing_memory(body: &mut dyn FnMut()) -> io::Result<Pid> {
    fork(body)
}

pub(super) fn enlarge_pipe(_pipe: impl AsFd) {}

pub(super) fn list_processes() -> Vec<ProcessSnapshot> {
    Vec::new()
}

/// Unknown here.
pub(super) fn boot_id() -> String {
    String::new()
}

pub(super) fn read_process(_pid: Pid) -> Option<ProcessSnapshot> {
    None
}

/// Unknown here, and taken for nothing: no ceiling is ever exceeded.
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
