//! Locks of a project that one process holds at a time.
use ralph_engine::lock::{self, HeldLock, LockSharing, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_util::private_files;

use crate::error::{AppError, AppResult, ErrorKind};

/// The lock of the user's files: agents that work in them hold it.
pub const PROJECT_LOCK: &str = "lock";

/// Takes a lock of the project. Fails if another process holds it.
pub async fn lock_project(project: &Project, name: &str) -> AppResult<HeldLock> {
    let state = project.state_folder();
    private_files::ensure_folder(&state).map_err(|error| AppError::from_error(ErrorKind::StateUnusable, &error))?;
    let owner = RunOwner::for_this_process("land", Clock::start().now());
    Ok(lock::take_lock(&state.join(name), LockSharing::Exclusive, &owner).await?)
}
