//! While the agent is alive: what its end is worth, and when it must be stopped.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::rate_limited::{self, RefusedAttempt};
use super::transitions::{self, IterationResult, record_fact};
use super::{LoopContext, StepResult, is_late_event};
use crate::attempt::{AttemptAssessment, AttemptEnding, AttemptReport, LeftoverProcesses, ModelSpend, RetryAdvice};
use crate::backoff::retry_delay_ms;
use crate::claim::Claim;
use crate::control_command::StopRequest;
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, LoopTimer, UnixMillis};
use crate::fact::{AttemptResult, ClaimFact, Fact, IterationStatus};
use crate::loop_state::{IterationState, LoopPhase, StopReason, StopTarget};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::{ProofRequirement, RejectTagUse};
use crate::prompt::RejectionFeedback;
use crate::text::text_tail;

pub(super) fn on_event(context: LoopContext, iteration: IterationState, attempt: u32, event: Event) -> StepResult {
    let Event { at, random: dice, kind, .. } = event;
    let key = iteration.attempt_key(attempt);
    if is_late_event(&kind, key) {
        return context.stay_in(LoopPhase::Working { iteration, attempt });
    }
    match kind {
        EventKind::AttemptEnded { report, .. } => {
            let judgement = report.assess();
            handle_ended_attempt(
                context,
                iteration,
                EndedAttempt { number: attempt, report, assessment: judgement },
                (at, dice),
            )
        }
        EventKind::ResultSeen { .. } => {
            let after_ms = context.policy.timeouts.after_result_ms;
            start_timer(context, iteration, attempt, LoopTimer::AfterResult { key }, after_ms)
        }
        EventKind::SpokeAgain { .. } => cancel_timer(context, iteration, attempt, LoopTimer::AfterResult { key }),
        // An agent that repeats requests has so long to get on.
        EventKind::Repeating { .. } => {
            let after_ms = context.policy.timeouts.repeating_ms;
            start_timer(context, iteration, attempt, LoopTimer::Repeating { key }, after_ms)
        }
        EventKind::GotOn { .. } => cancel_timer(context, iteration, attempt, LoopTimer::Repeating { key }),
        EventKind::HandshakeBegan { .. } => {
            let after_ms = context.policy.timeouts.handshake_ms;
            start_timer(context, iteration, attempt, LoopTimer::Handshake { key }, after_ms)
        }
        EventKind::HandshakeDone { .. } => cancel_timer(context, iteration, attempt, LoopTimer::Handshake { key }),
        EventKind::Overspent { spend, .. } => match context.exhaustion_reason_with(spend) {
            Some(what) => stop_agent(context, iteration, attempt, StopReason::OverBudget { what }),
            None => context.stay_in(LoopPhase::Working { iteration, attempt }),
        },
        EventKind::TimerFired { timer } => handle_timer(context, iteration, attempt, timer),
        EventKind::Interrupted { signal } => {
            stop_agent(context, iteration, attempt, StopReason::Asked { halt: StopRequest::Signal(signal) })
        }
        EventKind::Broken { what } => stop_agent(context, iteration, attempt, StopReason::Broken { what }),
        EventKind::Faulted { what, .. } => finish_after_fault(context, &iteration, (attempt, what), at),
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::Prepared { .. }
        | EventKind::Verified { .. } => context.stay_in(LoopPhase::Working { iteration, attempt }),
    }
}

/// An attempt that is over, with its judgement.
pub(super) struct EndedAttempt {
    pub(super) number: u32,
    pub(super) report: Box<AttemptReport>,
    pub(super) assessment: AttemptAssessment,
}

/// Decides what an ended attempt leads to.
pub(super) fn handle_ended_attempt(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: EndedAttempt,
    when: (UnixMillis, u32),
) -> StepResult {
    context.spent = context.spent.add_known(attempt.report.spend);
    let iteration = iteration.with_changes_of(&attempt.report);
    let EndedAttempt { number, report, assessment: judgement } = attempt;
    let problem = match judgement {
        AttemptAssessment::Succeeded => {
            return handle_good_attempt(context, iteration, (number, report), when);
        }
        AttemptAssessment::Failed { reason: why, retry: hope } => AttemptProblem::Failed { reason: why, retry: hope },
        AttemptAssessment::RateLimited { reason: why, reset_at } => {
            AttemptProblem::RateLimited { reason: why, reset_at }
        }
        AttemptAssessment::SessionEnded { reason: why } if iteration.session.is_some() => {
            AttemptProblem::SessionEnded { reason: why }
        }
        AttemptAssessment::SessionEnded { reason: why } => {
            AttemptProblem::Failed { reason: why, retry: RetryAdvice::Retry }
        }
    };
    let key = iteration.attempt_key(number);
    let status = (IterationStatus::Failed, Some(problem.failure_reason().to_string()));
    let mut facts = record_attempt(&iteration, (number, &report), status);
    facts.push(record_claim(key, &report, ClaimDisposition::AttemptFailed));
    let (state, effects) = match problem {
        AttemptProblem::Failed { reason: why, retry: hope } => {
            let session = iteration.session.map(|session| session.after_attempt(&report));
            let iteration = IterationState { session, ..iteration };
            let failure = AttemptFailure {
                attempt: number,
                reason: why,
                retry: hope,
                has_failed_at_startup: report.has_ended_at_startup(),
            };
            handle_failure(context, iteration, failure, when)
        }
        AttemptProblem::RateLimited { reason: why, reset_at } => {
            context.remember_session(&iteration, &report);
            rate_limited::handle_refusal(
                context,
                iteration,
                RefusedAttempt { attempt: number, reason: why, reset_at },
                when,
            )
        }
        AttemptProblem::SessionEnded { reason: why } => {
            restart_in_fresh_session(context, iteration, (number, why), when.0)
        }
    };
    (state, facts.into_iter().chain(effects).collect())
}

/// What an attempt that was not good leads to.
enum AttemptProblem {
    Failed { reason: String, retry: RetryAdvice },
    RateLimited { reason: String, reset_at: Option<UnixMillis> },
    SessionEnded { reason: String },
}

impl AttemptProblem {
    fn failure_reason(&self) -> &str {
        match self {
            Self::Failed { reason: why, .. }
            | Self::RateLimited { reason: why, .. }
            | Self::SessionEnded { reason: why } => why,
        }
    }
}

/// The session cannot go on, so the same work begins at once in a new one. That is no failure of the agent.
fn restart_in_fresh_session(
    mut context: LoopContext,
    iteration: IterationState,
    (attempt, why): (u32, String),
    at: UnixMillis,
) -> StepResult {
    context.session = None;
    let next = attempt + 1;
    let reason = format!("the session of the agent cannot go on: {why}");
    let fact = record_fact(Fact::SessionFresh { iteration: iteration.number, attempt: next, reason });
    let iteration = IterationState {
        plan: iteration.plan.into_whole(),
        session: None,
        excused_attempts: iteration.excused_attempts + 1,
        ..iteration
    };
    let (state, effects) = transitions::start_attempt(context, iteration, next, at);
    (state, core::iter::once(fact).chain(effects).collect())
}

fn handle_good_attempt(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: (u32, Box<AttemptReport>),
    when: (UnixMillis, u32),
) -> StepResult {
    let (number, report) = attempt;
    let key = iteration.attempt_key(number);
    let mut effects = record_attempt(&iteration, (number, &report), (IterationStatus::Finished, None));
    context.remember_session(&iteration, &report);
    context.limits.in_a_row = 0;
    context.unpriced += u32::from(report.spend.cost_micros.is_none());
    let rejects = report.reading.reject.as_deref().filter(|_| context.policy.judging == RejectTagUse::Yes);
    let halts = match (&report.reading.blocked, rejects) {
        (Some(reason), _) => Some(RunEnd::new(Outcome::Blocked, format!("the agent is blocked: {reason}"))),
        (None, Some(reason)) => Some(RunEnd::work_sent_back(reason)),
        (None, None) => None,
    };
    let (state, more) = match (halts, &report.reading.claim) {
        (Some(ended), _) => {
            transitions::finish_with_iteration(context, &iteration, (IterationStatus::Finished, when.0), ended)
        }
        (None, Claim::None { .. }) => {
            effects.push(record_claim(key, &report, ClaimDisposition::NoClaim));
            transitions::continue_run(context, &iteration, IterationResult::NoClaim, when)
        }
        (None, Claim::Made { contradiction: Some(open), .. }) => {
            effects.push(record_claim(key, &report, ClaimDisposition::Contradicted));
            let reason = format!("the message that claims completion says itself: {}", open.sentence);
            let feedback = RejectionFeedback { reason, tail: String::new() };
            transitions::continue_run(context, &iteration, IterationResult::Rejected(feedback), when)
        }
        (None, Claim::Made { .. }) if context.policy.duty.is_violated_by(&report.reading.final_text) => {
            effects.push(record_claim(key, &report, ClaimDisposition::SentBack));
            let reason = "the message that approves the work also sends it back: decide".to_string();
            let feedback = RejectionFeedback { reason, tail: String::new() };
            transitions::continue_run(context, &iteration, IterationResult::Rejected(feedback), when)
        }
        (None, Claim::Made { contradiction: None, .. }) => {
            effects.push(record_claim(key, &report, ClaimDisposition::Accepted));
            handle_claim(context, iteration, number, when.0)
        }
    };
    effects.extend(more);
    (state, effects)
}

fn handle_claim(context: LoopContext, iteration: IterationState, attempt: u32, at: UnixMillis) -> StepResult {
    match context.policy.proof {
        ProofRequirement::Checks => transitions::start_checks(context, iteration, attempt),
        ProofRequirement::ClaimAlone => {
            let reason = "claimed by the agent; nothing was verified".to_string();
            let ended = RunEnd::new(Outcome::Completed, reason);
            transitions::finish_with_iteration(context, &iteration, (IterationStatus::Finished, at), ended)
        }
    }
}

/// Why an attempt failed, and whether the agent had begun to work at all.
struct AttemptFailure {
    attempt: u32,
    reason: String,
    retry: RetryAdvice,
    has_failed_at_startup: bool,
}

fn handle_failure(
    context: LoopContext,
    iteration: IterationState,
    failure: AttemptFailure,
    when: (UnixMillis, u32),
) -> StepResult {
    let AttemptFailure { attempt, reason: why, retry: hope, has_failed_at_startup: at_start } = failure;
    let (at, _) = when;
    let failures = iteration.failure_count(attempt);
    if hope == RetryAdvice::Retry && failures <= context.policy.max_retries {
        return schedule_retry(context, iteration, (attempt, why), when);
    }
    let (context, iteration) = match rate_limited::give_up_on_fallback(context, iteration, (attempt, &why), at) {
        Ok(step) => return step,
        Err(back) => *back,
    };
    let reason = match hope {
        RetryAdvice::Retry if failures > 1 => {
            let how = if at_start { "fails at start," } else { "failed" };
            format!("the agent {how} {failures} times in a row: {why}")
        }
        RetryAdvice::Retry | RetryAdvice::None => why,
    };
    transitions::finish_with_iteration(
        context,
        &iteration,
        (IterationStatus::Failed, at),
        RunEnd::new(Outcome::Failed, reason),
    )
}

/// Waits before the next attempt with the same prompt, if there may be one.
fn schedule_retry(
    context: LoopContext,
    iteration: IterationState,
    failure: (u32, String),
    (at, dice): (UnixMillis, u32),
) -> StepResult {
    if let Some(what) = context.exhaustion_reason() {
        return transitions::finish_over_budget(context, &iteration, what, at);
    }
    let (attempt, reason) = failure;
    let delay_ms = retry_delay_ms(iteration.failure_count(attempt), dice);
    let next = attempt + 1;
    let key = iteration.attempt_key(next);
    let effects = vec![
        record_fact(Fact::RetryScheduled { iteration: key.iteration, attempt: next, delay_ms, reason }),
        Effect::StartTimer { timer: LoopTimer::Retry { key }, after_ms: delay_ms },
    ];
    (context.enter_phase(LoopPhase::Waiting { iteration, attempt: next, until: at.add_millis(delay_ms) }), effects)
}

/// The part of the driver that watched the agent failed. What the agent did meanwhile is not known.
pub(super) fn finish_after_fault(
    context: LoopContext,
    iteration: &IterationState,
    (attempt, what): (u32, String),
    at: UnixMillis,
) -> StepResult {
    let ended = RunEnd::internal_fault(&what);
    let fact = unseen_attempt_fact(iteration.attempt_key(attempt), (IterationStatus::Failed, what));
    let (state, effects) = transitions::finish_with_iteration(context, iteration, (IterationStatus::Failed, at), ended);
    (state, core::iter::once(fact).chain(effects).collect())
}

fn start_timer(
    context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    timer: LoopTimer,
    after_ms: u64,
) -> StepResult {
    (context.enter_phase(LoopPhase::Working { iteration, attempt }), vec![Effect::StartTimer { timer, after_ms }])
}

fn cancel_timer(context: LoopContext, iteration: IterationState, attempt: u32, timer: LoopTimer) -> StepResult {
    (context.enter_phase(LoopPhase::Working { iteration, attempt }), vec![Effect::CancelTimer { timer }])
}

fn handle_timer(context: LoopContext, iteration: IterationState, attempt: u32, timer: LoopTimer) -> StepResult {
    let why = match timer {
        LoopTimer::Iteration { .. } => StopReason::IterationTooLong,
        LoopTimer::Silence { .. } => StopReason::TooSilent,
        LoopTimer::AfterResult { .. } => StopReason::StayedAfterResult,
        LoopTimer::Repeating { .. } => StopReason::OnlyRepeats,
        LoopTimer::Handshake { .. } => StopReason::NoHandshake,
        LoopTimer::Run => StopReason::OverBudget { what: context.describe_time_limit() },
        LoopTimer::Retry { .. } | LoopTimer::Limit { .. } => {
            return context.stay_in(LoopPhase::Working { iteration, attempt });
        }
    };
    stop_agent(context, iteration, attempt, why)
}

/// Asks the agent to stop.
pub(super) fn stop_agent(
    context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    cause: StopReason,
) -> StepResult {
    let key = iteration.attempt_key(attempt);
    let reason = stop_reason(&cause).to_string();
    let effects = vec![record_fact(Fact::StopRequested { reason }), Effect::StopAgent { key }];
    let stopping = StopTarget::Agent { why: cause };
    (context.enter_phase(LoopPhase::Stopping { iteration, attempt, stopping }), effects)
}

fn stop_reason(why: &StopReason) -> &str {
    match why {
        StopReason::IterationTooLong => "the iteration took too long",
        StopReason::TooSilent => "the agent was silent for too long",
        StopReason::StayedAfterResult => "the agent stayed alive after its final record",
        StopReason::OnlyRepeats => "the agent only repeated failed requests for too long",
        StopReason::NoHandshake => "the agent opened no session in time",
        StopReason::Asked { halt } => halt.journal_reason(),
        StopReason::OverBudget { what } | StopReason::Broken { what } => what,
    }
}

/// What became of what the agent claimed.
#[derive(Clone, Copy)]
pub(super) enum ClaimDisposition {
    /// It goes on to the checks, or is all the proof there is.
    Accepted,
    /// No claim to speak of.
    NoClaim,
    Contradicted,
    /// The same message sends the work back.
    SentBack,
    AttemptFailed,
    Stopped,
}

/// Keeps what the agent claimed, and why that counts or does not.
pub(super) fn record_claim(key: AttemptKey, report: &AttemptReport, disposition: ClaimDisposition) -> Effect {
    let (claimed, mut why) = match &report.reading.claim {
        Claim::Made { line, .. } => (true, format!("asserted on line {line} of the final message")),
        Claim::None { why } => (false, why.to_string()),
    };
    let objection = match disposition {
        ClaimDisposition::Accepted | ClaimDisposition::NoClaim => None,
        ClaimDisposition::Contradicted => Some("but the same message says that work is open"),
        ClaimDisposition::SentBack => Some("but the same message sends the work back"),
        ClaimDisposition::AttemptFailed => Some("but the attempt failed"),
        ClaimDisposition::Stopped => Some("but the attempt was stopped"),
    };
    let accepted = claimed && objection.is_none();
    if let (true, Some(objection)) = (claimed, objection) {
        why = format!("{why}, {objection}");
    }
    record_fact(Fact::Claim { iteration: key.iteration, claim: ClaimFact { claimed, accepted, why } })
}

/// Keeps how an attempt went, and says so where it did not resume the session that it should.
pub(super) fn record_attempt(
    iteration: &IterationState,
    (attempt, report): (u32, &AttemptReport),
    end: (IterationStatus, Option<String>),
) -> Vec<Effect> {
    let key = iteration.attempt_key(attempt);
    let mut facts = vec![attempt_ended_fact(key, report, end)];
    if let (Some(asked), Some(found)) = (&iteration.session, &report.session)
        && asked.id != *found
    {
        let reason = format!("the agent did not resume its session {} but began {found}", asked.id);
        facts.push(record_fact(Fact::SessionFresh { iteration: key.iteration, attempt, reason }));
    }
    facts
}

fn attempt_ended_fact(
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
        final_text: text_tail(&report.reading.final_text, MAX_FINAL_TEXT_BYTES).to_string(),
        stderr_tail: report.stderr_tail.clone(),
        leftovers: report.leftovers.clone(),
        unknown_records: report.unknown_records,
    };
    record_fact(Fact::AttemptEnded { iteration: key.iteration, attempt: key.attempt, result })
}

/// Keeps an attempt whose end nobody saw. Nothing is made up from what it may have printed.
pub(super) fn unseen_attempt_fact(key: AttemptKey, (status, why): (IterationStatus, String)) -> Effect {
    let result = AttemptResult {
        status,
        ending: AttemptEnding::Unseen,
        failure: Some(why),
        session: None,
        model: None,
        messages: None,
        spend: ModelSpend::default(),
        final_text: String::new(),
        stderr_tail: String::new(),
        leftovers: LeftoverProcesses::default(),
        unknown_records: 0,
    };
    record_fact(Fact::AttemptEnded { iteration: key.iteration, attempt: key.attempt, result })
}

/// How much of the agent's last message the journal keeps; the whole of it is in the raw log.
const MAX_FINAL_TEXT_BYTES: usize = 4_096;
