//! Runs programs as supervised process trees, so that no process outlives its job.
//!
//! ralph forks a small keeper process before any thread exists; the keeper forks one supervisor per job, in advance.
//! The supervisor adopts every orphan of its job, and kills the whole tree on command, after the program has exited, or
//! when ralph dies. If a supervisor is killed, the keeper takes over; if both are killed, ralph does. This crate does
//! not decide when a job should stop and does not interpret its output.

mod ancestors;
mod background;
mod bounded;
mod child_exit_notifier;
mod error;
mod executable_format;
mod fds;
mod fork;
mod frame;
mod graceful_stop;
mod helper_pids;
mod identity;
mod job;
mod job_completion;
mod job_control;
mod keeper;
mod keeper_main;
mod launch;
mod limited_file;
mod locate;
mod log_budget;
mod memory_limit;
mod messages;
mod output_tail;
mod own_limits;
mod preforked_supervisor;
mod process_handle;
mod process_snapshot;
mod process_tree;
mod pump;
mod raw_log;
mod report_stream;
mod resolve;
mod signals;
mod supervisor;
mod supervisors;
mod sweep;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "other_unix.rs"]
mod platform;

pub use ancestors::{AncestorProcess, ancestor_processes};
pub use background::{BackgroundStart, StartupPipe, start_in_background};
pub use bounded::{BoundedOutcome, run_bounded, with_cancel_flag};
pub use error::{ProcessError, SpawnError};
pub use identity::ProcessIdentity;
pub use job::{Job, JobSpec, StdinSource};
pub use job_completion::{JobCompletion, JobExit, LeakedProcess, TreeCleanup};
pub use job_control::{JobControl, TerminationSignal};
pub use keeper::Keeper;
pub use locate::{can_start_program, find_program, locate_program};
pub use log_budget::LogBudget;
pub use output_tail::OutputTail;
pub use own_limits::limit_own_memory;
pub use pump::{
    EndCause, JobCommand, JobInput, JobListener, JobResult, OutputTiming, StdinChunk, StdinFollowUp, pump_job,
};
pub use raw_log::RawLog;
pub use signals::{ignore_file_size_signal, is_hangup_ignored};
pub use sweep::{SweepResult, kill_run_processes};

/// The environment variable that marks every process of a run.
pub const RUN_ID_VARIABLE: &str = "RALPH_RUN_ID";
