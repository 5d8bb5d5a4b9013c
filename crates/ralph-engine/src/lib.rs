//! The drivers of the loop: agents as processes, loops inside a running session, many tasks at a time; and what performs their effects:
//! verification, git, work trees, locks. What to do is decided in `ralph-core`.
pub mod control;
pub mod execution_log;
pub mod git;
pub mod lock;
pub mod project;
pub mod run_driver;
pub mod scheduler;
pub mod session_driver;
pub mod verify;
pub mod worktree;
