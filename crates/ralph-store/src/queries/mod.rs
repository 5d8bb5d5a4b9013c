//! Reads runs, their journal, and statistics over many runs.
pub(crate) mod changes;
pub(crate) mod charts;
pub(crate) mod inbox;
pub(crate) mod run_rows;
pub(crate) mod runs;
pub(crate) mod scope_usage;
pub(crate) mod stats;
pub(crate) mod task_window;
