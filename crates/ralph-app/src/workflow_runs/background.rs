//! Starts a workflow run in the background, where it survives the terminal.
use super::prepare::PreparedWorkflow;
use crate::error::{AppError, AppResult};
use crate::run::{
    BackgroundLog, BackgroundOutput, BackgroundRunStart, describe_background_start, fork_into_background,
};

/// Forks a process that drives the run with `work`. Returns as soon as the run is stored, or has failed before that. Must be
/// called while this process has only one thread.
pub fn start_workflow_in_background(
    prepared: PreparedWorkflow,
    work: impl FnOnce(PreparedWorkflow, AppResult<BackgroundOutput>) -> u8,
) -> AppResult<BackgroundRunStart> {
    if prepared.spec.workflow.is_interactive {
        return Err(AppError::invalid_request(format!(
            "the workflow {} may ask a person while it runs",
            prepared.spec.workflow.name
        ))
        .with_cause("its file says `interactive: true`")
        .with_advice("start it in a terminal, not in the background"));
    }
    let run = prepared.run.clone();
    let log = BackgroundLog::open(&prepared.project.run_folder(&run))?;
    describe_background_start(run, fork_into_background(log, |output| work(prepared, output))?)
}
