//! Runs programs so that nothing of them is left behind.
//!
//! A small keeper process is forked before any thread exists; it forks one supervisor per job, ahead of it. The supervisor
//! adopts every orphan of its job, and kills the whole tree when told to, when the program ended, or when ralph died.
//! When a supervisor is killed, the keeper does it in its place; when both are, ralph does.
//! This room never decides when a job should stop, and never understands what it prints.

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

/// Names the variable that marks every process of a run.
pub const RUN_ID_VARIABLE: &str = "RALPH_RUN_ID";
