//! The machine: one event in, the next loop and its effects out. One file per phase; every phase answers
//! every event by name, so that a new event shows each place that must decide.
mod abandoned;
mod limited;
mod next;
mod ordered;
mod paused;
mod preparing;
mod ready;
mod recovered;
mod stopping;
mod verifying;
mod waiting;
mod working;

#[cfg(test)]
mod budget_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod failures;
#[cfg(test)]
mod judging_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod limit_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod order_tests;
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
mod stall_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod walks;

use alloc::string::String;
use alloc::vec::Vec;

use crate::attempt::Spend;
use crate::budget::{Used, Worked};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, Millis, Timer};
use crate::state::{Loop, Phase};

/// Decides. The loop is consumed, so that no transition can forget to say what comes next.
#[must_use]
pub fn step(state: Loop, mut event: Event) -> (Loop, Vec<Effect>) {
    let others = core::mem::take(&mut event.others);
    let Event { at, wall, ground, .. } = event;
    let (before, is_volatile, now) = (state.worked, event.kind.is_volatile(), Now { ground, wall, others });
    let worked = worked_at(before, &state.phase, (at, &event.kind));
    let (rest, phase) = Rest::of(Loop { worked, ..state }, now.clone());
    let (next, effects) = paused::settle(decide(rest, phase, event), now);
    // What decides nothing leaves the loop as it is.
    let worked = if is_volatile || effects.is_empty() { before } else { next.worked };
    (Loop { worked, ..next }, effects)
}

fn decide(rest: Rest, phase: Phase, event: Event) -> Step {
    if let EventKind::Recovered { changed, orders } = event.kind {
        return recovered::on(rest, phase, (changed, orders), (event.at, event.dice));
    }
    if let EventKind::Ordered { order } = event.kind {
        return ordered::on(rest, phase, order, (event.at, event.dice));
    }
    if let EventKind::Abandoned = event.kind {
        return abandoned::on(rest, phase, event.at);
    }
    match phase {
        Phase::Ready => ready::on(rest, event),
        Phase::Preparing { round } => preparing::on(rest, round, event),
        Phase::PreparingStopped { round, halt } => preparing::on_stopped(rest, (round, halt), event),
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
        Phase::Paused { left } => paused::on(rest, left, event),
        Phase::Interrupted { left, ended } => rest.stay(Phase::Interrupted { left, ended }),
        Phase::Finished { iterations, ended } => rest.stay(Phase::Finished { iterations, ended }),
    }
}

/// A pause is no work, and nothing is before the start.
fn worked_at(worked: Worked, phase: &Phase, (at, kind): (Millis, &EventKind)) -> Worked {
    let is_taken_up = matches!(kind, EventKind::Started | EventKind::Recovered { .. });
    if is_taken_up || matches!(phase, Phase::Ready | Phase::Paused { .. }) {
        return worked.taken_up(at);
    }
    worked.seen(at)
}

type Step = (Loop, Vec<Effect>);

/// What a loop keeps from phase to phase.
struct Rest {
    policy: crate::policy::Policy,
    blind_verdicts: u32,
    spent: Spend,
    session: Option<crate::state::Session>,
    limits: crate::limits::Limits,
    worked: Worked,
    unpriced: u32,
    stall: crate::stall::Stall,
    wishes: crate::order::Wishes,
    /// Not kept: it is as old as the event.
    now: Now,
}

/// How the world is when something happens.
#[derive(Clone)]
struct Now {
    ground: crate::event::Ground,
    wall: Millis,
    others: Vec<Used>,
}

impl Rest {
    fn of(state: Loop, now: Now) -> (Self, Phase) {
        let Loop { policy, blind_verdicts, spent, session, limits, worked, unpriced, stall, wishes, phase } =
            state;
        let rest =
            Self { policy, blind_verdicts, spent, session, limits, worked, unpriced, stall, wishes, now };
        (rest, phase)
    }

    fn enter(self, phase: Phase) -> Loop {
        let Self { policy, blind_verdicts, spent, session, limits, worked, unpriced, stall, wishes, .. } =
            self;
        Loop { policy, blind_verdicts, spent, session, limits, worked, unpriced, stall, wishes, phase }
    }

    /// Says why the run may use nothing more, if that is so.
    fn used_up(&self) -> Option<String> {
        self.used_up_with(Spend::default())
    }

    /// Says why the run may begin no other iteration after so many, if that is so.
    fn used_up_after(&self, iterations: u32) -> Option<String> {
        self.used_up().or_else(|| self.policy.purse(&self.now.others).out_of_iterations(iterations))
    }

    /// The same, where so much more is being spent.
    fn used_up_with(&self, more: Spend) -> Option<String> {
        let used = self.used();
        self.policy.purse(&self.now.others).used_up_by(Used { spent: used.spent.plus(more), ..used })
    }

    /// Returns how long the run may still take, where that is limited.
    fn time_left_ms(&self) -> Option<u64> {
        self.policy.purse(&self.now.others).time_left_ms(self.used())
    }

    /// Says that the time is over.
    fn out_of_time(&self) -> String {
        self.policy.purse(&self.now.others).out_of_time(self.used())
    }

    fn used(&self) -> Used {
        let (spent, worked_ms, unpriced) = (self.spent, self.worked.ms(), self.unpriced);
        Used { spent, worked_ms, unpriced, ..Used::default() }
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
        | EventKind::Overspent { key, .. }
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
            Timer::Run => None,
        },
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Prepared { .. }
        | EventKind::Interrupted { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::Broken { .. } => None,
    }
}

/// Tells whether an event belongs to another attempt than this one: it came late.
fn is_late(kind: &EventKind, current: AttemptKey) -> bool {
    attempt_of(kind).is_some_and(|key| key != current)
}
