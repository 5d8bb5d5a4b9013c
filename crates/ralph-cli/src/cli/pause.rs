//! `ralph pause`.
use clap::Args;
use ralph_core::order::{Order, PauseWhen};
use ralph_core::state::Phase;

use super::target::{self, PATIENCE, Target, nobody, place, silent, within};
use super::{block_on, out};
use crate::error::Failure;
use ralph_engine::control::Given;
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

pub fn run(args: &PauseArgs) -> Result<u8, Failure> {
    block_on(async {
        let target = Target::find(&args.id).await?;
        let done = pause(args, &target).await;
        target.store.close().await;
        done
    })
}

async fn pause(args: &PauseArgs, target: &Target) -> Result<u8, Failure> {
    let Some((row, owner)) = target.alive().await? else {
        return Err(nobody(target.name()).hint("`ralph status` says what is going on"));
    };
    let when = if args.now { PauseWhen::Now } else { PauseWhen::Idle };
    let Given::Waits { id } = target.order(&Order::Pause { when }, owner.as_ref()).await? else {
        return Err(nobody(target.name()).cause("it has just ended"));
    };
    if target.answer(&id).await?.is_none() {
        return Err(silent(&row, owner.as_ref()).hint("the order stays: it pauses as soon as it answers"));
    }
    match when {
        PauseWhen::Idle => told(target, &row).await,
        PauseWhen::Now => stopped(target, &row).await,
    }
}

/// Says when the pause begins.
async fn told(target: &Target, row: &LoopRow) -> Result<u8, Failure> {
    if is_paused(target, row).await? == Some(true) {
        return said(target, row).await;
    }
    out::say(&format!("The Ralph loop for {} pauses when this iteration is over", place(row)));
    Ok(0)
}

/// Waits until nothing is at work any more.
async fn stopped(target: &Target, row: &LoopRow) -> Result<u8, Failure> {
    let at_rest = async || Ok(is_paused(target, row).await?.filter(|is_paused| *is_paused));
    match within(target::grace(row) + PATIENCE, at_rest).await? {
        Some(_) => said(target, row).await,
        None => Err(silent(row, None).cause("what is at work has not stopped in time")),
    }
}

/// Tells whether the loop is paused; one that has ended will never be.
async fn is_paused(target: &Target, row: &LoopRow) -> Result<Option<bool>, Failure> {
    let state = target.store.stored(&row.run.id).await?.state;
    if let Some(ended) = state.ended() {
        return Err(nobody(target.name()).cause(format!("it has just ended: {}", ended.reason)));
    }
    Ok(Some(matches!(state.phase, Phase::Paused { .. })))
}

async fn said(target: &Target, row: &LoopRow) -> Result<u8, Failure> {
    let row = target.store.loop_of(&row.run.id).await?.unwrap_or_else(|| row.clone());
    out::say(&format!("Paused Ralph loop for {}", place(&row)));
    out::note(&format!("go on     ralph resume {}", target.name()));
    Ok(0)
}
