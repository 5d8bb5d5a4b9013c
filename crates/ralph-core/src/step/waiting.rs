//! Between two attempts of one iteration.
use super::next::{self, Carry};
use super::{Rest, Step, is_late};
use crate::event::{Event, EventKind, Millis, Timer};
use crate::fact::IterationStatus;
use crate::outcome::Ended;
use crate::state::{Iteration, Left, Phase};

/// The pause before `attempt`.
pub(super) struct Pause {
    pub(super) iteration: Iteration,
    pub(super) attempt: u32,
    pub(super) until: Millis,
}

impl Pause {
    fn phase(self) -> Phase {
        Phase::Waiting { iteration: self.iteration, attempt: self.attempt, until: self.until }
    }
}

pub(super) fn on(rest: Rest, pause: Pause, event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    let too_long = at.since(pause.iteration.started) >= rest.policy.timeouts.iteration_ms;
    if is_late(&kind, pause.iteration.key(pause.attempt)) {
        return rest.stay(pause.phase());
    }
    match kind {
        EventKind::TimerFired { timer: Timer::Run } => {
            let what = rest.out_of_time();
            next::over_budget(rest, &pause.iteration, what, at)
        }
        EventKind::TimerFired { .. } if too_long => {
            next::go_on(rest, &pause.iteration, Carry::TimedOut, (at, dice))
        }
        EventKind::TimerFired { .. } => next::start_attempt(rest, pause.iteration, pause.attempt, at),
        EventKind::Interrupted { signal } => {
            let Pause { iteration, attempt, until } = pause;
            next::interrupt(rest, Left::Waiting { iteration, attempt, until }, at, signal)
        }
        EventKind::Broken { what } => {
            next::conclude(rest, &pause.iteration, (IterationStatus::Failed, at), Ended::broken(what))
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
        | EventKind::Faulted { .. } => rest.stay(pause.phase()),
    }
}
