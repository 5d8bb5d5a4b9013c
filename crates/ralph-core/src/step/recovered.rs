//! A loop is taken up again after its driver ended, whether by a crash or by a signal. The stored loop says what should
//! be in flight. Nothing of it is: what was cut short is done again, and nothing that was recorded is.
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::limited::{self, Limited};
use super::next::{self, Carry, Turn, record};
use super::working::unseen_fact;
use super::{Rest, Step, abandoned};
use crate::backoff::retry_delay_ms;
use crate::effect::Effect;
use crate::event::{Millis, Timer};
use crate::fact::{Fact, IterationStatus, NextStep};
use crate::order::{Halt, Order};
use crate::outcome::{Ended, Outcome};
use crate::policy::Proof;
use crate::state::{Iteration, Left, Phase, Session, StopWhy, Stopping};

const OUTCOME_UNKNOWN: &str = "outcome unknown: ralph ended before the agent did";

type When = (Millis, u32);

/// The attempt that was going on, and what changed since.
struct Cut {
    iteration: Iteration,
    attempt: u32,
    changed: Vec<String>,
}

/// Takes the loop up. Who was cancelled meanwhile is not; what was said meanwhile stands in the first prompt.
pub(super) fn on(
    mut rest: Rest,
    phase: Phase,
    (changed, orders): (Vec<String>, Vec<Order>),
    when: When,
) -> Step {
    if orders.contains(&Order::Cancel) {
        return abandoned::on(rest, phase, when.0);
    }
    let is_left = !matches!(phase, Phase::Ready);
    let words: Vec<String> = orders.into_iter().filter_map(Order::words).collect();
    rest.wishes.guidance.extend(words.iter().cloned());
    let (state, mut effects) = go_on(rest, phase, changed, when);
    if state.can_go_on() {
        let at = usize::from(is_left);
        effects.splice(at..at, words.into_iter().map(|words| record(Fact::RunGuided { words })));
    }
    (state, effects)
}

fn go_on(rest: Rest, phase: Phase, changed: Vec<String>, when: When) -> Step {
    match phase {
        Phase::Ready => next::open(rest, when),
        Phase::Preparing { round } => take_up(rest, Left::Preparing { round }, changed, when),
        Phase::PreparingStopped { round, halt } => {
            asked(rest, Left::Preparing { round }, halt, (changed, None), when)
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
        Phase::Paused { left } => still_paused(rest, left, changed),
        Phase::Interrupted { left, .. } => take_up(rest, left, changed, when),
        Phase::Finished { iterations, ended } => rest.stay(Phase::Finished { iterations, ended }),
    }
}

/// Nobody saw how the attempt ended, so its work is done again.
fn cut_short(rest: Rest, cut: Cut, when: (Millis, u32)) -> Step {
    let Cut { iteration, attempt, changed } = cut;
    let unseen = unseen(&iteration, attempt);
    let (state, mut effects) = take_up(rest, Left::AtWork { iteration, attempt }, changed, when);
    effects.insert(1, unseen);
    (state, effects)
}

/// Nobody saw how this attempt ended.
pub(super) fn unseen(iteration: &Iteration, attempt: u32) -> Effect {
    unseen_fact(iteration.key(attempt), (IterationStatus::Interrupted, OUTCOME_UNKNOWN.to_string()))
}

/// A stop goes on to its end, unless a signal asked for it: whoever resumes takes that back.
fn stopped(rest: Rest, cut: Cut, stopping: Stopping, when: (Millis, u32)) -> Step {
    match stopping {
        Stopping::Checks { halt } => {
            let Cut { iteration, attempt, changed } = cut;
            asked(rest, Left::Verifying { iteration, attempt }, halt, (changed, None), when)
        }
        Stopping::Agent { why: StopWhy::Asked { halt } } => {
            let Cut { iteration, attempt, changed } = cut;
            let unseen = unseen(&iteration, attempt);
            asked(rest, Left::AtWork { iteration, attempt }, halt, (changed, Some(unseen)), when)
        }
        // What it said last was not recorded, so nobody knows it any more.
        Stopping::Agent { why: StopWhy::StayedAfterResult | StopWhy::OnlyRepeats | StopWhy::NoHandshake } => {
            cut_short(rest, cut, when)
        }
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

/// Whoever resumes a run takes back a signal, but neither a cancel nor a pause: those go on to their end.
fn asked(
    rest: Rest,
    left: Left,
    halt: Halt,
    (changed, unseen): (Vec<String>, Option<Effect>),
    when: When,
) -> Step {
    let fact = match halt {
        Halt::Signal(_) | Halt::PauseTakenBack => {
            let (state, mut effects) = take_up(rest, left, changed, when);
            effects.splice(1..1, unseen);
            return (state, effects);
        }
        Halt::Cancel => resumed(left.turn(), NextStep::End, changed),
        Halt::Pause => resumed(left.turn(), NextStep::Pause, changed),
    };
    let (state, effects) = next::halt(rest, left, halt, when);
    (state, core::iter::once(fact).chain(unseen).chain(effects).collect())
}

/// A pause outlives its driver.
fn still_paused(rest: Rest, left: Left, changed: Vec<String>) -> Step {
    let fact = resumed(left.turn(), NextStep::Pause, changed);
    (rest.enter(Phase::Paused { left }), vec![fact])
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
pub(super) fn take_up(rest: Rest, left: Left, changed: Vec<String>, when: When) -> Step {
    let (at, dice) = when;
    let fact = resumed(left.turn(), next_step(&rest, &left), changed);
    let (state, effects) = match left {
        Left::AtTheStart => next::open(rest, when),
        Left::Preparing { round } => next::prepare(rest, round + 1),
        Left::Between { number, plan } => next::begin(rest, Turn { number, plan, at, dice }),
        Left::AtWork { iteration, attempt } => {
            let excused = iteration.excused + 1;
            let session = iteration.session.map(Session::used_unseen);
            let iteration = Iteration { started: at, excused, session, has_moved: true, ..iteration };
            next::start_attempt(rest, iteration, attempt + 1, at)
        }
        Left::Waiting { iteration, attempt, until } => {
            wait_on(rest, Iteration { started: at, ..iteration }, (attempt, until), at)
        }
        Left::Limited { iteration, attempt, wait } => {
            let iteration = Iteration { started: at, ..iteration };
            limited::take_up(rest, Limited { iteration, attempt, wait }, at)
        }
        Left::Verifying { iteration, attempt } => {
            next::check(rest, Iteration { started: at, ..iteration }, attempt)
        }
    };
    (state, core::iter::once(fact).chain(effects).collect())
}

/// Returns what a run does first that goes on from here.
pub(super) fn next_step(rest: &Rest, left: &Left) -> NextStep {
    match left {
        Left::AtTheStart => match rest.policy.proof {
            Proof::Checks => NextStep::Prepare,
            Proof::ClaimAlone => NextStep::Agent,
        },
        Left::Preparing { .. } => NextStep::Prepare,
        Left::Between { .. } | Left::AtWork { .. } => NextStep::Agent,
        Left::Waiting { .. } => NextStep::Retry,
        Left::Limited { wait, .. } if wait.left_ms(rest.now.wall) == 0 => NextStep::Agent,
        Left::Limited { .. } => NextStep::Limit,
        Left::Verifying { .. } => NextStep::Checks,
    }
}

/// Waits for what is left of the pause. A clock that jumped never makes it longer than it can have been.
fn wait_on(rest: Rest, iteration: Iteration, (attempt, until): (u32, Millis), at: Millis) -> Step {
    let failures = iteration.failures(attempt.saturating_sub(1));
    let left_ms = until.since(at).min(retry_delay_ms(failures, u32::MAX));
    let timer = Timer::Retry { key: iteration.key(attempt) };
    let effects = vec![Effect::StartTimer { timer, after_ms: left_ms }];
    (rest.enter(Phase::Waiting { iteration, attempt, until: at.plus(left_ms) }), effects)
}
