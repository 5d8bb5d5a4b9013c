//! While the agent is alive: what its end is worth, and when it must be stopped.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::limited::{self, Refused};
use super::next::{self, Carry, record};
use super::{Rest, Step, is_late};
use crate::attempt::{AttemptReport, Ending, Hope, Judgement, Leftovers, Spend};
use crate::backoff::retry_delay_ms;
use crate::claim::Claim;
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, Millis, Timer};
use crate::fact::{AttemptResult, ClaimFact, Fact, IterationStatus};
use crate::order::Halt;
use crate::outcome::{Ended, Outcome};
use crate::policy::{Judging, Proof};
use crate::prompt::Feedback;
use crate::state::{Iteration, Phase, StopWhy, Stopping};
use crate::text::tail_of;

pub(super) fn on(rest: Rest, iteration: Iteration, attempt: u32, event: Event) -> Step {
    let Event { at, dice, kind, .. } = event;
    let key = iteration.key(attempt);
    if is_late(&kind, key) {
        return rest.stay(Phase::Working { iteration, attempt });
    }
    match kind {
        EventKind::AttemptEnded { report, .. } => {
            let judgement = report.judge();
            ended(rest, iteration, Attempt { number: attempt, report, judgement }, (at, dice))
        }
        EventKind::ResultSeen { .. } => {
            let after_ms = rest.policy.timeouts.after_result_ms;
            with_timer(
                rest,
                iteration,
                attempt,
                Effect::StartTimer { timer: Timer::AfterResult { key }, after_ms },
            )
        }
        EventKind::SpokeAgain { .. } => {
            with_timer(rest, iteration, attempt, Effect::CancelTimer { timer: Timer::AfterResult { key } })
        }
        // An agent that repeats requests has so long to get on.
        EventKind::Repeating { .. } => {
            let after_ms = rest.policy.timeouts.repeating_ms;
            with_timer(
                rest,
                iteration,
                attempt,
                Effect::StartTimer { timer: Timer::Repeating { key }, after_ms },
            )
        }
        EventKind::GotOn { .. } => {
            with_timer(rest, iteration, attempt, Effect::CancelTimer { timer: Timer::Repeating { key } })
        }
        EventKind::HandshakeBegan { .. } => {
            let after_ms = rest.policy.timeouts.handshake_ms;
            let timer = Timer::Handshake { key };
            with_timer(rest, iteration, attempt, Effect::StartTimer { timer, after_ms })
        }
        EventKind::HandshakeDone { .. } => {
            with_timer(rest, iteration, attempt, Effect::CancelTimer { timer: Timer::Handshake { key } })
        }
        EventKind::Overspent { spend, .. } => match rest.used_up_with(spend) {
            Some(what) => stop(rest, iteration, attempt, StopWhy::OverBudget { what }),
            None => rest.stay(Phase::Working { iteration, attempt }),
        },
        EventKind::TimerFired { timer } => timed_out(rest, iteration, attempt, timer),
        EventKind::Interrupted { signal } => {
            stop(rest, iteration, attempt, StopWhy::Asked { halt: Halt::Signal(signal) })
        }
        EventKind::Broken { what } => stop(rest, iteration, attempt, StopWhy::Broken { what }),
        EventKind::Faulted { what, .. } => faulted(rest, &iteration, (attempt, what), at),
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::Prepared { .. }
        | EventKind::Verified { .. } => rest.stay(Phase::Working { iteration, attempt }),
    }
}

/// An attempt that is over, with its judgement.
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) report: Box<AttemptReport>,
    pub(super) judgement: Judgement,
}

/// Decides what an ended attempt leads to.
pub(super) fn ended(mut rest: Rest, iteration: Iteration, attempt: Attempt, when: (Millis, u32)) -> Step {
    rest.spent = rest.spent.plus(attempt.report.spend);
    let iteration = iteration.moved_by(&attempt.report);
    let Attempt { number, report, judgement } = attempt;
    let not_good = match judgement {
        Judgement::Good => return good(rest, iteration, (number, report), when),
        Judgement::Failed { why, hope } => NotGood::Failed { why, hope },
        Judgement::Limited { why, reset_at } => NotGood::Limited { why, reset_at },
        Judgement::SessionOver { why } if iteration.session.is_some() => NotGood::SessionOver { why },
        Judgement::SessionOver { why } => NotGood::Failed { why, hope: Hope::Retry },
    };
    let key = iteration.key(number);
    let status = (IterationStatus::Failed, Some(not_good.why().to_string()));
    let mut facts = attempt_facts(&iteration, (number, &report), status);
    facts.push(claim_fact(key, &report, Standing::AttemptFailed));
    let (state, effects) = match not_good {
        NotGood::Failed { why, hope } => {
            let session = iteration.session.map(|session| session.used_by(&report));
            let iteration = Iteration { session, ..iteration };
            let failure = Failure { attempt: number, why, hope, at_start: report.ended_at_start() };
            failed(rest, iteration, failure, when)
        }
        NotGood::Limited { why, reset_at } => {
            rest.remember(&iteration, &report);
            limited::limited(rest, iteration, Refused { attempt: number, why, reset_at }, when)
        }
        NotGood::SessionOver { why } => start_afresh(rest, iteration, (number, why), when.0),
    };
    (state, facts.into_iter().chain(effects).collect())
}

/// What an attempt that was not good leads to.
enum NotGood {
    Failed { why: String, hope: Hope },
    Limited { why: String, reset_at: Option<Millis> },
    SessionOver { why: String },
}

impl NotGood {
    fn why(&self) -> &str {
        match self {
            Self::Failed { why, .. } | Self::Limited { why, .. } | Self::SessionOver { why } => why,
        }
    }
}

/// The session cannot go on, so the same work begins at once in a new one. That is no failure of the agent.
fn start_afresh(mut rest: Rest, iteration: Iteration, (attempt, why): (u32, String), at: Millis) -> Step {
    rest.session = None;
    let next = attempt + 1;
    let reason = format!("the session of the agent cannot go on: {why}");
    let fact = record(Fact::SessionFresh { iteration: iteration.number, attempt: next, reason });
    let iteration = Iteration {
        plan: iteration.plan.whole(),
        session: None,
        excused: iteration.excused + 1,
        ..iteration
    };
    let (state, effects) = next::start_attempt(rest, iteration, next, at);
    (state, core::iter::once(fact).chain(effects).collect())
}

fn good(
    mut rest: Rest,
    iteration: Iteration,
    attempt: (u32, Box<AttemptReport>),
    when: (Millis, u32),
) -> Step {
    let (number, report) = attempt;
    let key = iteration.key(number);
    let mut effects = attempt_facts(&iteration, (number, &report), (IterationStatus::Finished, None));
    rest.remember(&iteration, &report);
    rest.limits.in_a_row = 0;
    rest.unpriced += u32::from(report.spend.cost_micros.is_none());
    let rejects = report.reading.reject.as_deref().filter(|_| rest.policy.judging == Judging::Yes);
    let halts = match (&report.reading.blocked, rejects) {
        (Some(reason), _) => Some(Ended::new(Outcome::Blocked, format!("the agent is blocked: {reason}"))),
        (None, Some(reason)) => Some(Ended::sent_back(reason)),
        (None, None) => None,
    };
    let (state, more) = match (halts, &report.reading.claim) {
        (Some(ended), _) => next::conclude(rest, &iteration, (IterationStatus::Finished, when.0), ended),
        (None, Claim::None { .. }) => {
            effects.push(claim_fact(key, &report, Standing::Open));
            next::go_on(rest, &iteration, Carry::NoClaim, when)
        }
        (None, Claim::Made { contradiction: Some(open), .. }) => {
            effects.push(claim_fact(key, &report, Standing::Contradicted));
            let reason = format!("the message that claims completion says itself: {}", open.sentence);
            let feedback = Feedback { reason, tail: String::new() };
            next::go_on(rest, &iteration, Carry::Rejected(feedback), when)
        }
        (None, Claim::Made { .. }) if rest.policy.duty.is_broken_by(&report.reading.final_text) => {
            effects.push(claim_fact(key, &report, Standing::SentBack));
            let reason = "the message that approves the work also sends it back: decide".to_string();
            let feedback = Feedback { reason, tail: String::new() };
            next::go_on(rest, &iteration, Carry::Rejected(feedback), when)
        }
        (None, Claim::Made { contradiction: None, .. }) => {
            effects.push(claim_fact(key, &report, Standing::Accepted));
            claimed(rest, iteration, number, when.0)
        }
    };
    effects.extend(more);
    (state, effects)
}

fn claimed(rest: Rest, iteration: Iteration, attempt: u32, at: Millis) -> Step {
    match rest.policy.proof {
        Proof::Checks => next::check(rest, iteration, attempt),
        Proof::ClaimAlone => {
            let reason = "claimed by the agent; nothing was verified".to_string();
            let ended = Ended::new(Outcome::Completed, reason);
            next::conclude(rest, &iteration, (IterationStatus::Finished, at), ended)
        }
    }
}

/// Why an attempt failed, and whether the agent had begun to work at all.
struct Failure {
    attempt: u32,
    why: String,
    hope: Hope,
    at_start: bool,
}

fn failed(rest: Rest, iteration: Iteration, failure: Failure, when: (Millis, u32)) -> Step {
    let Failure { attempt, why, hope, at_start } = failure;
    let (at, _) = when;
    let failures = iteration.failures(attempt);
    if hope == Hope::Retry && failures <= rest.policy.max_retries {
        return wait(rest, iteration, (attempt, why), when);
    }
    let (rest, iteration) = match limited::give_up_on_fallback(rest, iteration, (attempt, &why), at) {
        Ok(step) => return step,
        Err(back) => *back,
    };
    let reason = match hope {
        Hope::Retry if failures > 1 => {
            let how = if at_start { "fails at start," } else { "failed" };
            format!("the agent {how} {failures} times in a row: {why}")
        }
        Hope::Retry | Hope::None => why,
    };
    next::conclude(rest, &iteration, (IterationStatus::Failed, at), Ended::new(Outcome::Failed, reason))
}

/// Waits before the next attempt with the same prompt, if there may be one.
fn wait(rest: Rest, iteration: Iteration, failure: (u32, String), (at, dice): (Millis, u32)) -> Step {
    if let Some(what) = rest.used_up() {
        return next::over_budget(rest, &iteration, what, at);
    }
    let (attempt, reason) = failure;
    let delay_ms = retry_delay_ms(iteration.failures(attempt), dice);
    let next = attempt + 1;
    let key = iteration.key(next);
    let effects = vec![
        record(Fact::RetryScheduled { iteration: key.iteration, attempt: next, delay_ms, reason }),
        Effect::StartTimer { timer: Timer::Retry { key }, after_ms: delay_ms },
    ];
    (rest.enter(Phase::Waiting { iteration, attempt: next, until: at.plus(delay_ms) }), effects)
}

/// The part of the driver that watched the agent failed. What the agent did meanwhile is not known.
pub(super) fn faulted(rest: Rest, iteration: &Iteration, (attempt, what): (u32, String), at: Millis) -> Step {
    let ended = Ended::faulted(&what);
    let fact = unseen_fact(iteration.key(attempt), (IterationStatus::Failed, what));
    let (state, effects) = next::conclude(rest, iteration, (IterationStatus::Failed, at), ended);
    (state, core::iter::once(fact).chain(effects).collect())
}

/// Goes on as before, with one timer started or cancelled.
fn with_timer(rest: Rest, iteration: Iteration, attempt: u32, effect: Effect) -> Step {
    (rest.enter(Phase::Working { iteration, attempt }), vec![effect])
}

fn timed_out(rest: Rest, iteration: Iteration, attempt: u32, timer: Timer) -> Step {
    let why = match timer {
        Timer::Iteration { .. } => StopWhy::IterationTooLong,
        Timer::Silence { .. } => StopWhy::TooSilent,
        Timer::AfterResult { .. } => StopWhy::StayedAfterResult,
        Timer::Repeating { .. } => StopWhy::OnlyRepeats,
        Timer::Handshake { .. } => StopWhy::NoHandshake,
        Timer::Run => StopWhy::OverBudget { what: rest.out_of_time() },
        Timer::Retry { .. } | Timer::Limit { .. } => return rest.stay(Phase::Working { iteration, attempt }),
    };
    stop(rest, iteration, attempt, why)
}

/// Asks the agent to stop.
pub(super) fn stop(rest: Rest, iteration: Iteration, attempt: u32, why: StopWhy) -> Step {
    let key = iteration.key(attempt);
    let reason = stop_reason(&why).to_string();
    let effects = vec![record(Fact::StopRequested { reason }), Effect::StopAgent { key }];
    let stopping = Stopping::Agent { why };
    (rest.enter(Phase::Stopping { iteration, attempt, stopping }), effects)
}

fn stop_reason(why: &StopWhy) -> &str {
    match why {
        StopWhy::IterationTooLong => "the iteration took too long",
        StopWhy::TooSilent => "the agent was silent for too long",
        StopWhy::StayedAfterResult => "the agent stayed alive after its final record",
        StopWhy::OnlyRepeats => "the agent only repeated failed requests for too long",
        StopWhy::NoHandshake => "the agent opened no session in time",
        StopWhy::Asked { halt } => halt.reason(),
        StopWhy::OverBudget { what } | StopWhy::Broken { what } => what,
    }
}

/// What became of what the agent claimed.
#[derive(Clone, Copy)]
pub(super) enum Standing {
    /// It goes on to the checks, or is all the proof there is.
    Accepted,
    /// No claim to speak of.
    Open,
    Contradicted,
    /// The same message sends the work back.
    SentBack,
    AttemptFailed,
    Stopped,
}

/// Keeps what the agent claimed, and why that counts or does not.
pub(super) fn claim_fact(key: AttemptKey, report: &AttemptReport, standing: Standing) -> Effect {
    let (claimed, mut why) = match &report.reading.claim {
        Claim::Made { line, .. } => (true, format!("asserted on line {line} of the final message")),
        Claim::None { why } => (false, why.to_string()),
    };
    let objection = match standing {
        Standing::Accepted | Standing::Open => None,
        Standing::Contradicted => Some("but the same message says that work is open"),
        Standing::SentBack => Some("but the same message sends the work back"),
        Standing::AttemptFailed => Some("but the attempt failed"),
        Standing::Stopped => Some("but the attempt was stopped"),
    };
    let accepted = claimed && objection.is_none();
    if let (true, Some(objection)) = (claimed, objection) {
        why = format!("{why}, {objection}");
    }
    record(Fact::Claim { iteration: key.iteration, claim: ClaimFact { claimed, accepted, why } })
}

/// Keeps how an attempt went, and says so where it did not resume the session that it should.
pub(super) fn attempt_facts(
    iteration: &Iteration,
    (attempt, report): (u32, &AttemptReport),
    end: (IterationStatus, Option<String>),
) -> Vec<Effect> {
    let key = iteration.key(attempt);
    let mut facts = vec![attempt_fact(key, report, end)];
    if let (Some(asked), Some(found)) = (&iteration.session, &report.session)
        && asked.id != *found
    {
        let reason = format!("the agent did not resume its session {} but began {found}", asked.id);
        facts.push(record(Fact::SessionFresh { iteration: key.iteration, attempt, reason }));
    }
    facts
}

fn attempt_fact(
    key: AttemptKey,
    report: &AttemptReport,
    (status, failure): (IterationStatus, Option<String>),
) -> Effect {
    let result = AttemptResult {
        status,
        ending: report.ending.clone(),
        failure,
        session: report.session.clone(),
        model: report.model.clone(),
        messages: report.messages,
        spend: report.spend,
        final_text: tail_of(&report.reading.final_text, FINAL_TEXT_BYTES).to_string(),
        stderr_tail: report.stderr_tail.clone(),
        leftovers: report.leftovers.clone(),
        unknown_records: report.unknown_records,
    };
    record(Fact::AttemptEnded { iteration: key.iteration, attempt: key.attempt, result })
}

/// Keeps an attempt whose end nobody saw. Nothing is made up from what it may have printed.
pub(super) fn unseen_fact(key: AttemptKey, (status, why): (IterationStatus, String)) -> Effect {
    let result = AttemptResult {
        status,
        ending: Ending::Unseen,
        failure: Some(why),
        session: None,
        model: None,
        messages: None,
        spend: Spend::default(),
        final_text: String::new(),
        stderr_tail: String::new(),
        leftovers: Leftovers::default(),
        unknown_records: 0,
    };
    record(Fact::AttemptEnded { iteration: key.iteration, attempt: key.attempt, result })
}

/// How much of the agent's last message the journal keeps; the whole of it is in the raw log.
const FINAL_TEXT_BYTES: usize = 4_096;
