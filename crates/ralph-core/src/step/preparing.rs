//! The phase before the first iteration of a run with checks: ralph seals files and runs the baseline before it spends
//! anything on an agent.
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult};
use crate::baseline::{BaselineCheck, BaselineTrial, blocking_reason};
use crate::control_command::{ControlCommand, StopRequest};
use crate::effect::Effect;
use crate::event::{AttemptKey, EventKind, RunControl, WorkEvent};
use crate::fact::Fact;
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::MinimumProof;
use crate::receipt::{BaselineResult, reason_against_proof};
use crate::seal::SealingResult;

pub(super) fn on_event(context: LoopContext, round: u32, event: EventKind) -> StepResult {
    match event {
        EventKind::Work(WorkEvent::Prepared { sealing, baseline }) => on_prepared(context, sealing, baseline),
        EventKind::Control(RunControl::Interrupted { signal }) => {
            stop_preparation(context, round, StopRequest::Signal(signal))
        }
        EventKind::Control(RunControl::Broken { what }) => {
            transitions::finish_run(context, 0, RunEnd::state_unusable(what))
        }
        EventKind::Work(WorkEvent::Faulted { key: AttemptKey::PREPARATION, what }) => {
            transitions::finish_run(context, 0, RunEnd::internal_fault(&what))
        }
        EventKind::Control(RunControl::CommandReceived { .. })
        | EventKind::Lifecycle(_)
        | EventKind::Agent { .. }
        | EventKind::Work(WorkEvent::AttemptEnded { .. } | WorkEvent::Verified { .. } | WorkEvent::Faulted { .. })
        | EventKind::TimerFired { .. } => context.stay_in(LoopPhase::Preparing { round }),
    }
}

/// Handles an event after the checks of the baseline were asked to stop.
pub(super) fn on_event_while_stopping(
    context: LoopContext,
    round: u32,
    stop_request: StopRequest,
    event: EventKind,
) -> StepResult {
    match event {
        EventKind::Work(WorkEvent::Prepared { .. }) => {
            transitions::complete_stop(context, ResumePoint::Preparing { round }, stop_request)
        }
        EventKind::Work(WorkEvent::Faulted { key: AttemptKey::PREPARATION, what }) => {
            transitions::finish_run(context, 0, RunEnd::internal_fault(&what))
        }
        EventKind::Control(RunControl::Interrupted { signal }) => {
            let effects = vec![Effect::StopChecks { key: AttemptKey::PREPARATION }];
            let stop_request = stop_request.after_signal(signal);
            (context.enter_phase(LoopPhase::PreparingStopped { round, stop_request }), effects)
        }
        EventKind::Control(RunControl::CommandReceived { .. } | RunControl::Broken { .. })
        | EventKind::Lifecycle(_)
        | EventKind::Agent { .. }
        | EventKind::Work(WorkEvent::AttemptEnded { .. } | WorkEvent::Verified { .. } | WorkEvent::Faulted { .. })
        | EventKind::TimerFired { .. } => context.stay_in(LoopPhase::PreparingStopped { round, stop_request }),
    }
}

/// Handles a command that arrives while the checks of the baseline are being stopped.
pub(super) fn on_command_while_stopping(
    context: LoopContext,
    round: u32,
    stop_request: StopRequest,
    command: &ControlCommand,
) -> StepResult {
    let after = stop_request.after_command(command);
    let is_newly_cancelled = after == StopRequest::Cancel && stop_request != StopRequest::Cancel;
    let reason = after.journal_reason().into();
    let effects = is_newly_cancelled.then(|| record_fact(Fact::StopRequested { reason })).into_iter().collect();
    (context.enter_phase(LoopPhase::PreparingStopped { round, stop_request: after }), effects)
}

/// Stops the checks of the baseline.
pub(super) fn stop_preparation(context: LoopContext, round: u32, stop_request: StopRequest) -> StepResult {
    let reason = stop_request.journal_reason().into();
    let effects =
        vec![record_fact(Fact::StopRequested { reason }), Effect::StopChecks { key: AttemptKey::PREPARATION }];
    (context.enter_phase(LoopPhase::PreparingStopped { round, stop_request }), effects)
}

fn on_prepared(mut context: LoopContext, sealing: SealingResult, baseline: Vec<BaselineTrial>) -> StepResult {
    let mut facts = Vec::new();
    let checks: Vec<BaselineCheck> = baseline.into_iter().map(BaselineCheck::from_trial).collect();
    context.baseline = checks.iter().map(BaselineResult::from).collect();
    let obstacle = blocking_reason(&checks).map(|reason| RunEnd::new(Outcome::Blocked, reason));
    let obstacle = obstacle.or_else(|| proof_obstacle(&context));
    if !checks.is_empty() {
        facts.push(record_fact(Fact::Baseline { checks }));
    }
    let obstacle = match sealing {
        SealingResult::Impossible { why } => {
            let reason = format!("cannot seal the files that must not change: {why}");
            Some(RunEnd::new(Outcome::Blocked, reason))
        }
        SealingResult::Done { seal } => {
            facts.insert(0, record_fact(Fact::RunSealed { seal: *seal }));
            obstacle
        }
    };
    let (state, effects) = match obstacle {
        Some(run_end) => transitions::finish_run(context, 0, run_end),
        None => transitions::begin_first_iteration(context),
    };
    (state, facts.into_iter().chain(effects).collect())
}

/// Returns the end of a run that requires proof, if no claim could be proven. Nothing is spent then.
fn proof_obstacle(context: &LoopContext) -> Option<RunEnd> {
    match context.policy.required_proof {
        MinimumProof::Any => None,
        MinimumProof::Proven => reason_against_proof(&context.baseline).map(|why| RunEnd::proof_impossible(&why)),
    }
}
