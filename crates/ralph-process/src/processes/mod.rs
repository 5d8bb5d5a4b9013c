//! Reads the process table, identifies processes, and kills process trees.
pub(crate) mod ancestor_process;
pub(crate) mod connection_peer;
pub(crate) mod kill_run_processes;
pub(crate) mod process_handle;
pub(crate) mod process_identity;
pub(crate) mod process_snapshot;
pub(crate) mod process_tree;
