//! Before the first iteration of a run that is to be proven: nothing is spent on an agent before it is known that its
//! work can be checked.
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::next::{self, record};
use super::{Rest, Step};
use crate::baseline::{BaselineCheck, Trial, obstacle};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, Millis, StopSignal};
use crate::fact::Fact;
use crate::outcome::{Ended, Outcome};
use crate::seal::Sealing;
use crate::state::{Left, Phase};

pub(super) fn on(rest: Rest, round: u32, event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    match kind {
        EventKind::Prepared { sealing, baseline } => prepared(rest, sealing, baseline, (at, dice)),
        EventKind::Interrupted { signal } => stop(rest, round, signal),
        EventKind::Broken { what } => next::finish(rest, 0, Ended::broken(what)),
        EventKind::Faulted { key: AttemptKey::PREPARATION, what } => {
            next::finish(rest, 0, Ended::faulted(&what))
        }
        EventKind::Started
        | EventKind::Recovered { .. }
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
pub(super) fn on_stopped(rest: Rest, (round, signal): (u32, StopSignal), event: Event) -> Step {
    let Event { at, kind, .. } = event;
    match kind {
        EventKind::Prepared { .. } => next::interrupt(rest, Left::Preparing { round }, at, signal),
        EventKind::Faulted { key: AttemptKey::PREPARATION, what } => {
            next::finish(rest, 0, Ended::faulted(&what))
        }
        EventKind::Interrupted { .. } => {
            let effects = vec![Effect::StopChecks { key: AttemptKey::PREPARATION }];
            (rest.enter(Phase::PreparingStopped { round, signal }), effects)
        }
        EventKind::Started
        | EventKind::Recovered { .. }
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
        | EventKind::Faulted { .. } => rest.stay(Phase::PreparingStopped { round, signal }),
    }
}

fn stop(rest: Rest, round: u32, signal: StopSignal) -> Step {
    let reason = "a signal asked the run to stop".into();
    let effects =
        vec![record(Fact::StopRequested { reason }), Effect::StopChecks { key: AttemptKey::PREPARATION }];
    (rest.enter(Phase::PreparingStopped { round, signal }), effects)
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
