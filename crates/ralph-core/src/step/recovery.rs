//! A loop is taken up again after its driver ended, whether by a crash or by a signal. The stored loop says what should
//! be in flight. Nothing of it is: what was cut short is done again, and nothing that was recorded is.
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::rate_limited::{self, RateLimitedPhase};
use super::transitions::{self, IterationResult, IterationStart, record_fact};
use super::working::unseen_attempt_fact;
use super::{LoopContext, StepResult, abandoned};
use crate::backoff::retry_delay_ms;
use crate::control_command::{ControlCommand, StopRequest};
use crate::effect::Effect;
use crate::event::{LoopTimer, UnixMillis};
use crate::fact::{Fact, IterationStatus, NextStep};
use crate::loop_state::{AgentSession, IterationState, LoopPhase, ResumePoint, StopReason, StopTarget};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::ProofRequirement;

const UNKNOWN_OUTCOME_REASON: &str = "outcome unknown: ralph ended before the agent did";

type EventTime = (UnixMillis, u32);

/// The attempt that was going on, and what changed since.
struct InterruptedAttempt {
    iteration: IterationState,
    attempt: u32,
    changed: Vec<String>,
}

/// Takes the loop up. Who was cancelled meanwhile is not; what was said meanwhile stands in the first prompt.
pub(super) fn on_recovered(
    mut context: LoopContext,
    phase: LoopPhase,
    (changed, orders): (Vec<String>, Vec<ControlCommand>),
    when: EventTime,
) -> StepResult {
    if orders.contains(&ControlCommand::Cancel) {
        return abandoned::on_abandoned(context, phase, when.0);
    }
    let is_left = !matches!(phase, LoopPhase::Ready);
    let words: Vec<String> = orders.into_iter().filter_map(ControlCommand::into_guidance).collect();
    context.wishes.guidance.extend(words.iter().cloned());
    let (state, mut effects) = resume_phase(context, phase, changed, when);
    if state.can_resume() {
        let at = usize::from(is_left);
        effects.splice(at..at, words.into_iter().map(|words| record_fact(Fact::RunGuided { words })));
    }
    (state, effects)
}

fn resume_phase(context: LoopContext, phase: LoopPhase, changed: Vec<String>, when: EventTime) -> StepResult {
    match phase {
        LoopPhase::Ready => transitions::open_run(context, when),
        LoopPhase::Preparing { round } => resume_from(context, ResumePoint::Preparing { round }, changed, when),
        LoopPhase::PreparingStopped { round, halt } => {
            resume_requested_stop(context, ResumePoint::Preparing { round }, halt, (changed, None), when)
        }
        LoopPhase::Working { iteration, attempt } => {
            redo_attempt(context, InterruptedAttempt { iteration, attempt, changed }, when)
        }
        LoopPhase::Waiting { iteration, attempt, until } => {
            resume_from(context, ResumePoint::Waiting { iteration, attempt, until }, changed, when)
        }
        LoopPhase::Limited { iteration, attempt, wait } => {
            resume_from(context, ResumePoint::Limited { iteration, attempt, wait }, changed, when)
        }
        LoopPhase::Verifying { iteration, attempt } => {
            resume_from(context, ResumePoint::Verifying { iteration, attempt }, changed, when)
        }
        LoopPhase::Stopping { iteration, attempt, stopping } => {
            resume_stopping(context, InterruptedAttempt { iteration, attempt, changed }, stopping, when)
        }
        LoopPhase::Paused { left } => stay_paused(context, left, changed),
        LoopPhase::Interrupted { left, .. } => resume_from(context, left, changed, when),
        LoopPhase::Finished { iterations, ended } => context.stay_in(LoopPhase::Finished { iterations, ended }),
    }
}

/// Nobody saw how the attempt ended, so its work is done again.
fn redo_attempt(context: LoopContext, interrupted: InterruptedAttempt, when: (UnixMillis, u32)) -> StepResult {
    let InterruptedAttempt { iteration, attempt, changed } = interrupted;
    let unseen = unseen_attempt(&iteration, attempt);
    let (state, mut effects) = resume_from(context, ResumePoint::AtWork { iteration, attempt }, changed, when);
    effects.insert(1, unseen);
    (state, effects)
}

/// Nobody saw how this attempt ended.
pub(super) fn unseen_attempt(iteration: &IterationState, attempt: u32) -> Effect {
    unseen_attempt_fact(
        iteration.attempt_key(attempt),
        (IterationStatus::Interrupted, UNKNOWN_OUTCOME_REASON.to_string()),
    )
}

/// A stop goes on to its end, unless a signal asked for it: whoever resumes takes that back.
fn resume_stopping(
    context: LoopContext,
    interrupted: InterruptedAttempt,
    stopping: StopTarget,
    when: (UnixMillis, u32),
) -> StepResult {
    match stopping {
        StopTarget::Checks { halt } => {
            let InterruptedAttempt { iteration, attempt, changed } = interrupted;
            resume_requested_stop(context, ResumePoint::Verifying { iteration, attempt }, halt, (changed, None), when)
        }
        StopTarget::Agent { why: StopReason::Asked { halt } } => {
            let InterruptedAttempt { iteration, attempt, changed } = interrupted;
            let unseen = unseen_attempt(&iteration, attempt);
            resume_requested_stop(
                context,
                ResumePoint::AtWork { iteration, attempt },
                halt,
                (changed, Some(unseen)),
                when,
            )
        }
        // What it said last was not recorded, so nobody knows it any more.
        StopTarget::Agent {
            why: StopReason::StayedAfterResult | StopReason::OnlyRepeats | StopReason::NoHandshake,
        } => redo_attempt(context, interrupted, when),
        StopTarget::Agent { why: StopReason::IterationTooLong } => {
            end_timed_out_iteration(context, &interrupted, "the iteration took too long", when)
        }
        StopTarget::Agent { why: StopReason::TooSilent } => {
            end_timed_out_iteration(context, &interrupted, "the agent was silent for too long", when)
        }
        StopTarget::Agent { why: StopReason::Broken { what } } => {
            finish_interrupted_run(context, &interrupted, what.clone(), (RunEnd::state_unusable(what), when.0))
        }
        StopTarget::Agent { why: StopReason::OverBudget { what } } => finish_interrupted_run(
            context,
            &interrupted,
            what.clone(),
            (RunEnd::new(Outcome::OverBudget, what), when.0),
        ),
    }
}

/// Whoever resumes a run takes back a signal, but neither a cancel nor a pause: those go on to their end.
fn resume_requested_stop(
    context: LoopContext,
    left: ResumePoint,
    request: StopRequest,
    (changed, unseen): (Vec<String>, Option<Effect>),
    when: EventTime,
) -> StepResult {
    let fact = match request {
        StopRequest::Signal(_) | StopRequest::PauseTakenBack => {
            let (state, mut effects) = resume_from(context, left, changed, when);
            effects.splice(1..1, unseen);
            return (state, effects);
        }
        StopRequest::Cancel => run_resumed(left.next_attempt(), NextStep::End, changed),
        StopRequest::Pause => run_resumed(left.next_attempt(), NextStep::Pause, changed),
    };
    let (state, effects) = transitions::complete_stop(context, left, request, when);
    (state, core::iter::once(fact).chain(unseen).chain(effects).collect())
}

/// A pause outlives its driver.
fn stay_paused(context: LoopContext, left: ResumePoint, changed: Vec<String>) -> StepResult {
    let fact = run_resumed(left.next_attempt(), NextStep::Pause, changed);
    (context.enter_phase(LoopPhase::Paused { left }), vec![fact])
}

fn end_timed_out_iteration(
    context: LoopContext,
    interrupted: &InterruptedAttempt,
    reason: &str,
    when: (UnixMillis, u32),
) -> StepResult {
    let facts = interrupted_attempt_facts(interrupted, (IterationStatus::TimedOut, reason.to_string()));
    let (state, effects) = transitions::continue_run(context, &interrupted.iteration, IterationResult::TimedOut, when);
    (state, facts.into_iter().chain(effects).collect())
}

fn finish_interrupted_run(
    context: LoopContext,
    interrupted: &InterruptedAttempt,
    reason: String,
    (ended, at): (RunEnd, UnixMillis),
) -> StepResult {
    let facts = interrupted_attempt_facts(interrupted, (IterationStatus::Failed, reason));
    let end = (IterationStatus::Failed, at);
    let (state, effects) = transitions::finish_with_iteration(context, &interrupted.iteration, end, ended);
    (state, facts.into_iter().chain(effects).collect())
}

fn interrupted_attempt_facts(interrupted: &InterruptedAttempt, end: (IterationStatus, String)) -> [Effect; 2] {
    let key = interrupted.iteration.attempt_key(interrupted.attempt);
    [
        run_resumed((key.iteration, key.attempt), NextStep::End, interrupted.changed.clone()),
        unseen_attempt_fact(key, end),
    ]
}

fn run_resumed((iteration, attempt): (u32, u32), next: NextStep, changed: Vec<String>) -> Effect {
    record_fact(Fact::RunResumed { iteration, attempt, next, changed })
}

/// Goes on where the run was left. The iteration has its whole time again: nobody knows how much of it was used.
pub(super) fn resume_from(
    context: LoopContext,
    left: ResumePoint,
    changed: Vec<String>,
    when: EventTime,
) -> StepResult {
    let (at, dice) = when;
    let fact = run_resumed(left.next_attempt(), next_step(&context, &left), changed);
    let (state, effects) = match left {
        ResumePoint::AtTheStart => transitions::open_run(context, when),
        ResumePoint::Preparing { round } => transitions::prepare_run(context, round + 1),
        ResumePoint::Between { number, plan } => {
            transitions::begin_iteration(context, IterationStart { number, plan, at, random: dice })
        }
        ResumePoint::AtWork { iteration, attempt } => {
            let excused = iteration.excused_attempts + 1;
            let session = iteration.session.map(AgentSession::after_unseen_attempt);
            let iteration =
                IterationState { started: at, excused_attempts: excused, session, has_moved: true, ..iteration };
            transitions::start_attempt(context, iteration, attempt + 1, at)
        }
        ResumePoint::Waiting { iteration, attempt, until } => {
            resume_retry_wait(context, IterationState { started: at, ..iteration }, (attempt, until), at)
        }
        ResumePoint::Limited { iteration, attempt, wait } => {
            let iteration = IterationState { started: at, ..iteration };
            rate_limited::resume_wait(context, RateLimitedPhase { iteration, attempt, wait }, at)
        }
        ResumePoint::Verifying { iteration, attempt } => {
            transitions::start_checks(context, IterationState { started: at, ..iteration }, attempt)
        }
    };
    (state, core::iter::once(fact).chain(effects).collect())
}

/// Returns what a run does first that goes on from here.
pub(super) fn next_step(context: &LoopContext, left: &ResumePoint) -> NextStep {
    match left {
        ResumePoint::AtTheStart => match context.policy.proof {
            ProofRequirement::Checks => NextStep::Prepare,
            ProofRequirement::ClaimAlone => NextStep::Agent,
        },
        ResumePoint::Preparing { .. } => NextStep::Prepare,
        ResumePoint::Between { .. } | ResumePoint::AtWork { .. } => NextStep::Agent,
        ResumePoint::Waiting { .. } => NextStep::Retry,
        ResumePoint::Limited { wait, .. } if wait.remaining_ms(context.event_context.wall_clock) == 0 => {
            NextStep::Agent
        }
        ResumePoint::Limited { .. } => NextStep::Limit,
        ResumePoint::Verifying { .. } => NextStep::Checks,
    }
}

/// Waits for what is left of the pause. A clock that jumped never makes it longer than it can have been.
fn resume_retry_wait(
    context: LoopContext,
    iteration: IterationState,
    (attempt, until): (u32, UnixMillis),
    at: UnixMillis,
) -> StepResult {
    let failures = iteration.failure_count(attempt.saturating_sub(1));
    let left_ms = until.elapsed_since(at).min(retry_delay_ms(failures, u32::MAX));
    let timer = LoopTimer::Retry { key: iteration.attempt_key(attempt) };
    let effects = vec![Effect::StartTimer { timer, after_ms: left_ms }];
    (context.enter_phase(LoopPhase::Waiting { iteration, attempt, until: at.add_millis(left_ms) }), effects)
}
