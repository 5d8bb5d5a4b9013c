//! After the agent or the checks were asked to stop, until they are gone.
use alloc::boxed::Box;
use alloc::vec;

use super::next::{self, Carry, record};
use super::working::{self, Attempt, Standing, attempt_facts, claim_fact};
use super::{Rest, Step, is_late};
use crate::attempt::AttemptReport;
use crate::effect::Effect;
use crate::event::{Event, EventKind, Millis, StopSignal};
use crate::fact::{Fact, IterationStatus};
use crate::order::{Halt, Order};
use crate::outcome::{Ended, Outcome};
use crate::policy::Proof;
use crate::state::{Iteration, Left, Phase, StopWhy, Stopping};

pub(super) struct Stop {
    pub(super) iteration: Iteration,
    pub(super) attempt: u32,
    pub(super) stopping: Stopping,
}

impl Stop {
    fn phase(self) -> Phase {
        Phase::Stopping { iteration: self.iteration, attempt: self.attempt, stopping: self.stopping }
    }
}

pub(super) fn on(rest: Rest, stop: Stop, event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    if is_late(&kind, stop.iteration.key(stop.attempt)) {
        return rest.stay(stop.phase());
    }
    match (kind, &stop.stopping) {
        (EventKind::AttemptEnded { report, .. }, Stopping::Agent { why }) => {
            let why = why.clone();
            agent_gone(rest, (stop.iteration, stop.attempt, report), why, (at, dice))
        }
        (EventKind::Verified { .. }, Stopping::Checks { halt }) => {
            let halt = *halt;
            let Stop { iteration, attempt, .. } = stop;
            next::halt(rest, Left::Verifying { iteration, attempt }, halt, (at, dice))
        }
        (EventKind::Faulted { what, .. }, Stopping::Agent { .. }) => {
            working::faulted(rest, &stop.iteration, (stop.attempt, what), at)
        }
        (EventKind::Faulted { what, .. }, Stopping::Checks { .. }) => {
            next::conclude(rest, &stop.iteration, (IterationStatus::Failed, at), Ended::faulted(&what))
        }
        (EventKind::Interrupted { signal }, _) => interrupted_again(rest, stop, signal),
        (
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
            | EventKind::Broken { .. },
            _,
        ) => rest.stay(stop.phase()),
    }
}

/// Somebody asks for something during a stop: what it is for may change.
pub(super) fn ordered(mut rest: Rest, stop: Stop, order: &Order) -> Step {
    let Stop { iteration, attempt, stopping } = stop;
    let after = match &stopping {
        Stopping::Checks { halt } => Stopping::Checks { halt: halt.and(order) },
        Stopping::Agent { why: StopWhy::Asked { halt } } => {
            Stopping::Agent { why: StopWhy::Asked { halt: halt.and(order) } }
        }
        Stopping::Agent { why: StopWhy::Broken { .. } } => stopping.clone(),
        Stopping::Agent {
            why:
                StopWhy::IterationTooLong
                | StopWhy::TooSilent
                | StopWhy::StayedAfterResult
                | StopWhy::OnlyRepeats
                | StopWhy::NoHandshake
                | StopWhy::OverBudget { .. },
        } => match order {
            Order::Cancel => Stopping::Agent { why: StopWhy::Asked { halt: Halt::Cancel } },
            Order::Pause { .. } | Order::Resume | Order::Guide { .. } => {
                rest.wish_for_pause(order);
                stopping.clone()
            }
        },
    };
    let is_new_end = *order == Order::Cancel && after != stopping;
    let reason = Halt::Cancel.reason().into();
    let effects = is_new_end.then(|| record(Fact::StopRequested { reason })).into_iter().collect();
    (rest.enter(Phase::Stopping { iteration, attempt, stopping: after }), effects)
}

/// A signal during a stop: the first turns any other stop into an interruption, the next kills at once.
fn interrupted_again(rest: Rest, stop: Stop, signal: StopSignal) -> Step {
    let key = stop.iteration.key(stop.attempt);
    let Stop { iteration, attempt, stopping } = stop;
    let (stopping, effects) = match stopping {
        Stopping::Checks { halt } => {
            (Stopping::Checks { halt: halt.and_signal(signal) }, vec![Effect::StopChecks { key }])
        }
        Stopping::Agent { why: StopWhy::Asked { halt } } => {
            let kills = halt.ends_the_run().then_some(Effect::KillAgent { key });
            let why = StopWhy::Asked { halt: halt.and_signal(signal) };
            (Stopping::Agent { why }, kills.into_iter().collect())
        }
        Stopping::Agent { why: StopWhy::Broken { what } } => {
            (Stopping::Agent { why: StopWhy::Broken { what } }, vec![Effect::KillAgent { key }])
        }
        Stopping::Agent {
            why:
                StopWhy::IterationTooLong
                | StopWhy::TooSilent
                | StopWhy::StayedAfterResult
                | StopWhy::OnlyRepeats
                | StopWhy::NoHandshake
                | StopWhy::OverBudget { .. },
        } => (Stopping::Agent { why: StopWhy::Asked { halt: Halt::Signal(signal) } }, vec![]),
    };
    (rest.enter(Phase::Stopping { iteration, attempt, stopping }), effects)
}

fn agent_gone(
    mut rest: Rest,
    (iteration, attempt, report): (Iteration, u32, Box<AttemptReport>),
    why: StopWhy,
    when: (Millis, u32),
) -> Step {
    let judgement = match &why {
        StopWhy::StayedAfterResult => Some(report.judge_output()),
        StopWhy::OnlyRepeats => Some(report.judge_repeats()),
        StopWhy::NoHandshake => Some(report.judge_handshake()),
        StopWhy::TooSilent => report.judge_silence(),
        // What it claimed before is checked all the same; nothing is started again.
        StopWhy::OverBudget { .. } => {
            let counts = report.reading.claim.is_made() && rest.policy.proof == Proof::Checks;
            counts.then(|| report.judge_output())
        }
        StopWhy::IterationTooLong | StopWhy::Asked { .. } | StopWhy::Broken { .. } => None,
    };
    if let Some(judgement) = judgement {
        return working::ended(rest, iteration, Attempt { number: attempt, report, judgement }, when);
    }
    let (status, cause) = match &why {
        StopWhy::IterationTooLong => (IterationStatus::TimedOut, "the iteration took too long"),
        StopWhy::TooSilent | StopWhy::StayedAfterResult | StopWhy::OnlyRepeats | StopWhy::NoHandshake => {
            (IterationStatus::TimedOut, "the agent was silent for too long")
        }
        StopWhy::Asked { halt } => (IterationStatus::Interrupted, halt.cause()),
        StopWhy::OverBudget { what } | StopWhy::Broken { what } => (IterationStatus::Failed, what.as_str()),
    };
    rest.spent = rest.spent.plus(report.spend);
    let iteration = iteration.moved_by(&report);
    let key = iteration.key(attempt);
    let mut facts = attempt_facts(&iteration, (attempt, &report), (status, Some(cause.into())));
    facts.push(claim_fact(key, &report, Standing::Stopped));
    let (state, effects) = match why {
        StopWhy::Asked { halt } => next::halt(rest, Left::AtWork { iteration, attempt }, halt, when),
        StopWhy::Broken { what } => next::conclude(rest, &iteration, (status, when.0), Ended::broken(what)),
        StopWhy::OverBudget { what } => {
            let ended = Ended::new(Outcome::OverBudget, what);
            next::conclude(rest, &iteration, (status, when.0), ended)
        }
        StopWhy::IterationTooLong
        | StopWhy::TooSilent
        | StopWhy::StayedAfterResult
        | StopWhy::OnlyRepeats
        | StopWhy::NoHandshake => {
            rest.remember(&iteration, &report);
            next::go_on(rest, &iteration, Carry::TimedOut, when)
        }
    };
    (state, facts.into_iter().chain(effects).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Timer;
    use crate::policy::Policy;
    use crate::step::scenes::{Scene, claims, key, with_checks};

    // spec: L12
    #[test]
    fn what_is_said_of_the_next_signal_is_what_it_does() {
        let at_work = || Scene::started(Policy::new(3));
        let timed_out = || at_work().fires(Timer::Iteration { key: key(1, 1) });
        let broken = || at_work().on(EventKind::Broken { what: "gone".into() });
        let checked = || Scene::started(with_checks(3)).ended(1, 1, claims());
        let int = |scene: Scene| scene.signal(StopSignal::Int);
        let scenes: [(&dyn Fn() -> Scene, bool); 7] = [
            (&at_work, false),
            (&|| int(at_work()), true),
            (&timed_out, false),
            (&|| int(timed_out()), true),
            (&broken, true),
            (&checked, false),
            (&|| int(checked()), false),
        ];
        for (number, (scene, kills)) in scenes.into_iter().enumerate() {
            assert_eq!(scene().phase().next_signal_kills(), kills, "{number}");
            assert_eq!(int(scene()).does(&Effect::KillAgent { key: key(1, 1) }), kills, "{number}");
        }
    }
}
