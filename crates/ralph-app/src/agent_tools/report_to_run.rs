//! Tells the run of an agent how the work goes, and waits until the run has recorded it.
use ralph_core::control_command::{AgentReport, ControlCommand};
use ralph_engine::control::CommandDelivery;
use ralph_engine::project::Project;
use ralph_store::CommandAnswer;

use super::ToolCaller;
use crate::control::{DrivenLoop, LoopTarget, unresponsive_error};
use crate::error::{AppError, AppResult};

/// Records a report of the run's own agent.
pub async fn report_to_run(project: &Project, caller: &ToolCaller, run: &str, report: AgentReport) -> AppResult<()> {
    let own = caller.ensure_own_run(run, "report to it")?;
    let target = LoopTarget::find(project, own).await?;
    let sent = send_report(&target, report).await;
    target.close().await;
    sent
}

async fn send_report(target: &LoopTarget, report: AgentReport) -> AppResult<()> {
    let not_working = || AppError::preflight("the run does not wait for its agent now, so nothing was recorded");
    let Some(DrivenLoop { row, owner }) = target.find_driven_loop().await? else { return Err(not_working()) };
    let command = ControlCommand::Report { report };
    let CommandDelivery::Queued { id } = target.send_command(&command, owner.as_ref()).await? else {
        return Err(not_working());
    };
    let mut answer = target.wait_for_answer(&id).await?;
    // A report that is read later could be taken for one of another attempt.
    if answer.is_none() && !target.store.withdraw_command(&id).await? {
        answer = target.store.command_answer(&id).await?;
    }
    match answer {
        Some(CommandAnswer::Applied) => Ok(()),
        Some(CommandAnswer::NoEffect) => {
            Err(not_working().with_cause("no agent of the run is at work, or it has reported too often"))
        }
        None => Err(unresponsive_error(&row, owner.as_ref()).with_advice("nothing was recorded: call the tool again")),
    }
}
