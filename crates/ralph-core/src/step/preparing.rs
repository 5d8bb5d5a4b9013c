//! Before the first iteration of a run that is to be proven: nothing is spent on an agent before it is known that its
//! work can be checked.
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult};
use crate::baseline::{BaselineCheck, BaselineTrial, blocking_reason};
use crate::control_command::{ControlCommand, StopRequest};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, UnixMillis};
use crate::fact::Fact;
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::{Outcome, RunEnd};
use crate::seal::SealingResult;

pub(super) fn on_event(context: LoopContext, round: u32, event: Event) -> StepResult {
    let Event { at, random: dice, kind, .. } = event;
    match kind {
        EventKind::Prepared { sealing, baseline } => on_prepared(context, sealing, baseline, (at, dice)),
        EventKind::Interrupted { signal } => stop_preparation(context, round, StopRequest::Signal(signal)),
        EventKind::Broken { what } => transitions::finish_run(context, 0, RunEnd::state_unusable(what)),
        EventKind::Faulted { key: AttemptKey::PREPARATION, what } => {
            transitions::finish_run(context, 0, RunEnd::internal_fault(&what))
        }
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::AttemptEnded { .. }
        | EventKind::ResultSeen { .. }
        | EventKind::SpokeAgain { .. }
        | EventKind::Repeating { .. }
        | EventKind::GotOn { .. }
        | EventKind::Verified { .. }
        | EventKind::HandshakeBegan { .. }
        | EventKind::HandshakeDone { .. }
        | EventKind::Overspent { .. }
        | EventKind::TimerFired { .. }
        | EventKind::Faulted { .. } => context.stay_in(LoopPhase::Preparing { round }),
    }
}

/// The checks of the baseline were asked to stop.
pub(super) fn on_event_while_stopping(
    context: LoopContext,
    (round, halt): (u32, StopRequest),
    event: Event,
) -> StepResult {
    let Event { at, random: dice, kind, .. } = event;
    match kind {
        EventKind::Prepared { .. } => {
            transitions::complete_stop(context, ResumePoint::Preparing { round }, halt, (at, dice))
        }
        EventKind::Faulted { key: AttemptKey::PREPARATION, what } => {
            transitions::finish_run(context, 0, RunEnd::internal_fault(&what))
        }
        EventKind::Interrupted { signal } => {
            let effects = vec![Effect::StopChecks { key: AttemptKey::PREPARATION }];
            let halt = halt.after_signal(signal);
            (context.enter_phase(LoopPhase::PreparingStopped { round, halt }), effects)
        }
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::AttemptEnded { .. }
        | EventKind::ResultSeen { .. }
        | EventKind::SpokeAgain { .. }
        | EventKind::Repeating { .. }
        | EventKind::GotOn { .. }
        | EventKind::Verified { .. }
        | EventKind::HandshakeBegan { .. }
        | EventKind::HandshakeDone { .. }
        | EventKind::Overspent { .. }
        | EventKind::TimerFired { .. }
        | EventKind::Broken { .. }
        | EventKind::Faulted { .. } => context.stay_in(LoopPhase::PreparingStopped { round, halt }),
    }
}

/// Somebody asks for something while the checks of the baseline are being stopped.
pub(super) fn on_command_while_stopping(
    context: LoopContext,
    (round, halt): (u32, StopRequest),
    order: &ControlCommand,
) -> StepResult {
    let after = halt.after_command(order);
    let is_new_end = after == StopRequest::Cancel && halt != StopRequest::Cancel;
    let reason = after.journal_reason().into();
    let effects = is_new_end.then(|| record_fact(Fact::StopRequested { reason })).into_iter().collect();
    (context.enter_phase(LoopPhase::PreparingStopped { round, halt: after }), effects)
}

/// Asks the checks of the baseline to stop.
pub(super) fn stop_preparation(context: LoopContext, round: u32, halt: StopRequest) -> StepResult {
    let reason = halt.journal_reason().into();
    let effects =
        vec![record_fact(Fact::StopRequested { reason }), Effect::StopChecks { key: AttemptKey::PREPARATION }];
    (context.enter_phase(LoopPhase::PreparingStopped { round, halt }), effects)
}

fn on_prepared(
    context: LoopContext,
    sealing: SealingResult,
    baseline: Vec<BaselineTrial>,
    when: (UnixMillis, u32),
) -> StepResult {
    let mut facts = Vec::new();
    let checks: Vec<BaselineCheck> = baseline.into_iter().map(BaselineCheck::from_trial).collect();
    let obstacle = blocking_reason(&checks);
    if !checks.is_empty() {
        facts.push(record_fact(Fact::Baseline { checks }));
    }
    let obstacle = match sealing {
        SealingResult::Impossible { why } => Some(format!("what must not change cannot be sealed: {why}")),
        SealingResult::Done { seal } => {
            facts.insert(0, record_fact(Fact::RunSealed { seal }));
            obstacle
        }
    };
    let (state, effects) = match obstacle {
        Some(reason) => transitions::finish_run(context, 0, RunEnd::new(Outcome::Blocked, reason)),
        None => transitions::begin_first_iteration(context, when),
    };
    (state, facts.into_iter().chain(effects).collect())
}
