//! `ralph cancel`.
use clap::Args;
use ralph_core::control_command::ControlCommand;
use ralph_core::outcome::exit_code;
use ralph_core::task::TaskStatus;

use super::loop_target::{
    self, ANSWER_TIMEOUT, LoopTarget, LoopTargetKind, current_time, describe_loop, poll_with_timeout,
    unresponsive_error,
};
use super::{block_on, out};
use crate::error::CommandError;
use ralph_app::view::format_process_count;
use ralph_engine::control::{CancelOrphanedError, CommandDelivery, cancel_orphaned_run};
use ralph_engine::lock::RunOwner;
use ralph_engine::project::Project;
use ralph_store::{CommandAnswer, LoopRow, Store, TaskSettlement};
use ralph_util::duration;

/// Ends a loop for good, by its task or its run
///
/// The agent is asked to stop, and killed with everything that it has started after the grace time. What was done stays.
/// A cancelled run is never taken up again; `ralph retry` makes its task ready again. A task that nobody works on is
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
        let target = LoopTarget::find(&args.id).await?;
        let done = tokio::select! {
            done = cancel_target(args, &target) => done,
            _ = tokio::signal::ctrl_c() => {
                out::print_note("\nleft; what was told to end ends all the same, and `ralph status` shows when");
                Ok(exit_code::SIGINT)
            }
        };
        target.store.close().await;
        done
    })
}

async fn cancel_target(args: &CancelArgs, target: &LoopTarget) -> Result<u8, CommandError> {
    match (target.find_driven_loop().await?, target.find_worker().await?) {
        (Some((row, owner)), _) => stop_running_loop(args, target, row, owner).await,
        (None, Some(owner)) => cancel_through_worker(args, target, &owner).await,
        (None, None) => cancel_idle_target(target).await,
    }
}

/// Whoever works on the task is between two loops. He takes the order with the next.
async fn cancel_through_worker(args: &CancelArgs, target: &LoopTarget, owner: &RunOwner) -> Result<u8, CommandError> {
    target.send_command(&ControlCommand::Cancel, Some(owner)).await?;
    let name = target.name();
    if args.no_wait {
        out::print_message(&format!("Cancelling {name}"));
        return Ok(0);
    }
    let cancelled = async || {
        let row = target.store.get_task(name).await?;
        Ok(row.filter(|row| row.task.status == TaskStatus::Cancelled).map(drop))
    };
    match poll_with_timeout(ANSWER_TIMEOUT * 2, cancelled).await? {
        Some(()) => {
            out::print_message(&format!("Cancelled {name}"));
            Ok(0)
        }
        None => Err(CommandError::from_message(
            exit_code::STATE_UNUSABLE,
            format!("{owner} prepares the next loop of {name}"),
        )
        .with_hint("the order stays: the loop ends as soon as it begins")),
    }
}

/// Asks whoever drives the loop to end it, and waits until he has.
async fn stop_running_loop(
    args: &CancelArgs,
    target: &LoopTarget,
    row: LoopRow,
    owner: Option<RunOwner>,
) -> Result<u8, CommandError> {
    let id = match target.send_command(&ControlCommand::Cancel, owner.as_ref()).await? {
        CommandDelivery::Queued { id } => id,
        CommandDelivery::RunEnded => return Box::pin(cancel_idle_target(target)).await,
    };
    let time = duration::format_exact(loop_target::grace_period(&row));
    out::print_note(&format!("what is at work has at most {time} to stop, and is killed then"));
    if args.no_wait {
        out::print_message(&format!("Cancelling Ralph loop for {}", describe_loop(&row)));
        return Ok(0);
    }
    let gone = async || Ok(target.find_driven_loop().await?.is_none().then_some(()));
    let mut has_ended = poll_with_timeout(loop_target::grace_period(&row) + ANSWER_TIMEOUT, gone).await?.is_some();
    if !has_ended && args.kill {
        owner.as_ref().map(|owner| owner.process.kill());
        has_ended = poll_with_timeout(ANSWER_TIMEOUT, gone).await?.is_some();
    }
    if !has_ended {
        return Err(unresponsive_error(&row, owner.as_ref())
            .with_hint("the order stays: the loop ends as soon as it answers")
            .with_hint("`--kill` kills it, and everything that it drives, and cancels the run"));
    }
    report_stopped_loop(target, &row, &id).await
}

/// Says what became of a loop that nobody drives any more.
async fn report_stopped_loop(target: &LoopTarget, row: &LoopRow, id: &str) -> Result<u8, CommandError> {
    let answer = target.store.command_answer(id).await?;
    let Some(row) = target.store.loop_of_run(&row.run.id).await? else { return Ok(0) };
    match (row.run.status.as_str(), answer) {
        ("cancelled", Some(CommandAnswer::Applied)) => {
            wait_until_released(target).await?;
            out::print_message(&format!("Cancelled Ralph loop for {}", describe_loop(&row)));
            Ok(0)
        }
        ("cancelled", Some(CommandAnswer::NoEffect) | None) => Ok(report_already_cancelled(&row)),
        (_, _) => {
            target.store.withdraw_command(id).await?;
            cancel_idle_target(target).await
        }
    }
}

/// Waits until whoever worked on the task has let go of it.
async fn wait_until_released(target: &LoopTarget) -> Result<(), CommandError> {
    let free = async || Ok(target.find_worker().await?.is_none().then_some(()));
    poll_with_timeout(ANSWER_TIMEOUT, free).await.map(drop)
}

fn report_already_cancelled(row: &LoopRow) -> u8 {
    out::print_message(&format!("The Ralph loop for {} was cancelled already", describe_loop(row)));
    0
}

/// Ends what nobody drives.
async fn cancel_idle_target(target: &LoopTarget) -> Result<u8, CommandError> {
    match &target.kind {
        LoopTargetKind::Run(row) => cancel_idle_run(target, row).await,
        LoopTargetKind::Task { id, .. } => cancel_idle_task(target, id).await,
    }
}

async fn cancel_idle_run(target: &LoopTarget, row: &LoopRow) -> Result<u8, CommandError> {
    let row = target.store.loop_of_run(&row.run.id).await?.unwrap_or_else(|| row.clone());
    match row.run.status.as_str() {
        "running" | "interrupted" => cancel_orphan_and_report(target, &row).await,
        "cancelled" => Ok(report_already_cancelled(&row)),
        status => Err(CommandError::preflight_error(format!(
            "the Ralph loop for {} has ended: {status}",
            describe_loop(&row)
        ))
        .with_hint("there is nothing to cancel")),
    }
}

/// Ends a run that nobody drives, and says so.
async fn cancel_orphan_and_report(target: &LoopTarget, row: &LoopRow) -> Result<u8, CommandError> {
    let is_new = end_orphaned_run((&target.project, &target.store), row).await?;
    let word = if is_new { "Cancelled Ralph loop for" } else { "Somebody else ended the Ralph loop for" };
    out::print_message(&format!("{word} {}", describe_loop(row)));
    Ok(0)
}

/// Ends a run that nobody drives, with whatever of it is left. Tells whether it had not ended before.
pub async fn end_orphaned_run((project, store): (&Project, &Store), row: &LoopRow) -> Result<bool, CommandError> {
    let buried = match cancel_orphaned_run(project, store, row, current_time()).await {
        Ok(buried) => buried,
        Err(CancelOrphanedError::Driven) => {
            return Err(unresponsive_error(row, None).with_hint("somebody has just taken it up: cancel it again"));
        }
        Err(CancelOrphanedError::Lock(error)) => return Err(error.into()),
        Err(CancelOrphanedError::Store(error)) => return Err(error.into()),
    };
    if buried.sweep.killed > 0 {
        out::print_note(&format!(
            "killed what it had left behind: {}",
            format_process_count(buried.sweep.killed.into())
        ));
    }
    for leaked in buried.sweep.leaked {
        out::print_note(&format!("warning: {} ({}) could not be killed", leaked.name, leaked.pid));
    }
    Ok(buried.is_newly_cancelled)
}

/// Returns the newest run of a task, if it can go on.
pub async fn find_resumable_run(store: &Store, task: &str) -> Result<Option<LoopRow>, CommandError> {
    let runs = store.runs_of_task(task).await?;
    let newest = runs.last().filter(|run| matches!(run.status.as_str(), "running" | "interrupted"));
    match newest {
        Some(run) => Ok(store.loop_of_run(&run.id).await?),
        None => Ok(None),
    }
}

/// Cancels a task that nobody works on, and the loop that was left of it.
async fn cancel_idle_task(target: &LoopTarget, id: &str) -> Result<u8, CommandError> {
    if let Some(row) = find_resumable_run(&target.store, id).await? {
        end_orphaned_run((&target.project, &target.store), &row).await?;
        target.settle_task(id, TaskSettlement::Cancelled).await?;
        out::print_message(&format!("Cancelled Ralph loop for {}", describe_loop(&row)));
        return Ok(0);
    }
    let Some(row) = target.store.get_task(id).await? else { return Ok(0) };
    match row.task.status {
        TaskStatus::Cancelled => {
            out::print_message(&format!("{id} was cancelled already"));
            return Ok(0);
        }
        TaskStatus::Done => {
            return Err(CommandError::preflight_error(format!("{id} is done")).with_hint("there is nothing to cancel"));
        }
        TaskStatus::Todo
        | TaskStatus::Coding
        | TaskStatus::Reviewing
        | TaskStatus::Testing
        | TaskStatus::Qa
        | TaskStatus::Blocked => {}
    }
    target.settle_task(id, TaskSettlement::Cancelled).await?;
    out::print_message(&format!("Cancelled {id}; nobody worked on it"));
    Ok(0)
}
