//! The drivers of the loop: agents as processes and loops inside a running session; and the parts that perform their effects:
//! verification, git, work trees, locks. The rules in `ralph-core` decide.
pub mod control;
mod dns;
pub mod execution_log;
pub mod git;
pub mod http_client;
pub mod local_time;
pub mod lock;
pub mod node_program;
pub mod project;
pub mod run_driver;
pub mod session_driver;
pub mod verify;
pub mod worktree;
