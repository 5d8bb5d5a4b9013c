//! Work trees that ralph created: whose they are, and keeping others out of one while it is changed.
mod project_lock;
mod reservation;

pub use project_lock::{PROJECT_LOCK, lock_project};
pub use reservation::{WorktreeOwner, WorktreeReservation, ensure_task_is_free};
