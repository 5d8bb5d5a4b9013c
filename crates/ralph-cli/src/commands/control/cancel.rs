//! `ralph cancel`: cancels the loop of a task or a run.
use clap::Args;
use ralph_app::background_worker::{StopWorkerResult, is_worker_id, stop_worker};
use ralph_app::control::{CancelMode, CancelResult, LoopTarget, cancel_loop};
use ralph_app::view::short_id;
use ralph_app::workflow_runs::{cancel_workflow_run, names_workflow_run};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;

use crate::commands::interaction::TerminalInteraction;
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Cancels a loop, by its task or its run, or stops a background worker
///
/// ralph asks the agent to stop, and after the grace time kills it with all its descendants. Its work stays. A
/// cancelled run cannot be resumed; `ralph retry` makes its task ready again. A task without a running loop is
/// cancelled at once, and so is a run whose ralph process died. Ctrl-C stops waiting, but the loop is still cancelled.
///
/// A background worker (`ralph work --detach`) is stopped, not cancelled: its tasks keep their progress, and the next
/// `ralph work` resumes them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph cancel                    the only active loop
  ralph cancel TASK-001           the task, and the loop that works on it
  ralph cancel 3f2a9c41           the run whose id begins or ends with this
  ralph cancel worker-7c1d20e5    the background worker
  ralph cancel TASK-001 --kill    also if the ralph process that drives it is stuck")]
pub struct CancelArgs {
    /// Task id, beginning or end of a run id, or the id of a worker [default: the only active loop]
    #[arg(value_name = "TASK|RUN|WORKER")]
    id: Option<String>,
    /// Returns without waiting until everything has stopped
    #[arg(long, conflicts_with = "kill")]
    no_wait: bool,
    /// Kills the ralph process that drives the loop if it does not respond, and everything else that it drives
    #[arg(long)]
    kill: bool,
}

pub fn run(args: &CancelArgs) -> Result<u8, CommandError> {
    block_on(async {
        let project = Project::find_here()?;
        if let Some(worker) = args.id.as_deref().filter(|id| is_worker_id(id)) {
            return stop_named_worker(&project, worker, args.mode()).await;
        }
        if args.id.is_some() && names_workflow_run(&project, args.id.as_deref()).await? {
            let run = cancel_workflow_run(&project, args.id.as_deref(), &TerminalInteraction).await?;
            out::print_message(&format!("Cancelled workflow {} {}", run.workflow, short_id(&run.id)));
            return Ok(exit_code::COMPLETED);
        }
        let target = LoopTarget::find_named_or_only(&project, args.id.as_deref()).await?;
        let done = tokio::select! {
            cancelled = cancel_loop(&target, args.mode(), &TerminalInteraction) => cancelled.map(|result| print_result(&result)),
            _ = tokio::signal::ctrl_c() => {
                out::print_note("\nstopped waiting; the loop is still being cancelled, see `ralph status`");
                Ok(exit_code::SIGINT)
            }
        };
        target.close().await;
        Ok(done?)
    })
}

async fn stop_named_worker(project: &Project, id: &str, mode: CancelMode) -> Result<u8, CommandError> {
    tokio::select! {
        stopped = stop_worker(project, id, mode) => {
            out::print_message(&match stopped? {
                StopWorkerResult::Stopping { worker } => format!("Stopping {worker}"),
                StopWorkerResult::Stopped { worker } => {
                    format!("Stopped {worker}; `ralph work` resumes its tasks")
                }
            });
            Ok(exit_code::COMPLETED)
        }
        _ = tokio::signal::ctrl_c() => {
            out::print_note("\nstopped waiting; the worker is still stopping, see `ralph status`");
            Ok(exit_code::SIGINT)
        }
    }
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

/// Prints the result, and returns the exit code.
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
