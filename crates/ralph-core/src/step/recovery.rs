//! Resumes a loop after its driver ended, by a crash or by a signal. The stored state names the work that was in
//! progress. None of it is still running: interrupted work is repeated, recorded work is not.
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::rate_limited::{self, RateLimitedPhase};
use super::transitions::{self, IterationResult, record_fact};
use super::working::unseen_attempt_fact;
use super::{LoopContext, StepResult, abandoned};
use crate::backoff::retry_delay_ms;
use crate::control_command::{ControlCommand, StopRequest};
use crate::effect::Effect;
use crate::event::{AttemptKey, LoopTimer, UnixMillis};
use crate::fact::{Fact, IterationStatus, NextStep};
use crate::loop_state::{AgentSession, IterationState, LoopPhase, ResumePoint, StopReason, StopTarget};
use crate::outcome::{CancelCause, Outcome, RunEnd};
use crate::policy::ClaimVerification;

const UNKNOWN_OUTCOME_REASON: &str = "outcome unknown: ralph ended before the agent did";

/// The attempt that was in progress when the driver ended.
struct InterruptedAttempt {
    iteration: IterationState,
    attempt: u32,
    /// Inputs that have changed since then.
    changed: Vec<String>,
}

/// Resumes the loop, unless it was cancelled or paused in the meantime. Guidance given in the meantime is in the first
/// prompt, and limits that were changed apply.
pub(super) fn on_recovered(
    mut context: LoopContext,
    phase: LoopPhase,
    changed: Vec<String>,
    commands: Vec<ControlCommand>,
) -> StepResult {
    if commands.contains(&ControlCommand::Cancel) {
        return abandoned::on_abandoned(context, phase, CancelCause::Command);
    }
    let was_started = !matches!(phase, LoopPhase::Ready);
    let pause_request = ControlCommand::last_pause_request(&commands);
    let has_ended = matches!(phase, LoopPhase::Finished { .. });
    let mut facts = Vec::new();
    for command in commands {
        match command {
            ControlCommand::Guide { words } if !has_ended => {
                context.pending_commands.guidance.push(words.clone());
                facts.push(Fact::RunGuided { words });
            }
            ControlCommand::Limit { changes } if !has_ended => {
                facts.extend(context.apply_limits(&changes).map(|limits| Fact::LimitsChanged { limits }));
            }
            ControlCommand::Guide { .. }
            | ControlCommand::Limit { .. }
            // The agent that told it is gone.
            | ControlCommand::Report { .. }
            | ControlCommand::Cancel
            | ControlCommand::Pause { .. }
            | ControlCommand::Resume => {}
        }
    }
    let (state, mut effects) = match pause_request {
        Some(true) => pause_phase(context, phase, changed),
        Some(false) => end_pause(context, phase, changed),
        None => resume_phase(context, phase, changed),
    };
    // After `run.resumed`, if there is one. A run that has ended takes no command, so `facts` is empty.
    let at = usize::from(was_started && !has_ended);
    effects.splice(at..at, facts.into_iter().map(record_fact));
    (state, effects)
}

/// Pauses a loop that was paused while it had no driver. A stop that was in progress is completed first.
fn pause_phase(mut context: LoopContext, phase: LoopPhase, changed: Vec<String>) -> StepResult {
    let (left, unseen) = match phase {
        LoopPhase::Ready => return transitions::complete_stop(context, ResumePoint::AtTheStart, StopRequest::Pause),
        LoopPhase::Preparing { round } => (ResumePoint::Preparing { round }, None),
        LoopPhase::Working { iteration, attempt } => {
            let unseen = unseen_attempt(&iteration, attempt);
            (ResumePoint::AtWork { iteration, attempt }, Some(unseen))
        }
        LoopPhase::Waiting { iteration, attempt, until } => (ResumePoint::Waiting { iteration, attempt, until }, None),
        LoopPhase::Limited { iteration, attempt, wait } => (ResumePoint::Limited { iteration, attempt, wait }, None),
        LoopPhase::Verifying { iteration, attempt } => (ResumePoint::Verifying { iteration, attempt }, None),
        LoopPhase::Interrupted { left, .. } => (left, None),
        phase @ (LoopPhase::PreparingStopped { .. }
        | LoopPhase::Stopping { .. }
        | LoopPhase::Paused { .. }
        | LoopPhase::Finished { .. }) => {
            context.pending_commands.pause = !matches!(phase, LoopPhase::Paused { .. });
            return resume_phase(context, phase, changed);
        }
    };
    resume_requested_stop(context, left, StopRequest::Pause, changed, unseen)
}

/// Resumes a loop whose pause was withdrawn while it had no driver.
fn end_pause(mut context: LoopContext, phase: LoopPhase, changed: Vec<String>) -> StepResult {
    context.pending_commands.pause = false;
    match phase {
        LoopPhase::Paused { left } => resume_from(context, left, changed),
        phase @ (LoopPhase::Ready
        | LoopPhase::Preparing { .. }
        | LoopPhase::PreparingStopped { .. }
        | LoopPhase::Working { .. }
        | LoopPhase::Waiting { .. }
        | LoopPhase::Limited { .. }
        | LoopPhase::Verifying { .. }
        | LoopPhase::Stopping { .. }
        | LoopPhase::Interrupted { .. }
        | LoopPhase::Finished { .. }) => resume_phase(context, phase, changed),
    }
}

fn resume_phase(context: LoopContext, phase: LoopPhase, changed: Vec<String>) -> StepResult {
    match phase {
        LoopPhase::Ready => transitions::open_run(context),
        LoopPhase::Preparing { round } => resume_from(context, ResumePoint::Preparing { round }, changed),
        LoopPhase::PreparingStopped { round, stop_request } => {
            resume_requested_stop(context, ResumePoint::Preparing { round }, stop_request, changed, None)
        }
        LoopPhase::Working { iteration, attempt } => {
            redo_attempt(context, InterruptedAttempt { iteration, attempt, changed })
        }
        LoopPhase::Waiting { iteration, attempt, until } => {
            resume_from(context, ResumePoint::Waiting { iteration, attempt, until }, changed)
        }
        LoopPhase::Limited { iteration, attempt, wait } => {
            resume_from(context, ResumePoint::Limited { iteration, attempt, wait }, changed)
        }
        LoopPhase::Verifying { iteration, attempt } => {
            resume_from(context, ResumePoint::Verifying { iteration, attempt }, changed)
        }
        LoopPhase::Stopping { iteration, attempt, stopping } => {
            resume_stopping(context, InterruptedAttempt { iteration, attempt, changed }, stopping)
        }
        LoopPhase::Paused { left } => stay_paused(context, left, changed),
        LoopPhase::Interrupted { left, .. } => resume_from(context, left, changed),
        LoopPhase::Finished { iterations, ended } => context.stay_in(LoopPhase::Finished { iterations, ended }),
    }
}

/// Repeats an attempt whose outcome is unknown.
fn redo_attempt(context: LoopContext, interrupted: InterruptedAttempt) -> StepResult {
    let InterruptedAttempt { iteration, attempt, changed } = interrupted;
    let unseen = unseen_attempt(&iteration, attempt);
    let (state, mut effects) = resume_from(context, ResumePoint::AtWork { iteration, attempt }, changed);
    effects.insert(1, unseen);
    (state, effects)
}

/// Records an interrupted attempt whose outcome is unknown.
pub(super) fn unseen_attempt(iteration: &IterationState, attempt: u32) -> Effect {
    let key = iteration.attempt_key(attempt);
    unseen_attempt_fact(key, IterationStatus::Interrupted, UNKNOWN_OUTCOME_REASON.to_string())
}

/// Completes a stop that was in progress. A stop by a signal is withdrawn instead, because the user resumed the run.
fn resume_stopping(context: LoopContext, interrupted: InterruptedAttempt, stopping: StopTarget) -> StepResult {
    match stopping {
        StopTarget::Checks { stop_request } => {
            let InterruptedAttempt { iteration, attempt, changed } = interrupted;
            resume_requested_stop(context, ResumePoint::Verifying { iteration, attempt }, stop_request, changed, None)
        }
        StopTarget::Agent { why: StopReason::Asked { stop_request } } => {
            let InterruptedAttempt { iteration, attempt, changed } = interrupted;
            let unseen = unseen_attempt(&iteration, attempt);
            let left = ResumePoint::AtWork { iteration, attempt };
            resume_requested_stop(context, left, stop_request, changed, Some(unseen))
        }
        // The last message of the agent was not recorded.
        StopTarget::Agent {
            why:
                StopReason::StayedAfterResult
                | StopReason::OnlyRepeats
                | StopReason::NoHandshake
                | StopReason::LoginRejected,
        } => redo_attempt(context, interrupted),
        StopTarget::Agent { why: StopReason::IterationTooLong } => {
            end_timed_out_iteration(context, &interrupted, "the iteration took too long")
        }
        StopTarget::Agent { why: StopReason::TooSilent } => {
            end_timed_out_iteration(context, &interrupted, "the agent was silent for too long")
        }
        StopTarget::Agent { why: StopReason::Broken { what } } => {
            finish_interrupted_run(context, &interrupted, what.clone(), RunEnd::state_unusable(what))
        }
        StopTarget::Agent { why: StopReason::OverBudget { what } } => {
            finish_interrupted_run(context, &interrupted, what.clone(), RunEnd::new(Outcome::OverBudget, what))
        }
    }
}

/// Completes a requested cancel or pause. A stop by a signal is withdrawn instead, because the user resumed the run.
fn resume_requested_stop(
    context: LoopContext,
    left: ResumePoint,
    request: StopRequest,
    changed: Vec<String>,
    unseen: Option<Effect>,
) -> StepResult {
    let fact = match request {
        StopRequest::Signal(_) | StopRequest::PauseTakenBack => {
            let (state, mut effects) = resume_from(context, left, changed);
            effects.splice(1..1, unseen);
            return (state, effects);
        }
        StopRequest::Cancel => run_resumed(left.next_attempt(), NextStep::End, changed),
        StopRequest::Pause => run_resumed(left.next_attempt(), NextStep::Pause, changed),
    };
    let (state, effects) = transitions::complete_stop(context, left, request);
    (state, core::iter::once(fact).chain(unseen).chain(effects).collect())
}

/// Keeps a paused run paused.
fn stay_paused(context: LoopContext, left: ResumePoint, changed: Vec<String>) -> StepResult {
    let fact = run_resumed(left.next_attempt(), NextStep::Pause, changed);
    (context.enter_phase(LoopPhase::Paused { left }), vec![fact])
}

fn end_timed_out_iteration(context: LoopContext, interrupted: &InterruptedAttempt, reason: &str) -> StepResult {
    let facts = interrupted_attempt_facts(interrupted, IterationStatus::TimedOut, reason.to_string());
    let (state, effects) = transitions::continue_run(context, &interrupted.iteration, IterationResult::TimedOut);
    (state, facts.into_iter().chain(effects).collect())
}

fn finish_interrupted_run(
    context: LoopContext,
    interrupted: &InterruptedAttempt,
    reason: String,
    run_end: RunEnd,
) -> StepResult {
    let status = IterationStatus::Failed;
    let facts = interrupted_attempt_facts(interrupted, status, reason);
    let (state, effects) = transitions::finish_with_iteration(context, &interrupted.iteration, status, run_end);
    (state, facts.into_iter().chain(effects).collect())
}

fn interrupted_attempt_facts(interrupted: &InterruptedAttempt, status: IterationStatus, reason: String) -> [Effect; 2] {
    let key = interrupted.iteration.attempt_key(interrupted.attempt);
    [run_resumed(key, NextStep::End, interrupted.changed.clone()), unseen_attempt_fact(key, status, reason)]
}

fn run_resumed(key: AttemptKey, next: NextStep, changed: Vec<String>) -> Effect {
    record_fact(Fact::RunResumed { iteration: key.iteration, attempt: key.attempt, next, changed })
}

/// Resumes the run at `left`. The timeout of the iteration starts again, because the time used so far is unknown.
pub(super) fn resume_from(context: LoopContext, left: ResumePoint, changed: Vec<String>) -> StepResult {
    let at = context.now();
    let fact = run_resumed(left.next_attempt(), next_step(&context, &left), changed);
    let (state, effects) = match left {
        ResumePoint::AtTheStart => transitions::open_run(context),
        ResumePoint::Preparing { round } => transitions::prepare_run(context, round + 1),
        ResumePoint::Between { number, plan } => transitions::begin_iteration(context, number, plan),
        ResumePoint::AtWork { iteration, attempt } => {
            let excused = iteration.excused_attempts + 1;
            let session = iteration.session.map(AgentSession::after_unseen_attempt);
            let iteration = IterationState {
                started: at,
                excused_attempts: excused,
                session,
                has_changed_files: true,
                ..iteration
            };
            transitions::start_attempt(context, iteration, attempt + 1)
        }
        ResumePoint::Waiting { iteration, attempt, until } => {
            resume_retry_wait(context, IterationState { started: at, ..iteration }, attempt, until)
        }
        ResumePoint::Limited { iteration, attempt, wait } => {
            let iteration = IterationState { started: at, ..iteration };
            rate_limited::resume_wait(context, RateLimitedPhase { iteration, attempt, wait })
        }
        ResumePoint::Verifying { iteration, attempt } => {
            transitions::start_checks(context, IterationState { started: at, ..iteration }, attempt)
        }
    };
    (state, core::iter::once(fact).chain(effects).collect())
}

/// Returns the first step of a run that resumes at `left`.
pub(super) fn next_step(context: &LoopContext, left: &ResumePoint) -> NextStep {
    match left {
        ResumePoint::AtTheStart => match context.policy.proof {
            ClaimVerification::Checks => NextStep::Prepare,
            ClaimVerification::ClaimAlone => NextStep::Agent,
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

/// Waits for the rest of the retry delay. A clock that jumped never makes the wait longer than the maximum delay.
fn resume_retry_wait(context: LoopContext, iteration: IterationState, attempt: u32, until: UnixMillis) -> StepResult {
    let at = context.now();
    let failures = iteration.failure_count(attempt.saturating_sub(1));
    let left_ms = until.elapsed_since(at).min(retry_delay_ms(failures, u32::MAX));
    let timer = LoopTimer::Retry { key: iteration.attempt_key(attempt) };
    let effects = vec![Effect::StartTimer { timer, after_ms: left_ms }];
    (context.enter_phase(LoopPhase::Waiting { iteration, attempt, until: at.add_millis(left_ms) }), effects)
}
