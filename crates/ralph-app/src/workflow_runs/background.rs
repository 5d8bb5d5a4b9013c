//! Drives a workflow run in the background, where it survives the terminal.
use ralph_engine::project::Project;
use ralph_store::WorkflowRunRow;

use super::lookup::{FoundWorkflowRun, find_root_run, find_workflow_run};
use super::opened_run::load_spec;
use super::prepare::PreparedWorkflow;
use crate::error::{AppError, AppResult};
use crate::run::{
    BackgroundLog, BackgroundOutput, BackgroundRunStart, describe_background_start, fork_into_background, is_orphaned,
};
use crate::view::short_id;

/// Forks a process that drives the run with `work`. Returns as soon as the run is stored, or has failed before that. Must be
/// called while this process has only one thread.
pub fn start_workflow_in_background(
    prepared: PreparedWorkflow,
    work: impl FnOnce(PreparedWorkflow, AppResult<BackgroundOutput>) -> u8,
) -> AppResult<BackgroundRunStart> {
    if prepared.spec.workflow.is_interactive {
        return Err(interactive_error(&prepared.spec.workflow.name));
    }
    let run = prepared.run.clone();
    let log = BackgroundLog::open(&prepared.project.run_folder(&run))?;
    describe_background_start(run, fork_into_background(log, |output| work(prepared, output))?)
}

/// A workflow run that no process drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResumableWorkflow {
    /// It continues, with this id.
    Open { run: String },
    /// It has ended, and cannot continue.
    Ended(Box<WorkflowRunRow>),
}

/// Finds the run to continue. Fails if it cannot continue in the background.
pub async fn find_resumable_workflow(project: &Project, part: Option<&str>) -> AppResult<ResumableWorkflow> {
    let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
    let run = find_root_run(&store, run).await?;
    let spec = load_spec(&store, &run.id).await?;
    store.close().await;
    if run.ended_at.is_some() && run.status != "failed" {
        return Ok(ResumableWorkflow::Ended(Box::new(run)));
    }
    if !is_orphaned(project, &run.id) {
        return Err(AppError::preflight(format!("another process drives workflow run {}", short_id(&run.id))));
    }
    if spec.workflow.is_interactive {
        return Err(interactive_error(&spec.workflow.name));
    }
    Ok(ResumableWorkflow::Open { run: run.id })
}

/// Forks a process that continues a run with `work`. Returns as soon as the process has taken over the run, or has failed
/// before that. Must be called while this process has only one thread.
pub fn resume_workflow_in_background(
    project: &Project,
    run: &str,
    work: impl FnOnce(AppResult<BackgroundOutput>) -> u8,
) -> AppResult<BackgroundRunStart> {
    let log = BackgroundLog::open(&project.run_folder(run))?;
    describe_background_start(run.to_owned(), fork_into_background(log, work)?)
}

fn interactive_error(workflow: &str) -> AppError {
    AppError::invalid_request(format!("the workflow {workflow} may ask a person while it runs"))
        .with_cause("its file says `interactive: true`")
        .with_advice("start it in a terminal, not in the background")
}
