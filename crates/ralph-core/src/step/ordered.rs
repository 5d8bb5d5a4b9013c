//! What people ask for from another process, in every phase. An order that means nothing there changes nothing.
use alloc::string::String;
use alloc::vec;

use super::next::{self, record};
use super::stopping::Stop;
use super::{Rest, Step, preparing, recovered, stopping, verifying, working};
use crate::event::Millis;
use crate::fact::Fact;
use crate::order::{Halt, Order, PauseWhen};
use crate::state::{Left, Phase, StopWhy};

pub(super) fn on(rest: Rest, phase: Phase, order: Order, when: (Millis, u32)) -> Step {
    match order {
        Order::Guide { words } => guide(rest, phase, words),
        Order::Cancel => halt(rest, phase, (Halt::Cancel, order), when),
        Order::Pause { when: PauseWhen::Now } => halt(rest, phase, (Halt::Pause, order), when),
        Order::Pause { when: PauseWhen::Idle } => pause(rest, phase, &order),
        Order::Resume => resume(rest, phase, when),
    }
}

/// Keeps what was said for the next prompt. A run that is over has none.
fn guide(mut rest: Rest, phase: Phase, words: String) -> Step {
    if let Phase::Interrupted { .. } | Phase::Finished { .. } = phase {
        return rest.stay(phase);
    }
    rest.wishes.guidance.push(words.clone());
    (rest.enter(phase), vec![record(Fact::RunGuided { words })])
}

/// Stops what is at work. Where nothing is, the wish is done at once.
fn halt(rest: Rest, phase: Phase, (halt, order): (Halt, Order), when: (Millis, u32)) -> Step {
    match phase {
        Phase::Ready => next::halt(rest, Left::AtTheStart, halt, when),
        Phase::Preparing { round } => preparing::stop(rest, round, halt),
        Phase::PreparingStopped { round, halt } => preparing::ordered(rest, (round, halt), &order),
        Phase::Working { iteration, attempt } => {
            working::stop(rest, iteration, attempt, StopWhy::Asked { halt })
        }
        Phase::Waiting { iteration, attempt, until } => {
            next::halt(rest, Left::Waiting { iteration, attempt, until }, halt, when)
        }
        Phase::Limited { iteration, attempt, wait } => {
            next::halt(rest, Left::Limited { iteration, attempt, wait }, halt, when)
        }
        Phase::Verifying { iteration, attempt } => verifying::stop(rest, iteration, attempt, halt),
        Phase::Stopping { iteration, attempt, stopping } => {
            stopping::ordered(rest, Stop { iteration, attempt, stopping }, &order)
        }
        Phase::Paused { left } => match halt {
            Halt::Pause | Halt::PauseTakenBack => rest.stay(Phase::Paused { left }),
            Halt::Cancel | Halt::Signal(_) => next::halt(rest, left, halt, when),
        },
        Phase::Interrupted { .. } | Phase::Finished { .. } => rest.stay(phase),
    }
}

/// Pauses as soon as nobody is at work.
fn pause(mut rest: Rest, phase: Phase, order: &Order) -> Step {
    match phase {
        Phase::PreparingStopped { round, halt } => preparing::ordered(rest, (round, halt), order),
        Phase::Stopping { iteration, attempt, stopping } => {
            stopping::ordered(rest, Stop { iteration, attempt, stopping }, order)
        }
        Phase::Paused { .. } | Phase::Interrupted { .. } | Phase::Finished { .. } => rest.stay(phase),
        Phase::Ready
        | Phase::Preparing { .. }
        | Phase::Working { .. }
        | Phase::Waiting { .. }
        | Phase::Limited { .. }
        | Phase::Verifying { .. } => {
            rest.wish_for_pause(order);
            rest.stay(phase)
        }
    }
}

/// Goes on, or takes back a pause that has not begun.
fn resume(mut rest: Rest, phase: Phase, when: (Millis, u32)) -> Step {
    match phase {
        Phase::Paused { left } => recovered::take_up(rest, left, vec![], when),
        Phase::PreparingStopped { round, halt } => preparing::ordered(rest, (round, halt), &Order::Resume),
        Phase::Stopping { iteration, attempt, stopping } => {
            stopping::ordered(rest, Stop { iteration, attempt, stopping }, &Order::Resume)
        }
        Phase::Ready
        | Phase::Preparing { .. }
        | Phase::Working { .. }
        | Phase::Waiting { .. }
        | Phase::Limited { .. }
        | Phase::Verifying { .. }
        | Phase::Interrupted { .. }
        | Phase::Finished { .. } => {
            rest.wish_for_pause(&Order::Resume);
            rest.stay(phase)
        }
    }
}

impl Rest {
    /// Remembers that a pause is wanted, or is wanted no more.
    pub(super) fn wish_for_pause(&mut self, order: &Order) {
        match order {
            Order::Pause { .. } => self.wishes.pause = true,
            Order::Resume => self.wishes.pause = false,
            Order::Cancel | Order::Guide { .. } => {}
        }
    }
}
