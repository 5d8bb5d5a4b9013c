//! Refuses recorded runs that came with the repository.
use ralph_engine::git;
use ralph_engine::project::Project;

use crate::advice::Advice;
use crate::error::{AppError, AppResult, ErrorKind};

/// Refuses to use the recorded runs if git tracks them: ralph would start what a stranger may have written there.
pub fn refuse_tracked_state(project: &Project) -> AppResult<()> {
    let state = project.state_folder();
    if !git::is_tracked(&project.root, &state)? {
        return Ok(());
    }
    Err(AppError::from_message(ErrorKind::StateUnusable, "the recorded runs came with the repository")
        .with_cause(format!("git tracks files in {}", state.display()))
        .with_advice(Advice::DistrustRecordedRuns))
}
