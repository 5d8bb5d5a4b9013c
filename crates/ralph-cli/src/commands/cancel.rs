//! `ralph cancel`.
use clap::Args;
use ralph_app::control::{CancelMode, CancelResult, LoopTarget, cancel_loop};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;

use super::interaction::TerminalInteraction;
use super::{block_on, out};
use crate::error::CommandError;

/// Ends a loop for good, by its task or its run
///
/// The agent is asked to stop, and killed with everything that it has started after the grace time. Its work stays.
/// A cancelled run is never resumed; `ralph retry` makes its task ready again. A task without a running loop is
/// cancelled at once, and so is a run whose ralph died. Ctrl-C ends the waiting, not the cancelling.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph cancel TASK-001           the loop that works on this task, and the task
  ralph cancel 3f2a9c41           the run whose id begins or ends so
  ralph cancel TASK-001 --kill    also where the ralph that drives it is stuck")]
pub struct CancelArgs {
    /// The id of a task, or the beginning or end of a run's
    #[arg(value_name = "TASK|RUN")]
    id: String,
    /// Does not wait until everything has stopped
    #[arg(long, conflicts_with = "kill")]
    no_wait: bool,
    /// Kills the ralph that drives it if it does not answer, with everything else that it drives
    #[arg(long)]
    kill: bool,
}

pub fn run(args: &CancelArgs) -> Result<u8, CommandError> {
    block_on(async {
        let target = LoopTarget::find(&Project::find_here()?, &args.id).await?;
        let done = tokio::select! {
            cancelled = cancel_loop(&target, args.mode(), &TerminalInteraction) => cancelled.map(|result| print_result(&result)),
            _ = tokio::signal::ctrl_c() => {
                out::print_note("\nstopped waiting; the loop still ends, and `ralph status` shows when");
                Ok(exit_code::SIGINT)
            }
        };
        target.close().await;
        Ok(done?)
    })
}

impl CancelArgs {
    fn mode(&self) -> CancelMode {
        match (self.no_wait, self.kill) {
            (true, _) => CancelMode::NoWait,
            (false, true) => CancelMode::WaitThenKill,
            (false, false) => CancelMode::Wait,
        }
    }
}

/// Prints how the loop ended, and returns the exit code.
fn print_result(result: &CancelResult) -> u8 {
    let text = match result {
        CancelResult::StoppingLoop(position) => format!("Cancelling Ralph loop for {position}"),
        CancelResult::StoppingTask { task } => format!("Cancelling {task}"),
        CancelResult::LoopCancelled(position) => format!("Cancelled Ralph loop for {position}"),
        CancelResult::TaskCancelled { task } => format!("Cancelled {task}"),
        CancelResult::IdleTaskCancelled { task } => format!("Cancelled {task}; no loop was running for it"),
        CancelResult::LoopAlreadyCancelled(position) => format!("The Ralph loop for {position} was already cancelled"),
        CancelResult::TaskAlreadyCancelled { task } => format!("{task} was already cancelled"),
        CancelResult::EndedByOther(position) => format!("Another process ended the Ralph loop for {position}"),
        CancelResult::Deleted => return exit_code::COMPLETED,
    };
    out::print_message(&text);
    exit_code::COMPLETED
}
