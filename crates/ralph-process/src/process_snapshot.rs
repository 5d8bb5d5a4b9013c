//! What every platform tells of a process.
use rustix::process::Pid;

/// One process as it was when looked at.
#[derive(Debug, Clone)]
pub(super) struct ProcessSnapshot {
    pub(super) pid: Pid,
    pub(super) parent_pid: Option<Pid>,
    pub(super) session_id: Option<Pid>,
    /// Start time in ticks since boot: with the pid, it names a process for ever.
    pub(super) start_ticks: u64,
    pub(super) is_alive: bool,
    pub(super) name: String,
}
