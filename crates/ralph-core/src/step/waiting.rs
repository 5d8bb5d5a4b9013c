//! Between two attempts of one iteration.
use super::next::{self, Carry};
use super::{Rest, Step, is_late};
use crate::event::{Event, EventKind};
use crate::fact::IterationStatus;
use crate::outcome::Ended;
use crate::state::{Iteration, Phase};

pub(super) fn on(rest: Rest, iteration: Iteration, attempt: u32, event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    if is_late(&kind, iteration.key(attempt)) {
        return rest.stay(Phase::Waiting { iteration, attempt });
    }
    match kind {
        EventKind::TimerFired { .. } if at.since(iteration.started) >= rest.policy.timeouts.iteration_ms => {
            next::go_on(rest, &iteration, Carry::TimedOut, (at, dice))
        }
        EventKind::TimerFired { .. } => next::start_attempt(rest, iteration, attempt, at),
        EventKind::Interrupted { signal } => {
            let ended = Ended::interrupted(signal);
            next::conclude(rest, &iteration, (IterationStatus::Interrupted, at), ended)
        }
        EventKind::Broken { what } => {
            next::conclude(rest, &iteration, (IterationStatus::Failed, at), Ended::broken(what))
        }
        EventKind::Started
        | EventKind::AttemptEnded { .. }
        | EventKind::ResultSeen { .. }
        | EventKind::SpokeAgain { .. }
        | EventKind::Verified { .. } => rest.stay(Phase::Waiting { iteration, attempt }),
    }
}
