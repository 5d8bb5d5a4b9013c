//! The worker: leases ready tasks and runs each through its stages, several at a time. `ralph_core::pipeline` decides what
//! the end of a stage means for its task.
mod active_tasks;
mod events;
mod pause_observer;
mod run_stage;
mod services;
mod shared_budget;
mod start;
mod stuck_tasks;
mod task_runner;
mod task_sealing;
mod task_worktrees;
mod waiting_tasks;
mod worker;
mod worktree_setup;

pub use events::{TaskEvent, WorkObserver};
pub(crate) use run_stage::count_protected_rejections;
pub use services::WorkRequest;
pub use start::{
    FinishedWork, PreparedWork, StartedWork, WorkScope, WorkStartPoint, ensure_work_allowed, prepare_work,
    read_start_point,
};
pub use task_runner::TaskEnd;
pub(crate) use task_runner::updated_metadata;
pub use waiting_tasks::{WaitReason, WaitingTask};
pub use worker::{StopCondition, WorkAssignment, WorkSummary};
