//! Commands that start and resume runs.
pub mod budget;
pub mod classic;
pub mod demo;
mod demo_work;
pub mod detach;
pub mod execute;
mod parked_run;
pub mod resume;
pub mod run_args;
pub mod run_command;
pub mod run_report;
pub mod serve;
pub mod state_requests;
