//! Locks: one driver per run, and one per work tree unless the user allows more. An open file holds the lock, so the
//! kernel frees it however the process ends. The contents of the file are only for messages.
mod file_lock;
mod run_owner;

pub use file_lock::{HeldLock, LockError, LockSharing, is_lock_free, take_lock};
pub use run_owner::RunOwner;
