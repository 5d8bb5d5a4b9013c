//! The journal of each run, and the projections that change in the same transaction.
pub(crate) mod agent_usage;
pub(crate) mod checksum;
pub(crate) mod event_rows;
pub(crate) mod projections;
pub mod receipt_file;
pub(crate) mod record_step;
pub(crate) mod run_deletion;
pub(crate) mod run_insert;
pub(crate) mod takeover;
pub(crate) mod transfer;
pub(crate) mod verdict_rows;
