//! Workflows: files, runs, loops, approvals.
mod approvals;
mod children;
mod control;
mod dry_run;
mod loops;
mod policies;
mod recovery;
pub(crate) mod runs;
mod workflow_files;
