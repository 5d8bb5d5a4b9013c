//! The worker: takes tasks that are ready, and drives each through its stages, several at a time. What the end of a stage makes
//! of a task is decided in `ralph_core::pipeline`; what a stage is made of, its shop knows.
mod active_tasks;
mod pause_observer;
mod run_stage;
mod shared_budget;
mod stuck_tasks;
mod task_runner;
mod task_services;
mod worker;
mod worktree_setup;

pub use task_runner::TaskEnd;
pub use task_services::{AcceptedStage, TaskEvent, TaskServices};
pub use worker::{StopCondition, WorkAssignment, WorkSummary, run_worker};
pub use worktree_setup::SetupContext;
