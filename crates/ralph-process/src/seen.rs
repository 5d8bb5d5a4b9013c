//! What every platform tells of a process.
use rustix::process::Pid;

/// One process as it was when looked at.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) pid: Pid,
    pub(super) parent: Option<Pid>,
    pub(super) session: Option<Pid>,
    /// Start time in ticks since boot: with the pid, it names a process for ever.
    pub(super) start: u64,
    pub(super) alive: bool,
    pub(super) name: String,
}
