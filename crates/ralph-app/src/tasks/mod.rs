//! Stored tasks: finding, creating, changing, importing, approving and deleting them.
mod advice;
mod author;
mod lookup;

pub use advice::TaskAdvice;
pub use author::{detect_author, ensure_may_set_status};
pub use lookup::{FoundTask, ensure_not_running, find_task, open_or_create_store, open_task_store, unknown_task_error};
