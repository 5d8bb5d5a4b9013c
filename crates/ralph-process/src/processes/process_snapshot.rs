//! The state of one process, as each platform reports it.
use rustix::process::Pid;

/// One process at the time it was read.
#[derive(Debug, Clone)]
pub(crate) struct ProcessSnapshot {
    pub(crate) pid: Pid,
    pub(crate) parent_pid: Option<Pid>,
    pub(crate) session_id: Option<Pid>,
    /// The start time in clock ticks since boot. Together with the pid it identifies the process.
    pub(crate) start_ticks: u64,
    pub(crate) is_alive: bool,
    pub(crate) name: String,
}
