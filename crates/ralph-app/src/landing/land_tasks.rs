//! Lands several tasks in order, up to the first that cannot be landed.
use ralph_core::event::StopSignal;
use ralph_engine::project::Project;
use ralph_process::Keeper;

use super::{LandLockWaiter, LandReport, LandResult, LandingContext};
use crate::error::AppResult;
use crate::interaction::Interaction;
use crate::run::{refuse_command_by_agent, refuse_recursion};
use crate::task_files::open_task_store;

/// How the landing of several tasks ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LandingEnd {
    AllLanded,
    /// The checks of a task fail on the merged result. Later tasks were not landed.
    ChecksFailed,
    Stopped(StopSignal),
}

/// Lands the tasks in order. `report` gets the report of each task that was merged or whose checks failed.
pub async fn land_tasks(
    project: &Project,
    tasks: &[String],
    keeper: &Keeper,
    person: &dyn Interaction,
    mut report: impl FnMut(&LandReport),
) -> AppResult<LandingEnd> {
    refuse_recursion(project)?;
    refuse_command_by_agent(project, "land work of the project that it works on")?;
    let store = open_task_store(project).await?;
    let mut lock_waiter = LandLockWaiter::without_waiting()?;
    let context = LandingContext { store: &store, project, keeper, person };
    for id in tasks {
        match context.land_task(id, &mut lock_waiter).await? {
            LandResult::Stopped(signal) => return Ok(LandingEnd::Stopped(signal)),
            LandResult::Landed(landed) => report(&landed),
            LandResult::ChecksFailed(failed) => {
                report(&failed);
                return Ok(LandingEnd::ChecksFailed);
            }
        }
    }
    Ok(LandingEnd::AllLanded)
}
