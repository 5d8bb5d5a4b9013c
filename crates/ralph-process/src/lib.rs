//! Runs programs so that nothing of them is left behind.
//!
//! A small keeper process is forked before any thread exists; it forks one supervisor per job, ahead of it. The supervisor
//! adopts every orphan of its job, and kills the whole tree when told to, when the program ended, or when ralph died.
//! When a supervisor is killed, the keeper does it in its place; when both are, ralph does.
//! This room never decides when a job should stop, and never understands what it prints.

mod background;
mod bell;
mod bounded;
mod ceiling;
mod control;
mod courtesy;
mod ending;
mod error;
mod fds;
mod fork;
mod handle;
mod identity;
mod job;
mod keep;
mod keeper;
mod launch;
mod limited_file;
mod limits;
mod line;
mod locate;
mod log_budget;
mod machine;
mod message;
mod own;
mod pump;
mod raw_log;
mod reports;
mod resolve;
mod seen;
mod signals;
mod spare;
mod supervisor;
mod sweep;
mod tail;
mod tree;
mod wards;
mod wire;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "other_unix.rs"]
mod platform;

pub use background::{Beginning, Tie, background};
pub use bounded::{Bounded, heeding, run_bounded};
pub use control::{Control, Polite};
pub use ending::{Ending, Exit, Gone, Survivor};
pub use error::{ProcessError, SpawnError};
pub use identity::ProcessIdentity;
pub use job::{Job, JobSpec, Stdin};
pub use keeper::Keeper;
pub use limits::limit_own_memory;
pub use line::{Ancestor, line};
pub use locate::{find_program, is_program, locate};
pub use log_budget::LogBudget;
pub use pump::{End, Input, Listener, Order, Pumped, Speech, Then, When, pump};
pub use raw_log::RawLog;
pub use signals::{fail_instead_of_dying, hangup_is_ignored};
pub use sweep::{Swept, sweep};
pub use tail::Tail;

/// Names the variable that marks every process of a run.
pub const RUN_ID_VARIABLE: &str = "RALPH_RUN_ID";
