//! Workflows: files, runs, loops, approvals.
mod approvals;
mod dry_run;
mod loops;
mod nodes;
mod origin;
mod recovery;
pub(crate) mod runs;
mod verification;
mod workflow_files;
