//! The machine: one event in, the next loop and its effects out. One file per phase; every phase answers
//! every event by name, so that a new event shows each place that must decide.
mod limited;
mod next;
mod preparing;
mod ready;
mod recovered;
mod stopping;
mod verifying;
mod waiting;
mod working;

#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod failures;
#[cfg(test)]
mod judging_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod limit_tests;
#[cfg(test)]
mod preparing_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod recovered_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
pub(crate) mod scenes;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod session_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod walks;

use alloc::vec::Vec;

use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, Timer};
use crate::state::{Loop, Phase};

/// Decides. The loop is consumed, so that no transition can forget to say what comes next.
#[must_use]
pub fn step(state: Loop, event: Event) -> (Loop, Vec<Effect>) {
    let Loop { policy, blind_verdicts, spent, session, limits, phase } = state;
    let Event { at, wall, dice, ground, kind } = event;
    let rest = Rest { policy, blind_verdicts, spent, session, limits, ground, wall };
    if let EventKind::Recovered { changed } = kind {
        return recovered::on(rest, phase, changed, (at, dice));
    }
    let event = Event { at, wall, dice, ground, kind };
    match phase {
        Phase::Ready => ready::on(rest, event),
        Phase::Preparing { round } => preparing::on(rest, round, event),
        Phase::PreparingStopped { round, signal } => preparing::on_stopped(rest, (round, signal), event),
        Phase::Working { iteration, attempt } => working::on(rest, iteration, attempt, event),
        Phase::Waiting { iteration, attempt, until } => {
            waiting::on(rest, waiting::Pause { iteration, attempt, until }, event)
        }
        Phase::Limited { iteration, attempt, wait } => {
            limited::on(rest, limited::Limited { iteration, attempt, wait }, event)
        }
        Phase::Verifying { iteration, attempt } => verifying::on(rest, iteration, attempt, event),
        Phase::Stopping { iteration, attempt, stopping } => {
            stopping::on(rest, stopping::Stop { iteration, attempt, stopping }, event)
        }
        Phase::Interrupted { left, ended } => rest.stay(Phase::Interrupted { left, ended }),
        Phase::Finished { iterations, ended } => rest.stay(Phase::Finished { iterations, ended }),
    }
}

type Step = (Loop, Vec<Effect>);

/// What a loop keeps from phase to phase.
struct Rest {
    policy: crate::policy::Policy,
    blind_verdicts: u32,
    spent: crate::attempt::Spend,
    session: Option<crate::state::Session>,
    limits: crate::limits::Limits,
    /// Not kept: it is as old as the event.
    ground: crate::event::Ground,
    /// Not kept either.
    wall: crate::event::Millis,
}

impl Rest {
    fn enter(self, phase: Phase) -> Loop {
        let Self { policy, blind_verdicts, spent, session, limits, .. } = self;
        Loop { policy, blind_verdicts, spent, session, limits, phase }
    }

    /// Stays in the phase: the event means nothing here.
    fn stay(self, phase: Phase) -> Step {
        (self.enter(phase), Vec::new())
    }
}

/// Returns the attempt that an event belongs to, where it belongs to one.
fn attempt_of(kind: &EventKind) -> Option<AttemptKey> {
    match kind {
        EventKind::AttemptEnded { key, .. }
        | EventKind::ResultSeen { key }
        | EventKind::SpokeAgain { key }
        | EventKind::Repeating { key }
        | EventKind::GotOn { key }
        | EventKind::HandshakeBegan { key }
        | EventKind::HandshakeDone { key }
        | EventKind::Verified { key, .. }
        | EventKind::Faulted { key, .. } => Some(*key),
        EventKind::TimerFired { timer } => match timer {
            Timer::Iteration { key }
            | Timer::Silence { key }
            | Timer::AfterResult { key }
            | Timer::Repeating { key }
            | Timer::Handshake { key }
            | Timer::Retry { key }
            | Timer::Limit { key } => Some(*key),
        },
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Prepared { .. }
        | EventKind::Interrupted { .. }
        | EventKind::Broken { .. } => None,
    }
}

/// Tells whether an event belongs to another attempt than this one: it came late.
fn is_late(kind: &EventKind, current: AttemptKey) -> bool {
    attempt_of(kind).is_some_and(|key| key != current)
}
