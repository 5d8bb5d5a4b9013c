//! A loop is taken up again after its driver ended, whether by a crash or by a signal. The stored loop says what should
//! be in flight. Nothing of it is: what was cut short is done again, and nothing that was recorded is.
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::limited::{self, Limited};
use super::next::{self, Carry, record};
use super::working::unseen_fact;
use super::{Rest, Step};
use crate::backoff::retry_delay_ms;
use crate::effect::Effect;
use crate::event::{Millis, Timer};
use crate::fact::{Fact, IterationStatus, NextStep};
use crate::outcome::{Ended, Outcome};
use crate::policy::Proof;
use crate::state::{Iteration, Left, Phase, Session, StopWhy, Stopping};

const OUTCOME_UNKNOWN: &str = "outcome unknown: ralph ended before the agent did";

/// The attempt that was going on, and what changed since.
struct Cut {
    iteration: Iteration,
    attempt: u32,
    changed: Vec<String>,
}

pub(super) fn on(rest: Rest, phase: Phase, changed: Vec<String>, when: (Millis, u32)) -> Step {
    match phase {
        Phase::Ready => next::open(rest, when),
        Phase::Preparing { round } | Phase::PreparingStopped { round, .. } => {
            take_up(rest, Left::Preparing { round }, changed, when)
        }
        Phase::Working { iteration, attempt } => cut_short(rest, Cut { iteration, attempt, changed }, when),
        Phase::Waiting { iteration, attempt, until } => {
            take_up(rest, Left::Waiting { iteration, attempt, until }, changed, when)
        }
        Phase::Limited { iteration, attempt, wait } => {
            take_up(rest, Left::Limited { iteration, attempt, wait }, changed, when)
        }
        Phase::Verifying { iteration, attempt } => {
            take_up(rest, Left::Verifying { iteration, attempt }, changed, when)
        }
        Phase::Stopping { iteration, attempt, stopping } => {
            stopped(rest, Cut { iteration, attempt, changed }, stopping, when)
        }
        Phase::Interrupted { left, .. } => take_up(rest, left, changed, when),
        Phase::Finished { iterations, ended } => rest.stay(Phase::Finished { iterations, ended }),
    }
}

/// Nobody saw how the attempt ended, so its work is done again.
fn cut_short(rest: Rest, cut: Cut, when: (Millis, u32)) -> Step {
    let Cut { iteration, attempt, changed } = cut;
    let unseen =
        unseen_fact(iteration.key(attempt), (IterationStatus::Interrupted, OUTCOME_UNKNOWN.to_string()));
    let (state, mut effects) = take_up(rest, Left::AtWork { iteration, attempt }, changed, when);
    effects.insert(1, unseen);
    (state, effects)
}

/// A stop goes on to its end, unless a signal asked for it: whoever resumes takes that back.
fn stopped(rest: Rest, cut: Cut, stopping: Stopping, when: (Millis, u32)) -> Step {
    match stopping {
        Stopping::Checks { .. } => {
            let Cut { iteration, attempt, changed } = cut;
            take_up(rest, Left::Verifying { iteration, attempt }, changed, when)
        }
        // What it said last was not recorded, so nobody knows it any more.
        Stopping::Agent {
            why:
                StopWhy::Signal { .. } | StopWhy::StayedAfterResult | StopWhy::OnlyRepeats | StopWhy::NoHandshake,
        } => cut_short(rest, cut, when),
        Stopping::Agent { why: StopWhy::IterationTooLong } => {
            timed_out(rest, &cut, "the iteration took too long", when)
        }
        Stopping::Agent { why: StopWhy::TooSilent } => {
            timed_out(rest, &cut, "the agent was silent for too long", when)
        }
        Stopping::Agent { why: StopWhy::Broken { what } } => {
            over(rest, &cut, what.clone(), (Ended::broken(what), when.0))
        }
        Stopping::Agent { why: StopWhy::OverBudget { what } } => {
            over(rest, &cut, what.clone(), (Ended::new(Outcome::OverBudget, what), when.0))
        }
    }
}

fn timed_out(rest: Rest, cut: &Cut, why: &str, when: (Millis, u32)) -> Step {
    let facts = end_facts(cut, (IterationStatus::TimedOut, why.to_string()));
    let (state, effects) = next::go_on(rest, &cut.iteration, Carry::TimedOut, when);
    (state, facts.into_iter().chain(effects).collect())
}

fn over(rest: Rest, cut: &Cut, why: String, (ended, at): (Ended, Millis)) -> Step {
    let facts = end_facts(cut, (IterationStatus::Failed, why));
    let end = (IterationStatus::Failed, at);
    let (state, effects) = next::conclude(rest, &cut.iteration, end, ended);
    (state, facts.into_iter().chain(effects).collect())
}

fn end_facts(cut: &Cut, end: (IterationStatus, String)) -> [Effect; 2] {
    let key = cut.iteration.key(cut.attempt);
    [resumed((key.iteration, key.attempt), NextStep::End, cut.changed.clone()), unseen_fact(key, end)]
}

fn resumed((iteration, attempt): (u32, u32), next: NextStep, changed: Vec<String>) -> Effect {
    record(Fact::RunResumed { iteration, attempt, next, changed })
}

/// Goes on where the run was left. The iteration has its whole time again: nobody knows how much of it was used.
fn take_up(rest: Rest, left: Left, changed: Vec<String>, when: (Millis, u32)) -> Step {
    let (at, _) = when;
    let (fact, (state, effects)) = match left {
        Left::AtTheStart => {
            let next = match rest.policy.proof {
                Proof::Checks => NextStep::Prepare,
                Proof::ClaimAlone => NextStep::Agent,
            };
            (resumed((1, 1), next, changed), next::open(rest, when))
        }
        Left::Preparing { round } => {
            (resumed((1, 1), NextStep::Prepare, changed), next::prepare(rest, round + 1))
        }
        Left::AtWork { iteration, attempt } => {
            let fact = resumed((iteration.number, attempt + 1), NextStep::Agent, changed);
            let excused = iteration.excused + 1;
            let session = iteration.session.map(Session::used_unseen);
            let iteration = Iteration { started: at, excused, session, has_moved: true, ..iteration };
            (fact, next::start_attempt(rest, iteration, attempt + 1, at))
        }
        Left::Waiting { iteration, attempt, until } => {
            let fact = resumed((iteration.number, attempt), NextStep::Retry, changed);
            let iteration = Iteration { started: at, ..iteration };
            (fact, wait_on(rest, iteration, (attempt, until), at))
        }
        Left::Limited { iteration, attempt, wait } => {
            let is_over = wait.left_ms(rest.wall) == 0;
            let next = if is_over { NextStep::Agent } else { NextStep::Limit };
            let fact = resumed((iteration.number, attempt), next, changed);
            let iteration = Iteration { started: at, ..iteration };
            (fact, limited::take_up(rest, Limited { iteration, attempt, wait }, at))
        }
        Left::Verifying { iteration, attempt } => {
            let fact = resumed((iteration.number, attempt), NextStep::Checks, changed);
            (fact, next::check(rest, Iteration { started: at, ..iteration }, attempt))
        }
    };
    (state, core::iter::once(fact).chain(effects).collect())
}

/// Waits for what is left of the pause. A clock that jumped never makes it longer than it can have been.
fn wait_on(rest: Rest, iteration: Iteration, (attempt, until): (u32, Millis), at: Millis) -> Step {
    let failures = iteration.failures(attempt.saturating_sub(1));
    let left_ms = until.since(at).min(retry_delay_ms(failures, u32::MAX));
    let timer = Timer::Retry { key: iteration.key(attempt) };
    let effects = vec![Effect::StartTimer { timer, after_ms: left_ms }];
    (rest.enter(Phase::Waiting { iteration, attempt, until: at.plus(left_ms) }), effects)
}
