//! Before the first iteration.
use super::transitions;
use super::{LoopContext, StepResult};
use crate::event::{Event, EventKind};
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::RunEnd;

pub(super) fn on_event(context: LoopContext, event: Event) -> StepResult {
    let Event { at, random: dice, kind, .. } = event;
    match kind {
        EventKind::Started => transitions::open_run(context, (at, dice)),
        EventKind::Interrupted { signal } => transitions::interrupt_run(context, ResumePoint::AtTheStart, at, signal),
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
