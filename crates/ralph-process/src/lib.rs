//! Runs programs as supervised process trees, so that no process outlives its job.
//!
//! ralph forks a small keeper process before any thread exists; the keeper forks supervisors in advance and gives
//! one job at a time to each.
//! The supervisor adopts every orphan of its job, and kills the whole tree on command, after the program has exited, or
//! when ralph dies. If a supervisor is killed, the keeper takes over; if both are killed, ralph does. This crate does
//! not decide when a job should stop and does not interpret its output.

mod background;
mod error;
mod job;
mod keeper;
mod output;
mod processes;
mod program;
mod protocol;
mod run_bounded;
mod supervisor;
mod unix;

pub use background::{BackgroundStart, StartupPipe, start_in_background};
pub use error::{ProcessError, SpawnError};
pub use job::job_completion::{JobCompletion, JobExit, LeakedProcess, TreeCleanup};
pub use job::job_control::{JobControl, TerminationSignal};
pub use job::pump_job::{
    EndCause, JobCommand, JobInput, JobListener, JobResult, OutputTiming, StdinChunk, StdinFollowUp, pump_job,
};
pub use job::start_job::{Job, JobSpec, StdinSource};
pub use keeper::keeper_handle::Keeper;
pub use output::log_budget::LogBudget;
pub use output::output_tail::OutputTail;
pub use output::raw_log::RawLog;
pub use processes::ancestor_process::{AncestorProcess, ancestor_processes, process_lineage};
pub use processes::connection_peer::{ConnectionPeer, LoopbackConnection, find_connection_peer};
pub use processes::kill_run_processes::{SweepResult, kill_run_processes};
pub use processes::process_identity::ProcessIdentity;
pub use program::locate_program::{can_start_program, find_program, locate_program};
pub use run_bounded::{BoundedOutcome, current_cancel_flag, is_cancelled, run_bounded, with_cancel_flag};
pub use unix::own_limits::limit_own_memory;
pub use unix::signals::{ignore_file_size_signal, is_hangup_ignored};

/// The environment variable that marks every process of a run.
pub const RUN_ID_VARIABLE: &str = "RALPH_RUN_ID";
