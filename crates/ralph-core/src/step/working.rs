//! The phase in which the agent runs: how an ended attempt is handled, and when the agent is stopped.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::rate_limited::{self, NoAgentLeft, RefusedAttempt};
use super::transitions::{self, AcceptedClaim, IterationResult, record_fact};
use super::{LoopContext, StepResult, agent_report, agent_wait, is_late_event};
use crate::attempt::{AttemptAssessment, AttemptEnding, AttemptReport, LeftoverProcesses, ModelSpend, RetryAdvice};
use crate::backoff::retry_delay_ms;
use crate::claim::{Claim, ClaimSource};
use crate::control_command::StopRequest;
use crate::effect::{Effect, ReceiptSnapshot};
use crate::event::{AgentActivity, AttemptKey, EventKind, LoopTimer, RunControl, UnixMillis, WorkEvent};
use crate::fact::{AttemptResult, ClaimFact, Fact, IterationStatus};
use crate::loop_state::{IterationState, LoopPhase, StopReason, StopTarget};
use crate::outcome::{AGENT_BLOCKED_PREFIX, Outcome, RunEnd};
use crate::policy::{ClaimVerification, ContradictionRule, Policy, RejectTagUse};
use crate::prompt::RejectionFeedback;
use crate::receipt::Proof;
use crate::text::text_tail;

pub(super) fn on_event(context: LoopContext, iteration: IterationState, attempt: u32, event: EventKind) -> StepResult {
    let key = iteration.attempt_key(attempt);
    if is_late_event(&event, key) {
        return context.stay_in(LoopPhase::Working { iteration, attempt });
    }
    match event {
        EventKind::Work(WorkEvent::AttemptEnded { report, .. }) => {
            let assessment = report.assess();
            handle_ended_attempt(context, iteration, EndedAttempt { number: attempt, report, assessment })
        }
        EventKind::Work(WorkEvent::Faulted { what, .. }) => finish_after_fault(context, &iteration, attempt, what),
        EventKind::Agent { activity, .. } => handle_activity(context, iteration, attempt, activity),
        EventKind::TimerFired { timer, quiet_ms } => handle_timer(context, iteration, attempt, timer, quiet_ms),
        EventKind::Control(RunControl::Interrupted { signal }) => {
            stop_agent(context, iteration, attempt, StopReason::Asked { stop_request: StopRequest::Signal(signal) })
        }
        EventKind::Control(RunControl::Broken { what }) => {
            stop_agent(context, iteration, attempt, StopReason::Broken { what })
        }
        EventKind::Control(RunControl::CommandReceived { .. })
        | EventKind::Lifecycle(_)
        | EventKind::Work(WorkEvent::Prepared { .. } | WorkEvent::Verified { .. }) => {
            context.stay_in(LoopPhase::Working { iteration, attempt })
        }
    }
}

/// How often an agent may retry a login that the provider rejects. Some agents retry a wrong key for minutes.
const MAX_REJECTED_LOGINS: u32 = 3;
/// How long such an agent may take to end by itself, because its own last message says more than its retries.
const REJECTED_LOGIN_GRACE_MS: u64 = 10_000;

/// Starts or cancels the timer that watches this activity, or stops an agent that has reached a budget.
fn handle_activity(
    context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    activity: AgentActivity,
) -> StepResult {
    let key = iteration.attempt_key(attempt);
    let timeouts = context.policy.timeouts;
    match activity {
        AgentActivity::ResultSeen => {
            start_timer(context, iteration, attempt, LoopTimer::AfterResult { key }, timeouts.after_result_ms)
        }
        AgentActivity::OutputResumed => cancel_timer(context, iteration, attempt, LoopTimer::AfterResult { key }),
        AgentActivity::RepeatingStarted => {
            start_timer(context, iteration, attempt, LoopTimer::Repeating { key }, timeouts.repeating_ms)
        }
        AgentActivity::RepeatingEnded => cancel_timer(context, iteration, attempt, LoopTimer::Repeating { key }),
        AgentActivity::HandshakeStarted => {
            start_timer(context, iteration, attempt, LoopTimer::Handshake { key }, timeouts.handshake_ms)
        }
        AgentActivity::HandshakeDone => cancel_timer(context, iteration, attempt, LoopTimer::Handshake { key }),
        AgentActivity::LoginRejected { times: MAX_REJECTED_LOGINS } => {
            start_timer(context, iteration, attempt, LoopTimer::Login { key }, REJECTED_LOGIN_GRACE_MS)
        }
        AgentActivity::LoginRejected { .. } => context.stay_in(LoopPhase::Working { iteration, attempt }),
        AgentActivity::LoginAccepted => cancel_timer(context, iteration, attempt, LoopTimer::Login { key }),
        AgentActivity::Overspent { spend } => match context.exhaustion_reason_with(spend) {
            Some(what) => stop_agent(context, iteration, attempt, StopReason::OverBudget { what }),
            None => context.stay_in(LoopPhase::Working { iteration, attempt }),
        },
    }
}

/// An attempt that has ended.
pub(super) struct EndedAttempt {
    pub(super) number: u32,
    pub(super) report: Box<AttemptReport>,
    pub(super) assessment: AttemptAssessment,
}

/// Records an ended attempt and starts what follows: checks, a retry, a wait, the next iteration or the end of the run.
pub(super) fn handle_ended_attempt(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: EndedAttempt,
) -> StepResult {
    context.spent = context.spent.add_known(attempt.report.spend);
    if !attempt.report.denied_actions.is_empty() {
        context.denied_actions.clone_from(&attempt.report.denied_actions);
    }
    let iteration = iteration.with_changes_of(&attempt.report);
    let EndedAttempt { number, report, assessment } = attempt;
    let report = agent_report::add_tool_signal(&iteration, number, report);
    let problem = match assessment {
        AttemptAssessment::Succeeded => return handle_good_attempt(context, iteration, number, &report),
        AttemptAssessment::Failed { reason, retry } => AttemptProblem::Failed { reason, retry },
        AttemptAssessment::RateLimited { reason, reset_at } => AttemptProblem::RateLimited { reason, reset_at },
        AttemptAssessment::SessionEnded { reason } if iteration.session.is_some() => {
            AttemptProblem::SessionEnded { reason }
        }
        AttemptAssessment::SessionEnded { reason } => AttemptProblem::Failed { reason, retry: RetryAdvice::Retry },
    };
    let key = iteration.attempt_key(number);
    let failure = Some(problem.failure_reason().to_string());
    let mut facts = record_attempt(&iteration, number, &report, IterationStatus::Failed, failure);
    facts.push(record_claim(key, &report, ClaimDisposition::AttemptFailed));
    let (state, effects) = match problem {
        AttemptProblem::Failed { reason, retry } => {
            let session = iteration.session.map(|session| session.after_attempt(&report));
            let iteration = IterationState { session, ..iteration };
            let failure =
                AttemptFailure { attempt: number, reason, retry, has_failed_at_startup: report.has_ended_at_startup() };
            handle_failure(context, iteration, failure)
        }
        AttemptProblem::RateLimited { reason, reset_at } => {
            context.remember_session(&iteration, &report);
            rate_limited::handle_refusal(context, iteration, RefusedAttempt { attempt: number, reason, reset_at })
        }
        AttemptProblem::SessionEnded { reason } => restart_in_fresh_session(context, iteration, number, &reason),
    };
    (state, facts.into_iter().chain(effects).collect())
}

/// Why an attempt did not succeed.
enum AttemptProblem {
    Failed { reason: String, retry: RetryAdvice },
    RateLimited { reason: String, reset_at: Option<UnixMillis> },
    SessionEnded { reason: String },
}

impl AttemptProblem {
    fn failure_reason(&self) -> &str {
        match self {
            Self::Failed { reason, .. } | Self::RateLimited { reason, .. } | Self::SessionEnded { reason } => reason,
        }
    }
}

/// Repeats the attempt in a fresh session because the old one cannot be resumed. This does not count as a failure.
fn restart_in_fresh_session(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    cause: &str,
) -> StepResult {
    context.session = None;
    let next = attempt + 1;
    let reason = format!("the agent's session cannot be resumed: {cause}");
    let fact = record_fact(Fact::SessionFresh { iteration: iteration.number, attempt: next, reason });
    let iteration = IterationState {
        plan: iteration.plan.into_whole(),
        session: None,
        excused_attempts: iteration.excused_attempts + 1,
        ..iteration
    };
    let (state, effects) = transitions::start_attempt(context, iteration, next);
    (state, core::iter::once(fact).chain(effects).collect())
}

fn handle_good_attempt(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    report: &AttemptReport,
) -> StepResult {
    let key = iteration.attempt_key(attempt);
    let mut effects = record_attempt(&iteration, attempt, report, IterationStatus::Finished, None);
    context.remember_session(&iteration, report);
    context.limits.in_a_row = 0;
    context.unpriced += u32::from(report.spend.cost_micros.is_none());
    let rejects = report.reading.reject.as_deref().filter(|_| context.policy.judging == RejectTagUse::Yes);
    let run_end = match (&report.reading.blocked, rejects) {
        (Some(reason), _) => {
            let reason = context.append_last_rejection(format!("{AGENT_BLOCKED_PREFIX}{reason}"));
            Some(RunEnd::new(Outcome::Blocked, reason))
        }
        (None, Some(reason)) => Some(RunEnd::work_sent_back(reason)),
        (None, None) => None,
    };
    if let (None, Some(request)) = (&run_end, &report.reading.wait) {
        effects.push(record_claim(key, report, ClaimDisposition::NoClaim));
        let (state, waiting) = agent_wait::begin_wait(context, iteration, attempt, request);
        effects.extend(waiting);
        return (state, effects);
    }
    let (state, more) = match (run_end, &report.reading.claim) {
        (Some(run_end), _) => {
            transitions::finish_with_iteration(context, &iteration, IterationStatus::Finished, run_end)
        }
        (None, Claim::None { why }) => {
            effects.push(record_claim(key, report, ClaimDisposition::NoClaim));
            let feedback = RejectionFeedback::uncounted_promise(why);
            transitions::continue_run(context, &iteration, IterationResult::NoClaim(feedback))
        }
        (None, Claim::Made { contradiction: Some(open), .. }) if rejects_contradictions(&context.policy) => {
            effects.push(record_claim(key, report, ClaimDisposition::Contradicted));
            let reason = format!("the message that claims completion also says: {}", open.sentence);
            let feedback = RejectionFeedback::rejected_claim(reason, String::new());
            transitions::continue_run(context, &iteration, IterationResult::Rejected(feedback))
        }
        (None, Claim::Made { .. }) if context.policy.duty.is_violated_by(&report.reading.final_text) => {
            effects.push(record_claim(key, report, ClaimDisposition::SentBack));
            let reason = "the message that approves the work also rejects it: do one or the other".to_string();
            let feedback = RejectionFeedback::rejected_claim(reason, String::new());
            transitions::continue_run(context, &iteration, IterationResult::Rejected(feedback))
        }
        (None, Claim::Made { .. }) => {
            effects.push(record_claim(key, report, ClaimDisposition::Accepted));
            handle_claim(context, iteration, attempt)
        }
    };
    effects.extend(more);
    (state, effects)
}

/// Returns whether a contradiction rejects the claim. Where a check can decide, it is only a warning.
fn rejects_contradictions(policy: &Policy) -> bool {
    match (policy.proof, policy.contradictions) {
        (ClaimVerification::ClaimAlone, _) | (ClaimVerification::Checks, ContradictionRule::Reject) => true,
        (ClaimVerification::Checks, ContradictionRule::Warn) => false,
    }
}

fn handle_claim(context: LoopContext, iteration: IterationState, attempt: u32) -> StepResult {
    match context.policy.proof {
        ClaimVerification::Checks => transitions::start_checks(context, iteration, attempt),
        ClaimVerification::ClaimAlone => {
            let reason = "claimed by the agent; nothing was verified".to_string();
            let claim = AcceptedClaim { reason, proof: Proof::by_claim_alone(), snapshot: ReceiptSnapshot::AtEnd };
            transitions::complete_run(context, &iteration, claim)
        }
    }
}

/// Why an attempt failed, and whether it failed before the agent did any work.
struct AttemptFailure {
    attempt: u32,
    reason: String,
    retry: RetryAdvice,
    has_failed_at_startup: bool,
}

fn handle_failure(context: LoopContext, iteration: IterationState, failure: AttemptFailure) -> StepResult {
    let AttemptFailure { attempt, reason, retry, has_failed_at_startup } = failure;
    let failures = iteration.failure_count(attempt);
    if retry == RetryAdvice::Retry && failures <= context.policy.max_retries {
        return schedule_retry(context, iteration, attempt, reason);
    }
    let NoAgentLeft { context, iteration } =
        match rate_limited::give_up_on_fallback(context, iteration, attempt, &reason) {
            Ok(step) => return step,
            Err(no_agent_left) => *no_agent_left,
        };
    let reason = match retry {
        RetryAdvice::Retry if failures > 1 => {
            let when = if has_failed_at_startup { " at startup" } else { "" };
            format!("{REPEATED_FAILURE_START}{when} {failures}{REPEATED_FAILURE_COUNT}{reason}")
        }
        RetryAdvice::Retry | RetryAdvice::None => reason,
    };
    let run_end = RunEnd::new(Outcome::Failed, reason);
    transitions::finish_with_iteration(context, &iteration, IterationStatus::Failed, run_end)
}

/// The parts of the reason of a run whose attempts failed too often.
const REPEATED_FAILURE_START: &str = "the agent failed";
const REPEATED_FAILURE_COUNT: &str = " times in a row: ";

/// Returns whether a run failed because its attempts failed more often than they may be retried.
pub(crate) fn is_repeated_failure(reason: &str) -> bool {
    let count = reason.strip_prefix(REPEATED_FAILURE_START).and_then(|rest| rest.split_once(REPEATED_FAILURE_COUNT));
    count.is_some_and(|(count, _)| count.ends_with(|last: char| last.is_ascii_digit()))
}

/// Schedules another attempt with the same prompt, unless a budget is exhausted.
fn schedule_retry(context: LoopContext, iteration: IterationState, attempt: u32, reason: String) -> StepResult {
    if let Some(reason) = context.exhaustion_reason() {
        return transitions::finish_over_budget(context, &iteration, reason);
    }
    let delay_ms = retry_delay_ms(iteration.failure_count(attempt), context.event_context.random);
    let next = attempt + 1;
    let key = iteration.attempt_key(next);
    let effects = vec![
        record_fact(Fact::RetryScheduled { iteration: key.iteration, attempt: next, delay_ms, reason }),
        Effect::StartTimer { timer: LoopTimer::Retry { key }, after_ms: delay_ms },
    ];
    let until = context.now().add_millis(delay_ms);
    (context.enter_phase(LoopPhase::Waiting { iteration, attempt: next, until }), effects)
}

/// Ends the run because the part of the driver that supervised the agent failed. The outcome of the attempt is unknown.
pub(super) fn finish_after_fault(
    context: LoopContext,
    iteration: &IterationState,
    attempt: u32,
    fault: String,
) -> StepResult {
    let run_end = RunEnd::internal_fault(&fault);
    let fact = unseen_attempt_fact(iteration.attempt_key(attempt), IterationStatus::Failed, fault);
    let (state, effects) = transitions::finish_with_iteration(context, iteration, IterationStatus::Failed, run_end);
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

fn handle_timer(
    context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    timer: LoopTimer,
    quiet_ms: Option<u64>,
) -> StepResult {
    if let Some(after_ms) = context.policy.timeouts.timer_extension(timer, quiet_ms) {
        return start_timer(context, iteration, attempt, timer, after_ms);
    }
    let reason = match timer {
        LoopTimer::Iteration { .. } => StopReason::IterationTooLong,
        LoopTimer::Silence { .. } => StopReason::TooSilent,
        LoopTimer::AfterResult { .. } => StopReason::StayedAfterResult,
        LoopTimer::Repeating { .. } => StopReason::OnlyRepeats,
        LoopTimer::Handshake { .. } => StopReason::NoHandshake,
        LoopTimer::Login { .. } => StopReason::LoginRejected,
        LoopTimer::Run => StopReason::OverBudget { what: context.describe_time_limit() },
        LoopTimer::Retry { .. } | LoopTimer::Limit { .. } => {
            return context.stay_in(LoopPhase::Working { iteration, attempt });
        }
    };
    stop_agent(context, iteration, attempt, reason)
}

/// Stops the agent gracefully.
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

fn stop_reason(reason: &StopReason) -> &str {
    match reason {
        StopReason::IterationTooLong => "the iteration took too long",
        StopReason::TooSilent => "the agent was silent for too long",
        StopReason::StayedAfterResult => "the agent did not exit after its final record",
        StopReason::OnlyRepeats => "the agent only retried failed requests for too long",
        StopReason::NoHandshake => "the agent did not open a session in time",
        StopReason::LoginRejected => "the agent's login was rejected several times",
        StopReason::Asked { stop_request } => stop_request.journal_reason(),
        StopReason::OverBudget { what } | StopReason::Broken { what } => what,
    }
}

/// How ralph treats the claim of an attempt.
#[derive(Clone, Copy)]
pub(super) enum ClaimDisposition {
    /// The checks run, or the claim is accepted if the run has no checks.
    Accepted,
    /// The agent made no claim.
    NoClaim,
    Contradicted,
    /// The same message rejects the work.
    SentBack,
    AttemptFailed,
    Stopped,
}

/// Records the claim of an attempt, and why it is accepted or not.
pub(super) fn record_claim(key: AttemptKey, report: &AttemptReport, disposition: ClaimDisposition) -> Effect {
    let (claimed, mut why, contradiction) = match &report.reading.claim {
        Claim::Made { line, source, contradiction, .. } => {
            let open = contradiction.as_ref().map(|open| open.sentence.clone());
            let why = match source {
                ClaimSource::Message => format!("asserted on line {line} of the final message"),
                ClaimSource::Tool => "asserted with the tool claim_completion, and no work followed".to_string(),
            };
            (true, why, open)
        }
        Claim::None { why } => (false, why.to_string(), None),
    };
    let objection = match disposition {
        ClaimDisposition::Accepted | ClaimDisposition::NoClaim => None,
        ClaimDisposition::Contradicted => Some("but the same message says that work is open"),
        ClaimDisposition::SentBack => Some("but the same message rejects the work"),
        ClaimDisposition::AttemptFailed => Some("but the attempt failed"),
        ClaimDisposition::Stopped => Some("but the attempt was stopped"),
    };
    let accepted = claimed && objection.is_none();
    if let (true, Some(objection)) = (claimed, objection) {
        why = format!("{why}, {objection}");
    }
    record_fact(Fact::Claim { iteration: key.iteration, claim: ClaimFact { claimed, accepted, why, contradiction } })
}

/// Records the result of an attempt, and whether it started another session than the one it should have resumed.
pub(super) fn record_attempt(
    iteration: &IterationState,
    attempt: u32,
    report: &AttemptReport,
    status: IterationStatus,
    failure: Option<String>,
) -> Vec<Effect> {
    let key = iteration.attempt_key(attempt);
    let mut facts = vec![attempt_ended_fact(key, report, status, failure)];
    if let (Some(requested), Some(actual)) = (&iteration.session, &report.session)
        && requested.id != *actual
    {
        let reason = format!("the agent did not resume session {} but started {actual}", requested.id);
        facts.push(record_fact(Fact::SessionFresh { iteration: key.iteration, attempt, reason }));
    }
    facts
}

fn attempt_ended_fact(
    key: AttemptKey,
    report: &AttemptReport,
    status: IterationStatus,
    failure: Option<String>,
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
        denied_actions: report.denied_actions.clone(),
    };
    record_fact(Fact::AttemptEnded { iteration: key.iteration, attempt: key.attempt, result })
}

/// Records an attempt whose outcome is unknown. Its output is not evaluated.
pub(super) fn unseen_attempt_fact(key: AttemptKey, status: IterationStatus, reason: String) -> Effect {
    let result = AttemptResult {
        status,
        ending: AttemptEnding::ExitNotObserved,
        failure: Some(reason),
        session: None,
        model: None,
        messages: None,
        spend: ModelSpend::default(),
        final_text: String::new(),
        stderr_tail: String::new(),
        leftovers: LeftoverProcesses::default(),
        unknown_records: 0,
        denied_actions: Vec::new(),
    };
    record_fact(Fact::AttemptEnded { iteration: key.iteration, attempt: key.attempt, result })
}

/// How much of the agent's last message the journal keeps. The raw log contains all of it.
const MAX_FINAL_TEXT_BYTES: usize = 4_096;
