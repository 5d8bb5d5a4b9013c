//! `ralph retry`.
use clap::Args;
use ralph_core::task::Status;

use super::cancel::{buried, left_of};
use super::target::{Target, What};
use super::{block_on, out};
use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_store::Settled;

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

pub fn run(args: &RetryArgs) -> Result<u8, Failure> {
    block_on(async {
        let target = Target::find(&args.id).await?;
        let done = retry(&target).await;
        target.store.close().await;
        done
    })
}

async fn retry(target: &Target) -> Result<u8, Failure> {
    let What::Task { id, status } = &target.what else {
        return Err(Failure::usage(format!("{} is a run, and a task can be retried", target.name())).hint(
            "`ralph resume` goes on with a run that was interrupted; `ralph task list` lists the tasks",
        ));
    };
    if *status == Status::Done {
        return Err(Failure::preflight(format!("{id} is done"))
            .hint(format!("more work is another task: ralph task followup {id}")));
    }
    if let Some((row, _)) = target.alive().await? {
        return Err(Failure::preflight(format!("run {} works on {id}", short_id(&row.run.id)))
            .hint(format!("end it first: ralph cancel {id}")));
    }
    // What could still be resumed would work beside the new attempt.
    if let Some(row) = left_of(&target.store, id).await? {
        buried((&target.project, &target.store), &row).await?;
    }
    target.settle(id, Settled::ReadyAgain).await?;
    out::say(&format!("{id} is ready again"));
    Ok(0)
}
