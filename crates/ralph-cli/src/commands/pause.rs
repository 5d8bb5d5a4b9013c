//! `ralph pause`.
use clap::Args;
use ralph_core::control_command::{ControlCommand, PauseTiming};
use ralph_core::loop_state::LoopPhase;

use super::loop_target::{
    self, ANSWER_TIMEOUT, LoopTarget, describe_loop, not_running_error, poll_with_timeout, unresponsive_error,
};
use super::{block_on, out};
use crate::error::CommandError;
use ralph_engine::control::CommandDelivery;
use ralph_store::LoopRow;

/// Pauses a loop, by its task or its run
///
/// The iteration that is going on ends first, with its checks; a wait for a rate limit or before a retry is paused at once.
/// A paused loop uses nothing up, no time either, and stays paused if its ralph dies. `ralph resume` goes on with it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph pause TASK-001            after this iteration
  ralph pause TASK-001 --now      the agent is stopped, and its iteration is done again later
  ralph resume TASK-001           goes on")]
pub struct PauseArgs {
    /// The id of a task, or the beginning or end of a run's
    #[arg(value_name = "TASK|RUN")]
    id: String,
    /// Stops what is at work; the iteration is done again after the pause
    #[arg(long)]
    now: bool,
}

pub fn run(args: &PauseArgs) -> Result<u8, CommandError> {
    block_on(async {
        let target = LoopTarget::find(&args.id).await?;
        let done = pause_loop(args, &target).await;
        target.store.close().await;
        done
    })
}

async fn pause_loop(args: &PauseArgs, target: &LoopTarget) -> Result<u8, CommandError> {
    let Some((row, owner)) = target.find_driven_loop().await? else {
        return Err(not_running_error(target.name()).with_hint("`ralph status` says what is going on"));
    };
    let when = if args.now { PauseTiming::Now } else { PauseTiming::Idle };
    let CommandDelivery::Queued { id } = target.send_command(&ControlCommand::Pause { when }, owner.as_ref()).await?
    else {
        return Err(not_running_error(target.name()).with_cause("it has just ended"));
    };
    if target.wait_for_answer(&id).await?.is_none() {
        return Err(
            unresponsive_error(&row, owner.as_ref()).with_hint("the order stays: it pauses as soon as it answers")
        );
    }
    match when {
        PauseTiming::Idle => report_pause_request(target, &row).await,
        PauseTiming::Now => wait_until_paused(target, &row).await,
    }
}

/// Says when the pause begins.
async fn report_pause_request(target: &LoopTarget, row: &LoopRow) -> Result<u8, CommandError> {
    if is_paused(target, row).await? == Some(true) {
        return report_paused(target, row).await;
    }
    out::print_message(&format!("The Ralph loop for {} pauses when this iteration is over", describe_loop(row)));
    Ok(0)
}

/// Waits until nothing is at work any more.
async fn wait_until_paused(target: &LoopTarget, row: &LoopRow) -> Result<u8, CommandError> {
    let at_rest = async || Ok(is_paused(target, row).await?.filter(|is_paused| *is_paused));
    match poll_with_timeout(loop_target::grace_period(row) + ANSWER_TIMEOUT, at_rest).await? {
        Some(_) => report_paused(target, row).await,
        None => Err(unresponsive_error(row, None).with_cause("what is at work has not stopped in time")),
    }
}

/// Tells whether the loop is paused; one that has ended will never be.
async fn is_paused(target: &LoopTarget, row: &LoopRow) -> Result<Option<bool>, CommandError> {
    let state = target.store.load_run(&row.run.id).await?.state;
    if let Some(ended) = state.run_end() {
        return Err(not_running_error(target.name()).with_cause(format!("it has just ended: {}", ended.reason)));
    }
    Ok(Some(matches!(state.phase, LoopPhase::Paused { .. })))
}

async fn report_paused(target: &LoopTarget, row: &LoopRow) -> Result<u8, CommandError> {
    let row = target.store.loop_of_run(&row.run.id).await?.unwrap_or_else(|| row.clone());
    out::print_message(&format!("Paused Ralph loop for {}", describe_loop(&row)));
    out::print_note(&format!("go on     ralph resume {}", target.name()));
    Ok(0)
}
