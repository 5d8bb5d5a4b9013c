//! Workflows: files, runs, loops, approvals.
mod approvals;
mod dry_run;
mod loops;
mod recovery;
pub(crate) mod runs;
mod workflow_files;
