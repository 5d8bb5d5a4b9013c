//! Locks of a project that one process holds at a time.
use ralph_engine::lock::{self, HeldLock, LockSharing, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, EngineError};

use crate::error::AppResult;

/// The lock of the user's files: agents that work in them hold it.
pub const PROJECT_LOCK: &str = "lock";

/// Takes a lock of the project. Fails if another process holds it.
pub async fn lock_project(project: &Project, name: &str) -> AppResult<HeldLock> {
    let state = project.state_folder();
    project.create_state_folder().map_err(EngineError::from)?;
    let owner = RunOwner::for_this_process("land", Clock::start().now());
    Ok(lock::take_lock(&state.join(name), LockSharing::Exclusive, &owner).await?)
}
