//! Tasks, and the leases that decide which worker may write to them.
pub(crate) mod leases;
pub(crate) mod rewind;
pub(crate) mod task_changes;
pub(crate) mod task_rows;
pub(crate) mod task_seals;
