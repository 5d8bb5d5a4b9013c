//! Runs that no process drives.
use ralph_engine::control::{CancelOrphanedError, RunLockError, cancel_orphaned_run};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{LoopRow, Store};

use super::unresponsive_error;
use crate::error::AppResult;
use crate::interaction::Interaction;
use crate::view::format_process_count;

/// Cancels a run that no process drives, and kills its remaining processes. Returns whether the run had not ended before.
pub async fn end_orphaned_run(
    project: &Project,
    store: &Store,
    row: &LoopRow,
    person: &dyn Interaction,
) -> AppResult<bool> {
    let cancellation = match cancel_orphaned_run(project, store, row, Clock::wall_now()).await {
        Ok(cancellation) => cancellation,
        Err(CancelOrphanedError::Lock(RunLockError::Driven)) => {
            return Err(
                unresponsive_error(row, None).with_advice("another process has just resumed it: cancel it again")
            );
        }
        Err(CancelOrphanedError::Lock(RunLockError::Unusable(error))) => return Err(error.into()),
        Err(CancelOrphanedError::Store(error)) => return Err(error.into()),
    };
    let sweep = cancellation.sweep;
    if sweep.killed > 0 {
        person.show_note(&format!("killed its remaining processes: {}", format_process_count(sweep.killed.into())));
    }
    for leaked in sweep.leaked {
        person.show_note(&format!("warning: {} ({}) could not be killed", leaked.name, leaked.pid));
    }
    Ok(cancellation.is_newly_cancelled)
}

/// Returns the newest run of a task, if it can be resumed.
pub async fn find_resumable_run(store: &Store, task: &str) -> AppResult<Option<LoopRow>> {
    let runs = store.runs_of_task(task).await?;
    let newest = runs.last().filter(|run| matches!(run.status.as_str(), "running" | "interrupted"));
    match newest {
        Some(run) => Ok(store.loop_of_run(&run.id).await?),
        None => Ok(None),
    }
}
