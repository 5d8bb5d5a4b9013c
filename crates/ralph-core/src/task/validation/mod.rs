//! Validates a task when it is written.
pub(super) mod missing_proof;
pub(super) mod task_problem;
pub(super) mod validate_task;
