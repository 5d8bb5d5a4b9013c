//! One attempt: prepares and starts the agent, reads its output, and reports how it ended.
pub(in crate::run_driver) mod activity_clock;
pub(in crate::run_driver) mod agent_listener;
pub(in crate::run_driver) mod agent_process;
pub(in crate::run_driver) mod attempt_conversions;
pub(in crate::run_driver) mod attempt_io;
pub(in crate::run_driver) mod attempt_output;
pub(in crate::run_driver) mod attempt_runner;
pub(in crate::run_driver) mod change_detector;
pub(in crate::run_driver) mod driver_message;
pub(in crate::run_driver) mod failure_collector;
pub(in crate::run_driver) mod filter_process;
mod message_counter;
pub(in crate::run_driver) mod remaining_budget;
pub(in crate::run_driver) mod snapshots;
pub(in crate::run_driver) mod usage_file;
