//! `ralph retry`.
use clap::Args;
use ralph_core::task::TaskStatus;

use super::cancel::{end_orphaned_run, find_resumable_run};
use super::loop_target::{LoopTarget, LoopTargetKind};
use super::{block_on, out};
use crate::error::CommandError;
use ralph_app::view::short_id;
use ralph_store::TaskSettlement;

/// Makes a task ready again that was blocked, was cancelled or has failed
///
/// It begins with its first stage, and with all of its attempts. What was committed for it stays.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph retry TASK-001; ralph work
  ralph guide TASK-001 'The tests need Redis: run make redis first'; ralph retry TASK-001")]
pub struct RetryArgs {
    /// The id of a task
    #[arg(value_name = "TASK")]
    id: String,
}

pub fn run(args: &RetryArgs) -> Result<u8, CommandError> {
    block_on(async {
        let target = LoopTarget::find(&args.id).await?;
        let done = retry_task(&target).await;
        target.store.close().await;
        done
    })
}

async fn retry_task(target: &LoopTarget) -> Result<u8, CommandError> {
    let LoopTargetKind::Task { id, status } = &target.kind else {
        return Err(CommandError::usage_error(format!("{} is a run, and a task can be retried", target.name()))
            .with_hint("`ralph resume` goes on with a run that was interrupted; `ralph task list` lists the tasks"));
    };
    if *status == TaskStatus::Done {
        return Err(CommandError::preflight_error(format!("{id} is done"))
            .with_hint(format!("more work is another task: ralph task followup {id}")));
    }
    if let Some((row, _)) = target.find_driven_loop().await? {
        return Err(CommandError::preflight_error(format!("run {} works on {id}", short_id(&row.run.id)))
            .with_hint(format!("end it first: ralph cancel {id}")));
    }
    // What could still be resumed would work beside the new attempt.
    if let Some(row) = find_resumable_run(&target.store, id).await? {
        end_orphaned_run((&target.project, &target.store), &row).await?;
    }
    target.settle_task(id, TaskSettlement::ResetToReady).await?;
    out::print_message(&format!("{id} is ready again"));
    Ok(0)
}
