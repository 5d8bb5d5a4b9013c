//! Locks: one engine for a run, and one for a work tree unless the user wants more. A lock is held by an open file, so
//! that the kernel frees it however its holder dies. What is written in the file is for people only.
mod owner;
mod take;

pub use owner::Owner;
pub use take::{Held, LockError, Sharing, is_free, take};
