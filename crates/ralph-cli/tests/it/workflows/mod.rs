//! Workflows: files, runs, loops, approvals.
mod approvals;
mod children;
mod control;
mod dry_run;
mod loops;
mod nodes;
mod origin;
mod policies;
mod receipts;
mod recovery;
pub(crate) mod runs;
mod verification;
mod workflow_files;
