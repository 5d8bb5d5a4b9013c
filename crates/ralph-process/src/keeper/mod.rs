//! The keeper: a small process that gives each job to a supervisor and cleans up after supervisors that were killed.
pub(crate) mod helper_pids;
pub(crate) mod keeper_handle;
pub(crate) mod keeper_main;
pub(crate) mod spare_supervisor;
pub(crate) mod supervisors;
