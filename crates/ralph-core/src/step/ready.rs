//! The phase before the run has started.
use super::transitions;
use super::{LoopContext, StepResult};
use crate::event::EventKind;
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::RunEnd;

pub(super) fn on_event(context: LoopContext, event: EventKind) -> StepResult {
    match event {
        EventKind::Started => transitions::open_run(context),
        EventKind::Interrupted { signal } => transitions::interrupt_run(context, ResumePoint::AtTheStart, signal),
        EventKind::Broken { what } => transitions::finish_run(context, 0, RunEnd::state_unusable(what)),
        EventKind::Recovered { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::Prepared { .. }
        | EventKind::AttemptEnded { .. }
        | EventKind::ResultSeen { .. }
        | EventKind::SpokeAgain { .. }
        | EventKind::Repeating { .. }
        | EventKind::GotOn { .. }
        | EventKind::HandshakeBegan { .. }
        | EventKind::HandshakeDone { .. }
        | EventKind::Overspent { .. }
        | EventKind::Verified { .. }
        | EventKind::TimerFired { .. }
        | EventKind::Faulted { .. } => context.stay_in(LoopPhase::Ready),
    }
}
