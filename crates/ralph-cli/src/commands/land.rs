//! `ralph land`: merges the work of finished tasks.
use clap::Args;
use ralph_core::outcome::exit_code;

use super::interaction::TerminalInteraction;
use super::land_report::{report_json, report_text};
use super::run::with_keeper;
use super::{out, signal_exit_code};
use crate::error::CommandError;
use ralph_app::landing::{LandLockWaiter, LandResult, LandingContext};
use ralph_app::run::refuse_recursion;
use ralph_app::task::open_task_store;
use ralph_engine::project::Project;
use ralph_process::Keeper;

/// Merges the accepted work of finished tasks into your branch, after verifying the merged result
///
/// ralph runs the checks of the task again, in a checkout of the merged result. It updates your branch and your files
/// only if they pass; after a conflict or a failure everything stays as it was. ralph removes the work tree of the task
/// if nothing in it would be lost; the branch ralph/TASK stays.
#[derive(Debug, Args)]
#[command(after_help = "Several tasks are landed in order, up to the first that cannot be landed.

Exit codes: 0 landed, 1 cannot be landed now (not done, a conflict, your uncommitted changes, no branch),
3 the checks fail on the merged result, 5 git failed")]
pub struct LandArgs {
    /// Finished tasks, in the order in which to merge them
    #[arg(required = true, value_name = "TASK")]
    tasks: Vec<String>,
    /// Prints one object per task: task, landed, branch, commit, work, verified, checks, tree
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LandArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    with_keeper(|keeper| land_tasks(args, project, keeper))
}

async fn land_tasks(args: &LandArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    let store = open_task_store(&project).await?;
    let mut lock_waiter = LandLockWaiter::without_waiting()?;
    let context = LandingContext { store: &store, project: &project, keeper: &keeper, person: &TerminalInteraction };
    for id in &args.tasks {
        let result = context.land_task(id, &mut lock_waiter).await?;
        match &result {
            LandResult::Stopped(signal) => return Ok(signal_exit_code(*signal)),
            LandResult::Landed(report) | LandResult::ChecksFailed(report) if args.json => {
                out::print_line(&report_json(report).to_string());
            }
            LandResult::Landed(report) | LandResult::ChecksFailed(report) => out::print_data(&report_text(report)),
        }
        if let LandResult::ChecksFailed(_) = result {
            return Ok(exit_code::NOT_COMPLETE);
        }
    }
    Ok(exit_code::COMPLETED)
}
