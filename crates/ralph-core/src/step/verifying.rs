//! While a claim is being checked. Only here can a run with checks become completed.
use alloc::vec;

use super::next::{self, Carry, record};
use super::{Rest, Step, is_late};
use crate::effect::Effect;
use crate::event::{Event, EventKind, Millis};
use crate::evidence::{Evidence, Verdict};
use crate::fact::{Fact, IterationStatus};
use crate::order::Halt;
use crate::outcome::{Ended, Outcome};
use crate::prompt::Feedback;
use crate::state::{Iteration, Phase, Stopping};

/// So many verdicts in a row that could not be evaluated end the run: it must not burn a budget blindly.
const BLIND_VERDICTS: u32 = 2;

pub(super) fn on(rest: Rest, iteration: Iteration, attempt: u32, event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    if is_late(&kind, iteration.key(attempt)) {
        return rest.stay(Phase::Verifying { iteration, attempt });
    }
    match kind {
        EventKind::Verified { evidence, .. } => verified(rest, iteration, evidence, (at, dice)),
        EventKind::Interrupted { signal } => stop(rest, iteration, attempt, Halt::Signal(signal)),
        EventKind::Broken { what } => {
            next::conclude(rest, &iteration, (IterationStatus::Failed, at), Ended::broken(what))
        }
        EventKind::Faulted { what, .. } => {
            next::conclude(rest, &iteration, (IterationStatus::Failed, at), Ended::faulted(&what))
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
        | EventKind::TimerFired { .. } => rest.stay(Phase::Verifying { iteration, attempt }),
    }
}

fn verified(mut rest: Rest, mut iteration: Iteration, evidence: Evidence, when: (Millis, u32)) -> Step {
    iteration.has_moved |= rest.stall.note_unmet(&evidence);
    rest.spent = rest.spent.plus(evidence.spend().unwrap_or_default());
    let verdict = evidence.verdict();
    let reason = evidence.reason();
    let feedback = Feedback { reason: reason.clone(), tail: evidence.tail().into() };
    let fact = Fact::Verdict {
        iteration: iteration.number,
        verdict,
        reason: reason.clone(),
        checks: evidence.checks,
    };
    rest.blind_verdicts = match verdict {
        Verdict::CouldNotEvaluate => rest.blind_verdicts + 1,
        Verdict::Accepted | Verdict::Rejected => 0,
    };
    let blind = rest.blind_verdicts >= BLIND_VERDICTS;
    let conclude = |rest, outcome, reason| {
        next::conclude(rest, &iteration, (IterationStatus::Finished, when.0), Ended::new(outcome, reason))
    };
    let (state, effects) = match verdict {
        Verdict::Accepted => conclude(rest, Outcome::Completed, reason),
        Verdict::CouldNotEvaluate if blind => conclude(rest, Outcome::Blocked, reason),
        Verdict::Rejected | Verdict::CouldNotEvaluate => {
            next::go_on(rest, &iteration, Carry::Rejected(feedback), when)
        }
    };
    (state, core::iter::once(record(fact)).chain(effects).collect())
}

/// Asks the checks to stop.
pub(super) fn stop(rest: Rest, iteration: Iteration, attempt: u32, halt: Halt) -> Step {
    let key = iteration.key(attempt);
    let reason = halt.reason().into();
    let effects = vec![record(Fact::StopRequested { reason }), Effect::StopChecks { key }];
    let stopping = Stopping::Checks { halt };
    (rest.enter(Phase::Stopping { iteration, attempt, stopping }), effects)
}
