//! Commands for workflows.
pub mod decide;
mod dry_run;
pub mod follow_run;
mod graph;
pub mod list;
mod problems;
pub mod reporter;
mod rerun;
pub mod run;
mod show;
mod test;
pub mod validate;
pub mod view_run;
pub mod workflow;
