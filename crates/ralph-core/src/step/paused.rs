//! The paused phase. No process runs and no run time passes; only a command, a signal or an unusable work tree ends it.
use alloc::vec;

use super::recovery::next_step;
use super::transitions::{self, record_fact};
use super::{EventContext, LoopContext, StepResult};
use crate::effect::Effect;
use crate::event::{EventKind, LoopTimer, RunControl};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::RunEnd;

pub(super) fn on_event(context: LoopContext, left: ResumePoint, event: EventKind) -> StepResult {
    match event {
        EventKind::Control(RunControl::Interrupted { signal }) => transitions::interrupt_run(context, left, signal),
        EventKind::Control(RunControl::Broken { what }) => {
            transitions::finish_from(context, &left, IterationStatus::Failed, RunEnd::state_unusable(what))
        }
        EventKind::Control(RunControl::CommandReceived { .. })
        | EventKind::Lifecycle(_)
        | EventKind::Agent { .. }
        | EventKind::Work(_)
        | EventKind::TimerFired { .. } => context.stay_in(LoopPhase::Paused { left }),
    }
}

/// Pauses the run, to be resumed at `left`.
pub(super) fn pause_run(mut context: LoopContext, left: ResumePoint) -> StepResult {
    context.pending_commands.pause = false;
    let iteration = left.next_attempt().iteration;
    let fact = Fact::RunPaused { iteration, next: next_step(&context, &left) };
    let effects = vec![record_fact(fact), Effect::CancelTimer { timer: LoopTimer::Run }];
    (context.enter_phase(LoopPhase::Paused { left }), effects)
}

/// Turns a wait into a pause if one was requested: no agent and no check is running.
pub(super) fn pause_if_waiting((state, effects): StepResult, event_context: EventContext) -> StepResult {
    if !state.pending_commands.pause {
        return (state, effects);
    }
    let (context, phase) = LoopContext::from_state(state, event_context);
    let left = match phase {
        LoopPhase::Waiting { iteration, attempt, until } => ResumePoint::Waiting { iteration, attempt, until },
        LoopPhase::Limited { iteration, attempt, wait } => ResumePoint::Limited { iteration, attempt, wait },
        phase @ (LoopPhase::Ready
        | LoopPhase::Preparing { .. }
        | LoopPhase::PreparingStopped { .. }
        | LoopPhase::Working { .. }
        | LoopPhase::Verifying { .. }
        | LoopPhase::Stopping { .. }
        | LoopPhase::Paused { .. }
        | LoopPhase::Interrupted { .. }
        | LoopPhase::Finished { .. }) => return (context.enter_phase(phase), effects),
    };
    let (state, paused) = pause_run(context, left);
    (state, effects.into_iter().chain(paused).collect())
}
