//! The loop without its driver: decides with the rules, records the decision, and publishes the facts.
pub(in crate::run_driver) mod loop_runner;
#[cfg(test)]
mod loop_runner_tests;
pub(in crate::run_driver) mod run_observer;
pub(in crate::run_driver) mod run_record;
pub(in crate::run_driver) mod stage_execution_log;
pub(in crate::run_driver) mod step_journal;
pub(in crate::run_driver) mod verified_snapshot;
