//! The report of a run that is read later, in the log of a CI system: one line per iteration, and at the end what failed.
mod ci_report;
mod ci_system;
mod iteration_tracker;
mod job_summary;
mod workflow_commands;

pub use ci_report::CiReport;
pub use ci_system::{CiSystem, detect_ci_system};
pub use iteration_tracker::{IterationTracker, RunHeading};
pub use workflow_commands::protect_from_commands;
