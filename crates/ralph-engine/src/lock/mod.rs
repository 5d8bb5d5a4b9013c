//! Locks: one engine for a run, and one for a work tree unless the user wants more. A lock is held by an open file, so
//! that the kernel frees it however its holder dies. What is written in the file is for people only.
mod file_lock;
mod run_owner;

pub use file_lock::{HeldLock, LockError, LockSharing, is_lock_free, take_lock};
pub use run_owner::RunOwner;
