//! What several phases share: beginning an iteration or an attempt, ending an iteration, ending the run.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{Rest, Step, limited, paused, recovered};
use crate::claim::Nonce;
use crate::effect::Effect;
use crate::event::{Ground, Millis, StopSignal, Timer};
use crate::fact::{Fact, IterationStatus};
use crate::order::Halt;
use crate::outcome::{Ended, Outcome};
use crate::policy::{NonceUse, Proof};
use crate::prompt::{Feedback, PromptPlan};
use crate::stall::{self, Patience};
use crate::state::{Iteration, Left, Phase};

/// The iteration to begin.
pub(super) struct Turn {
    pub(super) number: u32,
    pub(super) plan: PromptPlan,
    pub(super) at: Millis,
    pub(super) dice: u32,
}

/// Why an iteration ended without ending the run, and what the next prompt must say about it.
pub(super) enum Carry {
    NoClaim,
    /// A claim was rejected.
    Rejected(Feedback),
    TimedOut,
}

pub(super) fn record(fact: Fact) -> Effect {
    Effect::Record { fact }
}

/// Begins a run. One that is to be proven is prepared first, if it has something to stand on.
pub(super) fn open(rest: Rest, when: (Millis, u32)) -> Step {
    match (rest.policy.proof, rest.now.ground) {
        (Proof::Checks, Ground::Firm) => prepare(rest, 1),
        (Proof::Checks, Ground::NoPlan) | (Proof::ClaimAlone, _) => begin_first(rest, when),
    }
}

/// Begins the first iteration.
pub(super) fn begin_first(rest: Rest, (at, dice): (Millis, u32)) -> Step {
    begin(rest, Turn { number: 1, plan: PromptPlan::first(), at, dice })
}

/// Seals, and runs the external checks once, before any agent is started.
pub(super) fn prepare(rest: Rest, round: u32) -> Step {
    let effects = vec![Effect::Prepare { round, baseline: rest.policy.baseline }];
    (rest.enter(Phase::Preparing { round }), effects)
}

/// Begins an iteration with its first attempt, if it has something to stand on and something to spend.
pub(super) fn begin(rest: Rest, turn: Turn) -> Step {
    let before = turn.number.saturating_sub(1);
    match (rest.now.ground, rest.used_up_after(before)) {
        (Ground::Firm, None) if rest.wishes.pause => {
            paused::pause(rest, Left::Between { number: turn.number, plan: turn.plan })
        }
        (Ground::Firm, None) => begin_at_once(rest, turn),
        (Ground::Firm, Some(what)) => finish(rest, before, Ended::new(Outcome::OverBudget, what)),
        (Ground::NoPlan, _) => finish(rest, before, Ended::no_plan()),
    }
}

fn begin_at_once(mut rest: Rest, turn: Turn) -> Step {
    let nonce = match rest.policy.nonce {
        NonceUse::Off => None,
        NonceUse::EachIteration => Some(Nonce::from_dice(turn.dice)),
    };
    let mut iteration = Iteration {
        number: turn.number,
        started: turn.at,
        plan: turn.plan,
        nonce,
        session: rest.session.clone(),
        excused: 0,
        rounds: 0,
        guidance: Vec::new(),
        has_moved: false,
    };
    let mut effects = vec![record(Fact::IterationStarted { iteration: iteration.number })];
    effects.extend(limited::give_back(&mut rest, &mut iteration));
    let (state, started) = start_attempt(rest, iteration, 1, turn.at);
    effects.extend(started);
    (state, effects)
}

/// Starts one attempt and the timers that watch it, unless everything that the run may use is used up.
pub(super) fn start_attempt(mut rest: Rest, mut iteration: Iteration, attempt: u32, at: Millis) -> Step {
    if let Some(what) = rest.used_up() {
        return over_budget(rest, &iteration, what, at);
    }
    iteration.guidance.append(&mut rest.wishes.guidance);
    let key = iteration.key(attempt);
    let timeouts = rest.policy.timeouts;
    let left_ms = timeouts.iteration_ms.saturating_sub(at.since(iteration.started));
    let mut effects = vec![
        record(Fact::AttemptStarted { iteration: key.iteration, attempt }),
        Effect::StartAgent {
            key,
            plan: iteration.plan.clone(),
            nonce: iteration.nonce.clone(),
            guidance: iteration.guidance.clone(),
            session: iteration.session.clone(),
            agent: rest.limits.agent,
        },
        Effect::StartTimer { timer: Timer::Iteration { key }, after_ms: left_ms },
        Effect::StartTimer { timer: Timer::Silence { key }, after_ms: timeouts.silence_ms },
    ];
    let left_ms = rest.time_left_ms();
    effects.extend(left_ms.map(|after_ms| Effect::StartTimer { timer: Timer::Run, after_ms }));
    (rest.enter(Phase::Working { iteration, attempt }), effects)
}

/// Ends the iteration and the run, because everything is used up that the run may use.
pub(super) fn over_budget(rest: Rest, iteration: &Iteration, what: String, at: Millis) -> Step {
    conclude(rest, iteration, (IterationStatus::Failed, at), Ended::new(Outcome::OverBudget, what))
}

/// Begins the checks of what this attempt claimed.
pub(super) fn check(rest: Rest, mut iteration: Iteration, attempt: u32) -> Step {
    iteration.rounds += 1;
    let effects = vec![Effect::RunChecks { key: iteration.key(attempt), round: iteration.rounds }];
    (rest.enter(Phase::Verifying { iteration, attempt }), effects)
}

/// Ends an iteration that counts and begins the next one, unless the limit stops it.
pub(super) fn go_on(mut rest: Rest, iteration: &Iteration, carry: Carry, (at, dice): (Millis, u32)) -> Step {
    let status = match carry {
        Carry::NoClaim | Carry::Rejected(_) => IterationStatus::Finished,
        Carry::TimedOut => IterationStatus::TimedOut,
    };
    let mut effects = vec![ended_iteration(iteration, status, at)];
    let patience = rest.stall.count(iteration.has_moved, rest.policy.stall_after);
    let (state, rest_of) = match patience {
        _ if iteration.number >= rest.policy.max_iterations => {
            let ended = Ended::exhausted(exhausted_reason(&carry), rest.policy.when_exhausted);
            finish(rest, iteration.number, ended)
        }
        Patience::Over { still } => {
            finish(rest, iteration.number, Ended::new(Outcome::Stalled, stall::reason(still)))
        }
        Patience::Left | Patience::Last { .. } => {
            let plan = plan_after(&mut rest, carry, patience);
            begin(rest, Turn { number: iteration.number + 1, plan, at, dice })
        }
    };
    effects.extend(rest_of);
    (state, effects)
}

/// Ends the iteration and the run with it.
pub(super) fn conclude(
    rest: Rest,
    iteration: &Iteration,
    (status, at): (IterationStatus, Millis),
    ended: Ended,
) -> Step {
    let mut effects = vec![ended_iteration(iteration, status, at)];
    let (state, finished) = finish(rest, iteration.number, ended);
    effects.extend(finished);
    (state, effects)
}

/// Does what somebody wished for, now that nothing is at work any more.
pub(super) fn halt(rest: Rest, left: Left, halt: Halt, when: (Millis, u32)) -> Step {
    match halt {
        Halt::Signal(signal) => interrupt(rest, left, when.0, signal),
        Halt::Cancel => cancel(rest, &left, when.0),
        Halt::Pause => paused::pause(rest, left),
        Halt::PauseTakenBack => {
            let now = rest.now.clone();
            let (state, paused) = paused::pause(rest, left.clone());
            let (rest, _) = Rest::of(state, now);
            let (state, effects) = recovered::take_up(rest, left, Vec::new(), when);
            (state, paused.into_iter().chain(effects).collect())
        }
    }
}

/// Ends the run for good, with the iteration that was going on.
pub(super) fn cancel(rest: Rest, left: &Left, at: Millis) -> Step {
    end_left(rest, left, (IterationStatus::Interrupted, at), Ended::cancelled())
}

/// Ends the run, and the iteration where one was going on.
pub(super) fn end_left(rest: Rest, left: &Left, end: (IterationStatus, Millis), ended: Ended) -> Step {
    match left.iteration() {
        Some(iteration) => conclude(rest, iteration, end, ended),
        None => finish(rest, left.iterations(), ended),
    }
}

/// Ends the run because of a signal, and keeps where it can be taken up again.
pub(super) fn interrupt(rest: Rest, left: Left, at: Millis, signal: StopSignal) -> Step {
    let ended = Ended::interrupted(signal);
    let cut = left.iteration().map(|iteration| ended_iteration(iteration, IterationStatus::Interrupted, at));
    let effects = cut.into_iter().chain(finished(&rest, left.iterations(), &ended)).collect();
    (rest.enter(Phase::Interrupted { left, ended }), effects)
}

/// Ends the run.
pub(super) fn finish(rest: Rest, iterations: u32, ended: Ended) -> Step {
    let effects = finished(&rest, iterations, &ended).into();
    (rest.enter(Phase::Finished { iterations, ended }), effects)
}

fn finished(rest: &Rest, iterations: u32, ended: &Ended) -> [Effect; 2] {
    let fact = Fact::RunFinished {
        outcome: ended.outcome,
        reason: ended.reason.clone(),
        iterations,
        exit_code: ended.exit_code,
        spend: rest.spent,
    };
    [record(fact), Effect::Finish]
}

fn ended_iteration(iteration: &Iteration, status: IterationStatus, at: Millis) -> Effect {
    let duration_ms = at.since(iteration.started);
    record(Fact::IterationEnded { iteration: iteration.number, status, duration_ms })
}

/// An agent that gets nowhere is told so, and forgets what it did so far.
fn plan_after(rest: &mut Rest, carry: Carry, patience: Patience) -> PromptPlan {
    let feedback = match carry {
        Carry::Rejected(feedback) => Some(feedback),
        Carry::NoClaim | Carry::TimedOut => None,
    };
    if let Patience::Last { still } = patience {
        rest.session = None;
        return PromptPlan::Stuck { still, feedback };
    }
    match rest.session {
        None => PromptPlan::Whole { feedback },
        Some(_) => PromptPlan::Continuation { feedback },
    }
}

fn exhausted_reason(carry: &Carry) -> String {
    match carry {
        Carry::NoClaim => "Max iterations reached without completion promise".to_string(),
        Carry::Rejected(feedback) => {
            format!("Max iterations reached. Last verification: {}", feedback.reason)
        }
        Carry::TimedOut => "Max iterations reached: the last one timed out".to_string(),
    }
}
