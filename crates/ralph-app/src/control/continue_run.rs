//! Continues a run with other limits or with guidance: reopens one that has ended, or changes one that can be resumed.
use ralph_core::continuation::{Continuation, NoContinuation};
use ralph_core::control_command::ControlCommand;
use ralph_core::limit_change::{ChangedLimits, NoLimitToRaise};
use ralph_core::loop_state::{LoopPhase, LoopState};
use ralph_core::outcome::Outcome;
use ralph_core::task::Role;
use ralph_engine::control::{ContinueRunError, DriverStatus, RunContinuation, continue_ended_run, find_driver};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{LoopRow, RunRow, TakeoverGuard};

use super::decide::run_lock_error;
use super::decide_stage::StageDecision;
use super::{ControlAdvice, LoopTarget, LoopTargetKind};
use crate::advice::Advice;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::{FoundRun, find_resumable_run, refuse_command_by_agent};
use crate::view::short_id;

/// The run or stage that continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContinueResult {
    /// The run can be resumed; `limits` are its new totals.
    Run { run_id: String, limits: ChangedLimits },
    /// A worker continues the stage.
    Stage { task: String, stage: Role, limits: ChangedLimits },
}

/// Continues the run whose id starts or ends with `part`, the newest run of that task, or the newest run.
pub async fn continue_run(
    project: &Project,
    part: Option<&str>,
    continuation: Continuation,
) -> AppResult<ContinueResult> {
    refuse_command_by_agent(project, "continue a loop of the project that it works on")?;
    let FoundRun { store, run } = find_resumable_run(project, part).await?;
    store.close().await;
    let target = LoopTarget::find(project, &run.id).await?;
    let continued = match &target.kind {
        LoopTargetKind::Run(row) => continue_target(&target, row, continuation).await,
        LoopTargetKind::Task { id, .. } => {
            Err(AppError::from_message(ErrorKind::Internal, format!("{id} is a task and not a run")))
        }
    };
    target.close().await;
    continued
}

async fn continue_target(target: &LoopTarget, row: &LoopRow, continuation: Continuation) -> AppResult<ContinueResult> {
    let run = &row.run;
    let stored = target.store.load_run(&run.id).await?;
    if stored.fence == 0 {
        return Err(AppError::preflight(format!("run {} cannot be continued here", short_id(&run.id)))
            .with_cause("it was imported from a file, or written by an older ralph")
            .with_advice(Advice::StartNewRun));
    }
    let stage = StageDecision::of_run(target, run)?;
    let limits = match (&stage, stored.state.can_resume()) {
        (_, true) => change_open_run(target, row, &stored.state, continuation).await?,
        (Some(stage), false) => stage.continue_run(continuation).await?,
        (None, false) => {
            let task = run.task.as_deref();
            let guard = task.map_or(TakeoverGuard::Unguarded, |task| TakeoverGuard::TaskUnleased { task });
            record_continuation(target, run, continuation, guard).await?
        }
    };
    Ok(match stage {
        Some(stage) => ContinueResult::Stage { task: stage.task.clone(), stage: stage.role, limits },
        None => ContinueResult::Run { run_id: run.id.clone(), limits },
    })
}

/// Queues the changes for a run that has not ended. Its next driver applies them before it resumes the run.
async fn change_open_run(
    target: &LoopTarget,
    row: &LoopRow,
    state: &LoopState,
    continuation: Continuation,
) -> AppResult<ChangedLimits> {
    let owner = match find_driver(&target.project, row) {
        DriverStatus::Driven(_) if !is_pausing(state) => {
            let id = target.name().to_owned();
            return Err(AppError::preflight(format!("run {} is running", short_id(&row.run.id)))
                .with_advice(ControlAdvice::ChangeRunningLoop { id }));
        }
        DriverStatus::Driven(owner) => owner,
        DriverStatus::NotDriven => None,
    };
    let Continuation { limits: changes, guidance } = continuation;
    let limits = changes.resolve(&state.policy).map_err(|missing| missing_limit_error(&missing))?;
    let limit_command = (!changes.is_empty()).then_some(ControlCommand::Limit { changes });
    let guide_command = guidance.map(|words| ControlCommand::Guide { words });
    for command in limit_command.into_iter().chain(guide_command) {
        target.send_command(&command, owner.as_ref()).await?;
    }
    Ok(limits)
}

fn is_pausing(state: &LoopState) -> bool {
    matches!(state.phase, LoopPhase::Paused { .. }) || state.pending_commands.pause
}

/// Records the continuation in the journal of a run that has ended.
pub(super) async fn record_continuation(
    target: &LoopTarget,
    row: &RunRow,
    continuation: Continuation,
    guard: TakeoverGuard<'_>,
) -> AppResult<ChangedLimits> {
    let requested = RunContinuation { continuation, guard, at: Clock::wall_now() };
    match continue_ended_run(&target.project, &target.store, row, requested).await {
        Ok(limits) => Ok(limits),
        Err(ContinueRunError::Refused(why)) => Err(refused_error(target, row, &why)),
        Err(ContinueRunError::Store(error)) => Err(error.into()),
        Err(ContinueRunError::Lock(error)) => Err(run_lock_error(error)),
    }
}

/// Explains why a run cannot be continued.
fn refused_error(target: &LoopTarget, row: &RunRow, why: &NoContinuation) -> AppError {
    let run = short_id(&row.id);
    match why {
        NoContinuation::StillOpen => AppError::preflight(format!("run {run} has not ended"))
            .with_advice(ControlAdvice::ChangeRunningLoop { id: target.name().to_owned() }),
        NoContinuation::NotContinuable { outcome: Outcome::Completed } => {
            AppError::preflight(format!("run {run} is completed")).with_advice(ControlAdvice::DescribeNextWork)
        }
        NoContinuation::NotContinuable { outcome } => {
            AppError::preflight(format!("run {run} is {} and cannot be continued", outcome.as_str()))
                .with_advice(Advice::StartNewRun)
        }
        NoContinuation::SentBack { reason } => {
            AppError::preflight(format!("run {run} sent the work back, so it cannot be continued")).with_cause(reason)
        }
        NoContinuation::NotStarted { reason } => {
            AppError::preflight(format!("run {run} was blocked before its first iteration"))
                .with_cause(reason)
                .with_advice(Advice::StartNewRun)
        }
        NoContinuation::NoLimitToRaise(missing) => missing_limit_error(missing),
        NoContinuation::StillLimited { reason } => {
            AppError::preflight(format!("run {run} would end again at once: {reason}"))
                .with_advice(ControlAdvice::RaiseLimit)
        }
    }
}

pub(super) fn missing_limit_error(missing: &NoLimitToRaise) -> AppError {
    AppError::from_error(ErrorKind::InvalidRequest, missing).with_advice("write the new total, without a plus sign")
}
