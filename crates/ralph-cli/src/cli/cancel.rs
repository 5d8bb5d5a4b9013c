//! `ralph cancel`.
use clap::Args;
use ralph_core::order::Order;
use ralph_core::outcome::exit_code;
use ralph_core::task::Status;

use super::target::{self, PATIENCE, Target, What, now, place, silent, within};
use super::{block_on, out};
use crate::error::Failure;
use ralph_app::view::processes;
use ralph_engine::control::{BuryError, Given, bury};
use ralph_engine::lock::Owner;
use ralph_engine::project::Project;
use ralph_store::{LoopRow, OrderAnswer, Settled, Store};
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

pub fn run(args: &CancelArgs) -> Result<u8, Failure> {
    block_on(async {
        let target = Target::find(&args.id).await?;
        let done = tokio::select! {
            done = cancel(args, &target) => done,
            _ = tokio::signal::ctrl_c() => {
                out::note("\nleft; what was told to end ends all the same, and `ralph status` shows when");
                Ok(exit_code::SIGINT)
            }
        };
        target.store.close().await;
        done
    })
}

async fn cancel(args: &CancelArgs, target: &Target) -> Result<u8, Failure> {
    match (target.alive().await?, target.worker().await?) {
        (Some((row, owner)), _) => stop(args, target, row, owner).await,
        (None, Some(owner)) => between(args, target, &owner).await,
        (None, None) => end(target).await,
    }
}

/// Whoever works on the task is between two loops. He takes the order with the next.
async fn between(args: &CancelArgs, target: &Target, owner: &Owner) -> Result<u8, Failure> {
    target.order(&Order::Cancel, Some(owner)).await?;
    let name = target.name();
    if args.no_wait {
        out::say(&format!("Cancelling {name}"));
        return Ok(0);
    }
    let cancelled = async || {
        let row = target.store.task(name).await?;
        Ok(row.filter(|row| row.task.status == Status::Cancelled).map(drop))
    };
    match within(PATIENCE * 2, cancelled).await? {
        Some(()) => {
            out::say(&format!("Cancelled {name}"));
            Ok(0)
        }
        None => Err(Failure::plain(exit_code::STATE, format!("{owner} prepares the next loop of {name}"))
            .hint("the order stays: the loop ends as soon as it begins")),
    }
}

/// Asks whoever drives the loop to end it, and waits until he has.
async fn stop(args: &CancelArgs, target: &Target, row: LoopRow, owner: Option<Owner>) -> Result<u8, Failure> {
    let id = match target.order(&Order::Cancel, owner.as_ref()).await? {
        Given::Waits { id } => id,
        Given::TooLate => return Box::pin(end(target)).await,
    };
    let time = duration::write(target::grace(&row));
    out::note(&format!("what is at work has at most {time} to stop, and is killed then"));
    if args.no_wait {
        out::say(&format!("Cancelling Ralph loop for {}", place(&row)));
        return Ok(0);
    }
    let gone = async || Ok(target.alive().await?.is_none().then_some(()));
    let mut has_ended = within(target::grace(&row) + PATIENCE, gone).await?.is_some();
    if !has_ended && args.kill {
        owner.as_ref().map(|owner| owner.process.kill());
        has_ended = within(PATIENCE, gone).await?.is_some();
    }
    if !has_ended {
        return Err(silent(&row, owner.as_ref())
            .hint("the order stays: the loop ends as soon as it answers")
            .hint("`--kill` kills it, and everything that it drives, and cancels the run"));
    }
    stopped(target, &row, &id).await
}

/// Says what became of a loop that nobody drives any more.
async fn stopped(target: &Target, row: &LoopRow, id: &str) -> Result<u8, Failure> {
    let answer = target.store.order_answer(id).await?;
    let Some(row) = target.store.loop_of(&row.run.id).await? else { return Ok(0) };
    match (row.run.status.as_str(), answer) {
        ("cancelled", Some(OrderAnswer::Heeded)) => {
            let_go(target).await?;
            out::say(&format!("Cancelled Ralph loop for {}", place(&row)));
            Ok(0)
        }
        ("cancelled", Some(OrderAnswer::Moot) | None) => Ok(already(&row)),
        (_, _) => {
            target.store.withdraw_order(id).await?;
            end(target).await
        }
    }
}

/// Waits until whoever worked on the task has let go of it.
async fn let_go(target: &Target) -> Result<(), Failure> {
    let free = async || Ok(target.worker().await?.is_none().then_some(()));
    within(PATIENCE, free).await.map(drop)
}

fn already(row: &LoopRow) -> u8 {
    out::say(&format!("The Ralph loop for {} was cancelled already", place(row)));
    0
}

/// Ends what nobody drives.
async fn end(target: &Target) -> Result<u8, Failure> {
    match &target.what {
        What::Run(row) => end_run(target, row).await,
        What::Task { id, .. } => end_task(target, id).await,
    }
}

async fn end_run(target: &Target, row: &LoopRow) -> Result<u8, Failure> {
    let row = target.store.loop_of(&row.run.id).await?.unwrap_or_else(|| row.clone());
    match row.run.status.as_str() {
        "running" | "interrupted" => ended(target, &row).await,
        "cancelled" => Ok(already(&row)),
        status => Err(Failure::preflight(format!("the Ralph loop for {} has ended: {status}", place(&row)))
            .hint("there is nothing to cancel")),
    }
}

/// Ends a run that nobody drives, and says so.
async fn ended(target: &Target, row: &LoopRow) -> Result<u8, Failure> {
    let is_new = buried((&target.project, &target.store), row).await?;
    let word = if is_new { "Cancelled Ralph loop for" } else { "Somebody else ended the Ralph loop for" };
    out::say(&format!("{word} {}", place(row)));
    Ok(0)
}

/// Ends a run that nobody drives, with whatever of it is left. Tells whether it had not ended before.
pub async fn buried((project, store): (&Project, &Store), row: &LoopRow) -> Result<bool, Failure> {
    let buried = match bury(project, store, row, now()).await {
        Ok(buried) => buried,
        Err(BuryError::Driven) => {
            return Err(silent(row, None).hint("somebody has just taken it up: cancel it again"));
        }
        Err(BuryError::Lock(error)) => return Err(error.into()),
        Err(BuryError::Store(error)) => return Err(error.into()),
    };
    if buried.swept.killed > 0 {
        out::note(&format!("killed what it had left behind: {}", processes(buried.swept.killed.into())));
    }
    for leaked in buried.swept.leaked {
        out::note(&format!("warning: {} ({}) could not be killed", leaked.name, leaked.pid));
    }
    Ok(buried.is_new)
}

/// Returns the newest run of a task, if it can go on.
pub async fn left_of(store: &Store, task: &str) -> Result<Option<LoopRow>, Failure> {
    let runs = store.runs_of_task(task).await?;
    let newest = runs.last().filter(|run| matches!(run.status.as_str(), "running" | "interrupted"));
    match newest {
        Some(run) => Ok(store.loop_of(&run.id).await?),
        None => Ok(None),
    }
}

/// Cancels a task that nobody works on, and the loop that was left of it.
async fn end_task(target: &Target, id: &str) -> Result<u8, Failure> {
    if let Some(row) = left_of(&target.store, id).await? {
        buried((&target.project, &target.store), &row).await?;
        target.settle(id, Settled::Cancelled).await?;
        out::say(&format!("Cancelled Ralph loop for {}", place(&row)));
        return Ok(0);
    }
    let Some(row) = target.store.task(id).await? else { return Ok(0) };
    match row.task.status {
        Status::Cancelled => {
            out::say(&format!("{id} was cancelled already"));
            return Ok(0);
        }
        Status::Done => {
            return Err(Failure::preflight(format!("{id} is done")).hint("there is nothing to cancel"));
        }
        Status::Todo
        | Status::Coding
        | Status::Reviewing
        | Status::Testing
        | Status::Qa
        | Status::Blocked => {}
    }
    target.settle(id, Settled::Cancelled).await?;
    out::say(&format!("Cancelled {id}; nobody worked on it"));
    Ok(0)
}
