//! Guidance that stays in every prompt of a run or a task: adding, listing and clearing it.
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::CommandTarget;

use super::guide::refuse_ended_target;
use super::{LoopTarget, LoopTargetKind};
use crate::error::AppResult;
use crate::run::refuse_command_by_agent;

/// The standing guidance of a task or run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingGuidance {
    /// The id of the task, or the short id of the run.
    pub name: String,
    /// Oldest first.
    pub words: Vec<String>,
}

/// Adds guidance to every later prompt of a run, or of all stages and attempts of a task.
pub async fn keep_guidance(project: &Project, id: Option<&str>, words: &str) -> AppResult<StandingGuidance> {
    refuse_command_by_agent(project, "guide a loop of the project that it works on")?;
    let target = LoopTarget::find_named_or_only(project, id).await?;
    let kept = async {
        refuse_ended_target(&target)?;
        target.store.add_standing_guidance(guidance_owner(&target), words, Clock::wall_now()).await?;
        list_target(&target).await
    };
    let kept = kept.await;
    target.close().await;
    kept
}

/// Returns the standing guidance of a run, including that of its task, or of a task.
pub async fn list_standing_guidance(project: &Project, id: Option<&str>) -> AppResult<StandingGuidance> {
    let target = LoopTarget::find_named_or_only(project, id).await?;
    let listed = list_target(&target).await;
    target.close().await;
    listed
}

/// Clears the standing guidance of a run or a task. Returns what there was.
pub async fn clear_standing_guidance(project: &Project, id: Option<&str>) -> AppResult<StandingGuidance> {
    refuse_command_by_agent(project, "guide a loop of the project that it works on")?;
    let target = LoopTarget::find_named_or_only(project, id).await?;
    let cleared = async {
        let before = list_target(&target).await?;
        target.store.clear_standing_guidance(guidance_owner(&target)).await?;
        Ok(before)
    };
    let cleared = cleared.await;
    target.close().await;
    cleared
}

async fn list_target(target: &LoopTarget) -> AppResult<StandingGuidance> {
    let (run, task) = match &target.kind {
        LoopTargetKind::Run(row) => (Some(row.run.id.as_str()), row.run.task.as_deref()),
        LoopTargetKind::Task { id, .. } => (None, Some(id.as_str())),
    };
    let words = target.store.standing_guidance(run, task).await?;
    Ok(StandingGuidance { name: target.name().to_owned(), words })
}

fn guidance_owner(target: &LoopTarget) -> CommandTarget<'_> {
    match &target.kind {
        LoopTargetKind::Run(row) => CommandTarget::Run(&row.run.id),
        LoopTargetKind::Task { id, .. } => CommandTarget::Task(id),
    }
}
