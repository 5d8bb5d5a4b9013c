//! Cancels a workflow run: its driver stops the nodes; a run without a driver is ended at once.
use std::time::Duration;

use ralph_core::outcome::RunEnd;
use ralph_engine::control::cancel_orphaned_run;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{Store, WorkflowRunRow, WorkflowRunUpdate, WorkflowStep};

use super::fact::WorkflowFact;
use super::lookup::{FoundWorkflowRun, find_workflow_run};
use crate::control::user_name;
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::run::{is_orphaned, kill_leftover_processes, refuse_command_by_agent};
use crate::view::short_id;

/// How long the driver may take to stop its nodes.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Cancels a run, and waits until it has ended. Returns the run as it was.
pub async fn cancel_workflow_run(
    project: &Project,
    part: Option<&str>,
    person: &dyn Interaction,
) -> AppResult<WorkflowRunRow> {
    refuse_command_by_agent(project, "cancel a workflow run of the project that it works on")?;
    let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
    if run.ended_at.is_some() {
        return Err(AppError::preflight(format!("workflow run {} has ended: {}", short_id(&run.id), run.status)));
    }
    if is_orphaned(project, &run.id) {
        kill_leftover_processes(&run.id, person);
        end_orphaned_run(project, &store, &run).await?;
        store.close().await;
        return Ok(run);
    }
    store.request_workflow_cancel(&run.id, &user_name(), Clock::wall_now()).await?;
    wait_for_end(&store, &run).await?;
    store.close().await;
    Ok(run)
}

async fn wait_for_end(store: &Store, run: &WorkflowRunRow) -> AppResult<()> {
    let ended = async {
        loop {
            let row = store.workflow_run(&run.id).await?;
            if row.is_none_or(|row| row.ended_at.is_some()) {
                return AppResult::Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(CANCEL_TIMEOUT, ended).await.unwrap_or_else(|_| {
        Err(AppError::preflight(format!("workflow run {} does not respond", short_id(&run.id)))
            .with_advice("the command stays queued: the run is cancelled as soon as its process responds"))
    })
}

/// Ends a run that no process drives, with the runs of its agents.
async fn end_orphaned_run(project: &Project, store: &Store, run: &WorkflowRunRow) -> AppResult<()> {
    let fence = store.take_over_workflow_run(&run.id, run.owner_json.as_deref().unwrap_or_default()).await?;
    for pass in store.passes_of_workflow_run(&run.id).await? {
        if let Some(row) = store.loop_of_run(&pass.id).await? {
            // A pass that cannot be cancelled stays as it is; no process drives it.
            drop(cancel_orphaned_run(project, store, &row, Clock::wall_now()).await);
        }
    }
    let ended = RunEnd::cancelled_by_user();
    let finished = WorkflowFact::Finished {
        status: ended.outcome.as_str().to_owned(),
        reason: ended.reason.clone(),
        exit_code: ended.exit_code,
        proof: None,
    };
    let events = [serde_json::to_string(&finished).map_err(|error| AppError::internal(&error))?];
    let step = WorkflowStep {
        run: &run.id,
        fence,
        first_seq: run.event_count + 1,
        at: Clock::wall_now(),
        events: &events,
        nodes: &[],
        update: WorkflowRunUpdate {
            status: ended.outcome.as_str(),
            reason: Some(&ended.reason),
            exit_code: Some(ended.exit_code),
            step_index: run.step_index,
            metadata: &run.metadata,
            has_ended: true,
        },
        taken_answers: &[],
    };
    Ok(store.record_workflow_step(&step).await?)
}
