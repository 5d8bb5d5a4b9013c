//! Before the first iteration of a run that is to be proven: nothing is spent on an agent before it is known that its
//! work can be checked.
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::next::{self, record};
use super::{Rest, Step};
use crate::baseline::{BaselineCheck, Trial, obstacle};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, Millis};
use crate::fact::Fact;
use crate::order::{Halt, Order};
use crate::outcome::{Ended, Outcome};
use crate::seal::Sealing;
use crate::state::{Left, Phase};

pub(super) fn on(rest: Rest, round: u32, event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    match kind {
        EventKind::Prepared { sealing, baseline } => prepared(rest, sealing, baseline, (at, dice)),
        EventKind::Interrupted { signal } => stop(rest, round, Halt::Signal(signal)),
        EventKind::Broken { what } => next::finish(rest, 0, Ended::broken(what)),
        EventKind::Faulted { key: AttemptKey::PREPARATION, what } => {
            next::finish(rest, 0, Ended::faulted(&what))
        }
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::AttemptEnded { .. }
        | EventKind::ResultSeen { .. }
        | EventKind::SpokeAgain { .. }
        | EventKind::Repeating { .. }
        | EventKind::GotOn { .. }
        | EventKind::Verified { .. }
        | EventKind::HandshakeBegan { .. }
        | EventKind::HandshakeDone { .. }
        | EventKind::Overspent { .. }
        | EventKind::TimerFired { .. }
        | EventKind::Faulted { .. } => rest.stay(Phase::Preparing { round }),
    }
}

/// The checks of the baseline were asked to stop.
pub(super) fn on_stopped(rest: Rest, (round, halt): (u32, Halt), event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    match kind {
        EventKind::Prepared { .. } => next::halt(rest, Left::Preparing { round }, halt, (at, dice)),
        EventKind::Faulted { key: AttemptKey::PREPARATION, what } => {
            next::finish(rest, 0, Ended::faulted(&what))
        }
        EventKind::Interrupted { signal } => {
            let effects = vec![Effect::StopChecks { key: AttemptKey::PREPARATION }];
            let halt = halt.and_signal(signal);
            (rest.enter(Phase::PreparingStopped { round, halt }), effects)
        }
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::AttemptEnded { .. }
        | EventKind::ResultSeen { .. }
        | EventKind::SpokeAgain { .. }
        | EventKind::Repeating { .. }
        | EventKind::GotOn { .. }
        | EventKind::Verified { .. }
        | EventKind::HandshakeBegan { .. }
        | EventKind::HandshakeDone { .. }
        | EventKind::Overspent { .. }
        | EventKind::TimerFired { .. }
        | EventKind::Broken { .. }
        | EventKind::Faulted { .. } => rest.stay(Phase::PreparingStopped { round, halt }),
    }
}

/// Somebody asks for something while the checks of the baseline are being stopped.
pub(super) fn ordered(rest: Rest, (round, halt): (u32, Halt), order: &Order) -> Step {
    let after = halt.and(order);
    let is_new_end = after == Halt::Cancel && halt != Halt::Cancel;
    let reason = after.reason().into();
    let effects = is_new_end.then(|| record(Fact::StopRequested { reason })).into_iter().collect();
    (rest.enter(Phase::PreparingStopped { round, halt: after }), effects)
}

/// Asks the checks of the baseline to stop.
pub(super) fn stop(rest: Rest, round: u32, halt: Halt) -> Step {
    let reason = halt.reason().into();
    let effects =
        vec![record(Fact::StopRequested { reason }), Effect::StopChecks { key: AttemptKey::PREPARATION }];
    (rest.enter(Phase::PreparingStopped { round, halt }), effects)
}

fn prepared(rest: Rest, sealing: Sealing, baseline: Vec<Trial>, when: (Millis, u32)) -> Step {
    let mut facts = Vec::new();
    let checks: Vec<BaselineCheck> = baseline.into_iter().map(BaselineCheck::of).collect();
    let obstacle = obstacle(&checks);
    if !checks.is_empty() {
        facts.push(record(Fact::Baseline { checks }));
    }
    let obstacle = match sealing {
        Sealing::Impossible { why } => Some(format!("what must not change cannot be sealed: {why}")),
        Sealing::Done { seal } => {
            facts.insert(0, record(Fact::RunSealed { seal }));
            obstacle
        }
    };
    let (state, effects) = match obstacle {
        Some(reason) => next::finish(rest, 0, Ended::new(Outcome::Blocked, reason)),
        None => next::begin_first(rest, when),
    };
    (state, facts.into_iter().chain(effects).collect())
}
