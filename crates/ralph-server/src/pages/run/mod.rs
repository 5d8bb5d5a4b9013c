//! The pages of one run: its overview in three zooms, its iterations and its diff.
pub(super) mod cells;
pub(super) mod diff;
mod diff_parser;
pub(super) mod failure;
pub(super) mod iteration;
mod journal;
pub(super) mod run_page;
mod timeline;
