//! While a run is paused. Nothing is at work and no time of the run passes: only an order, a signal or the loss of its ground
//! can end it.
use alloc::vec;

use super::next::{self, record};
use super::recovered::next_step;
use super::{Now, Rest, Step};
use crate::effect::Effect;
use crate::event::{Event, EventKind, Timer};
use crate::fact::{Fact, IterationStatus};
use crate::outcome::Ended;
use crate::state::{Left, Phase};

pub(super) fn on(rest: Rest, left: Left, event: Event) -> Step {
    let Event { at, kind, .. } = event;
    match kind {
        EventKind::Interrupted { signal } => next::interrupt(rest, left, at, signal),
        EventKind::Broken { what } => {
            next::end_left(rest, &left, (IterationStatus::Failed, at), Ended::broken(what))
        }
        EventKind::Started
        | EventKind::Recovered { .. }
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
        | EventKind::Faulted { .. } => rest.stay(Phase::Paused { left }),
    }
}

/// Pauses here.
pub(super) fn pause(mut rest: Rest, left: Left) -> Step {
    rest.wishes.pause = false;
    let (iteration, _) = left.turn();
    let fact = Fact::RunPaused { iteration, next: next_step(&rest, &left) };
    let effects = vec![record(fact), Effect::CancelTimer { timer: Timer::Run }];
    (rest.enter(Phase::Paused { left }), effects)
}

/// A wait in which a pause is wanted becomes one: nobody is at work.
pub(super) fn settle((state, effects): Step, now: Now) -> Step {
    if !state.wishes.pause {
        return (state, effects);
    }
    let (rest, phase) = Rest::of(state, now);
    let left = match phase {
        Phase::Waiting { iteration, attempt, until } => Left::Waiting { iteration, attempt, until },
        Phase::Limited { iteration, attempt, wait } => Left::Limited { iteration, attempt, wait },
        phase @ (Phase::Ready
        | Phase::Preparing { .. }
        | Phase::PreparingStopped { .. }
        | Phase::Working { .. }
        | Phase::Verifying { .. }
        | Phase::Stopping { .. }
        | Phase::Paused { .. }
        | Phase::Interrupted { .. }
        | Phase::Finished { .. }) => return (rest.enter(phase), effects),
    };
    let (state, paused) = pause(rest, left);
    (state, effects.into_iter().chain(paused).collect())
}
