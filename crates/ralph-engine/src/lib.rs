//! The drivers of the loop: agents as processes, loops inside a running session, many tasks at a time; and what performs their effects:
//! verification, git, work trees, locks. What to do is decided in `ralph-core`.
pub mod control;
pub mod engine;
pub mod execution_log;
pub mod git;
pub mod lock;
pub mod project;
pub mod session;
pub mod tree;
pub mod verify;
pub mod work;
