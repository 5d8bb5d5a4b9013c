//! The phase before the run has started.
use alloc::vec;
use alloc::vec::Vec;

use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult, commands};
use crate::control_command::ControlCommand;
use crate::event::{EventKind, RunControl, RunOpening};
use crate::fact::Fact;
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::RunEnd;

pub(super) fn on_event(context: LoopContext, event: EventKind) -> StepResult {
    match event {
        EventKind::Control(RunControl::Interrupted { signal }) => {
            transitions::interrupt_run(context, ResumePoint::AtTheStart, signal)
        }
        EventKind::Control(RunControl::Broken { what }) => {
            transitions::finish_run(context, 0, RunEnd::state_unusable(what))
        }
        EventKind::Control(RunControl::CommandReceived { .. })
        | EventKind::Lifecycle(_)
        | EventKind::Agent { .. }
        | EventKind::Work(_)
        | EventKind::TimerFired { .. } => context.stay_in(LoopPhase::Ready),
    }
}

/// Records the start, applies the commands that were sent before it, and starts the run unless they stopped it.
pub(super) fn on_started(context: LoopContext, opening: RunOpening, orders: Vec<ControlCommand>) -> StepResult {
    let event_context = context.event_context.clone();
    let mut effects = vec![record_fact(Fact::run_started(opening, context.policy.max_iterations))];
    let mut state = context.enter_phase(LoopPhase::Ready);
    for order in orders {
        let (context, phase) = LoopContext::from_state(state, event_context.clone());
        let (next, ordered) = commands::on_command(context, phase, order);
        effects.extend(ordered);
        state = next;
    }
    let (context, phase) = LoopContext::from_state(state, event_context);
    let (state, opened) = match phase {
        LoopPhase::Ready => transitions::open_run(context),
        phase @ (LoopPhase::Preparing { .. }
        | LoopPhase::PreparingStopped { .. }
        | LoopPhase::Working { .. }
        | LoopPhase::Waiting { .. }
        | LoopPhase::Limited { .. }
        | LoopPhase::Verifying { .. }
        | LoopPhase::Stopping { .. }
        | LoopPhase::Paused { .. }
        | LoopPhase::Interrupted { .. }
        | LoopPhase::Finished { .. }) => context.stay_in(phase),
    };
    effects.extend(opened);
    (state, effects)
}
