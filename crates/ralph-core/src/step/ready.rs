//! Before the first iteration.
use super::next;
use super::{Rest, Step};
use crate::event::{Event, EventKind};
use crate::outcome::Ended;
use crate::state::{Left, Phase};

pub(super) fn on(rest: Rest, event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    match kind {
        EventKind::Started => next::open(rest, (at, dice)),
        EventKind::Interrupted { signal } => next::interrupt(rest, Left::AtTheStart, at, signal),
        EventKind::Broken { what } => next::finish(rest, 0, Ended::broken(what)),
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
        | EventKind::Faulted { .. } => rest.stay(Phase::Ready),
    }
}
