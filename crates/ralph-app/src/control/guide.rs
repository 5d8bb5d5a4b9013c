//! Sends guidance to the agent of a loop, for its next prompt.
use ralph_core::control_command::ControlCommand;
use ralph_core::task::TaskStatus;
use ralph_engine::control::CommandDelivery;
use ralph_engine::project::Project;
use ralph_engine::run_driver::STAGE_RUN_KIND;

use super::decide::answer_question;
use super::{
    ControlAdvice, DrivenLoop, LoopPosition, LoopTarget, LoopTargetKind, describe_loop, not_running_error,
    unresponsive_error,
};
use crate::error::{AppError, AppResult};
use crate::run::refuse_command_by_agent;

/// Longer guidance belongs into a file that it names.
const MAX_GUIDANCE_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuideResult {
    /// The loop adds it to the next prompt.
    Delivered(LoopPosition),
    /// No loop is running for this task or run: the next one adds it.
    Stored { name: String },
    /// It answers the question that had blocked the run, which can be resumed now.
    Answered { run: String },
}

/// Checks guidance that a person has written, and removes the white space around it.
pub fn parse_guidance(bytes: Vec<u8>) -> AppResult<String> {
    let text = String::from_utf8(bytes).map_err(|_| AppError::invalid_request("the guidance is not UTF-8 text"))?;
    match text.trim() {
        "" => Err(AppError::invalid_request("the guidance is empty").with_advice("write what the agent must know")),
        long if long.len() > MAX_GUIDANCE_BYTES => Err(AppError::invalid_request("the guidance is longer than 16 KB")
            .with_advice("put it into a file in the project, and name that file")),
        text => Ok(text.to_owned()),
    }
}

/// Sends guidance to the loop of a task or run, or to the only active loop.
pub async fn send_guidance(project: &Project, id: Option<&str>, guidance: String) -> AppResult<GuideResult> {
    refuse_command_by_agent(project, "guide a loop of the project that it works on")?;
    let target = LoopTarget::find_named_or_only(project, id).await?;
    let sent = send_to_target(&target, guidance).await;
    target.close().await;
    sent
}

async fn send_to_target(target: &LoopTarget, guidance: String) -> AppResult<GuideResult> {
    if let LoopTargetKind::Run(row) = &target.kind
        && row.run.status == "blocked"
        && row.run.kind != STAGE_RUN_KIND
    {
        answer_question(target, &row.run, guidance).await?;
        return Ok(GuideResult::Answered { run: target.name().to_owned() });
    }
    refuse_ended_target(target)?;
    let driven = target.find_driven_loop().await?;
    let owner = driven.as_ref().and_then(|driven| driven.owner.as_ref());
    let command = ControlCommand::Guide { words: guidance };
    let CommandDelivery::Queued { id } = target.send_command(&command, owner).await? else {
        return Err(not_running_error(target.name()).with_cause("its run has ended"));
    };
    let Some(DrivenLoop { row, owner }) = &driven else {
        return Ok(GuideResult::Stored { name: target.name().to_owned() });
    };
    if target.wait_for_answer(&id).await?.is_none() {
        // Guidance for a task waits for its next loop.
        if matches!(target.kind, LoopTargetKind::Task { .. }) && target.find_driven_loop().await?.is_none() {
            return Ok(GuideResult::Stored { name: target.name().to_owned() });
        }
        return Err(unresponsive_error(row, owner.as_ref())
            .with_advice("the guidance stays: the loop reads it as soon as it answers"));
    }
    Ok(GuideResult::Delivered(describe_loop(row)))
}

/// Refuses a task or run that has no further prompt.
pub(super) fn refuse_ended_target(target: &LoopTarget) -> AppResult<()> {
    let name = target.name();
    let refused = |message: String| Err(AppError::preflight(message).with_advice(ControlAdvice::DescribeNextWork));
    match &target.kind {
        LoopTargetKind::Task { status: TaskStatus::Done, .. } => refused(format!("{name} is done")),
        LoopTargetKind::Task { status: TaskStatus::Cancelled, .. } => {
            Err(AppError::preflight(format!("{name} is cancelled"))
                .with_advice(ControlAdvice::RetryTask { task: name.to_owned() }))
        }
        LoopTargetKind::Run(row) if !matches!(row.run.status.as_str(), "running" | "interrupted") => {
            refused(format!("the Ralph loop for {} has ended: {}", describe_loop(row), row.run.status))
        }
        LoopTargetKind::Task {
            status:
                TaskStatus::Todo
                | TaskStatus::Coding
                | TaskStatus::Reviewing
                | TaskStatus::Testing
                | TaskStatus::Qa
                | TaskStatus::Blocked,
            ..
        }
        | LoopTargetKind::Run(_) => Ok(()),
    }
}
