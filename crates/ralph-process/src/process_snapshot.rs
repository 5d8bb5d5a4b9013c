//! The state of one process, as each platform reports it.
use rustix::process::Pid;

/// One process at the time it was read.
#[derive(Debug, Clone)]
pub(super) struct ProcessSnapshot {
    pub(super) pid: Pid,
    pub(super) parent_pid: Option<Pid>,
    pub(super) session_id: Option<Pid>,
    /// The start time in clock ticks since boot. Together with the pid it identifies the process.
    pub(super) start_ticks: u64,
    pub(super) is_alive: bool,
    pub(super) name: String,
}
