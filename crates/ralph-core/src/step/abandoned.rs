//! A loop that nobody drives is ended for good, at somebody's wish. Nothing of it is at work any more.
use super::next;
use super::recovered::unseen;
use super::{Rest, Step};
use crate::event::Millis;
use crate::fact::IterationStatus;
use crate::outcome::Ended;
use crate::state::{Iteration, Phase, Stopping};

pub(super) fn on(rest: Rest, phase: Phase, at: Millis) -> Step {
    match phase {
        Phase::Ready | Phase::Preparing { .. } | Phase::PreparingStopped { .. } => {
            next::finish(rest, 0, Ended::cancelled())
        }
        Phase::Working { iteration, attempt }
        | Phase::Stopping { iteration, attempt, stopping: Stopping::Agent { .. } } => {
            let unseen = unseen(&iteration, attempt);
            let (state, effects) = end(rest, &iteration, at);
            (state, core::iter::once(unseen).chain(effects).collect())
        }
        Phase::Waiting { iteration, .. }
        | Phase::Limited { iteration, .. }
        | Phase::Verifying { iteration, .. }
        | Phase::Stopping { iteration, stopping: Stopping::Checks { .. }, .. } => end(rest, &iteration, at),
        Phase::Paused { left } => next::cancel(rest, &left, at),
        // The iteration that was cut short has ended then.
        Phase::Interrupted { left, .. } => next::finish(rest, left.iterations(), Ended::cancelled()),
        Phase::Finished { iterations, ended } => rest.stay(Phase::Finished { iterations, ended }),
    }
}

fn end(rest: Rest, iteration: &Iteration, at: Millis) -> Step {
    next::conclude(rest, iteration, (IterationStatus::Interrupted, at), Ended::cancelled())
}
