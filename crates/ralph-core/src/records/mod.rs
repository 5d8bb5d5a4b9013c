//! Reads the records of runs: validates journals, builds the execution log and statistics, and decides what may be deleted.
pub mod execution_log;
pub mod journal;
pub mod retention;
pub mod stats;
