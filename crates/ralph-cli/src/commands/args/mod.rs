//! Arguments that several commands share.
pub mod agent_args;
pub mod budget_args;
pub mod check_args;
pub mod completion_values;
pub mod config_args;
pub mod judge_args;
pub mod limit_args;
pub mod limit_change_args;
pub mod output_args;
pub mod promise_text;
pub mod value_parsers;
