//! The plan of a run: its stored settings, its live context, and how both become prompts and processes.
pub(in crate::run_driver) mod agent_choice;
pub(in crate::run_driver) mod judge_choice;
pub(in crate::run_driver) mod prompt_source;
pub(in crate::run_driver) mod prompt_template;
pub(in crate::run_driver) mod run_context;
pub(in crate::run_driver) mod run_notes;
pub(in crate::run_driver) mod run_plan;
pub(in crate::run_driver) mod run_spec;
#[cfg(test)]
mod run_spec_tests;
pub(in crate::run_driver) mod stored_agent;
pub(in crate::run_driver) mod stored_path;
pub(in crate::run_driver) mod stored_value;
