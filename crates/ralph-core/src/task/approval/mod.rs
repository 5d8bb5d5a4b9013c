//! The approval of a task's terms of completion.
pub(super) mod approval_items;
pub(super) mod task_approval;
