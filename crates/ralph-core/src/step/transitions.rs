//! Transitions that several phases share: starting an iteration or an attempt, ending an iteration, ending the run.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{LoopContext, StepResult, paused, rate_limited, recovery};
use crate::claim::PromiseNonce;
use crate::control_command::StopRequest;
use crate::effect::{AgentStart, Effect, ReceiptSnapshot};
use crate::event::{LoopTimer, PlanAvailability, StopSignal, UnixMillis};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{IterationState, LoopPhase, ResumePoint};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::{ClaimVerification, IterationStepping, NonceUse};
use crate::prompt::{PromptPlan, RejectionFeedback};
use crate::receipt::Proof;
use crate::stall::{self, StallDecision};

/// How an iteration ended that did not end the run.
pub(super) enum IterationResult {
    /// There was no claim. If a promise was printed, the next prompt says why it did not count.
    NoClaim(Option<RejectionFeedback>),
    /// The claim was rejected. The next prompt contains the feedback.
    Rejected(RejectionFeedback),
    TimedOut,
}

pub(super) fn record_fact(fact: Fact) -> Effect {
    Effect::Record { fact }
}

/// Starts a run. A run with checks is prepared first, unless the plan that it follows is missing.
pub(super) fn open_run(context: LoopContext) -> StepResult {
    match (context.policy.proof, context.event_context.plan_availability) {
        (ClaimVerification::Checks, PlanAvailability::Available) => prepare_run(context, 1),
        (ClaimVerification::Checks, PlanAvailability::Missing) | (ClaimVerification::ClaimAlone, _) => {
            begin_first_iteration(context)
        }
    }
}

pub(super) fn begin_first_iteration(context: LoopContext) -> StepResult {
    begin_iteration(context, 1, PromptPlan::first_iteration())
}

/// Seals the files that must not change and runs the external checks once, before any agent starts.
pub(super) fn prepare_run(context: LoopContext, round: u32) -> StepResult {
    let effects = vec![Effect::Prepare { round, baseline: context.policy.baseline }];
    (context.enter_phase(LoopPhase::Preparing { round }), effects)
}

/// Starts an iteration with its first attempt, unless the plan is missing, a budget is exhausted or a pause was
/// requested.
pub(super) fn begin_iteration(context: LoopContext, number: u32, plan: PromptPlan) -> StepResult {
    let before = number.saturating_sub(1);
    match (context.event_context.plan_availability, context.exhaustion_reason_after(before)) {
        (PlanAvailability::Available, None) if context.pending_commands.pause => {
            paused::pause_run(context, ResumePoint::Between { number, plan })
        }
        (PlanAvailability::Available, None) => begin_iteration_now(context, number, plan),
        (PlanAvailability::Available, Some(reason)) => {
            finish_run(context, before, RunEnd::new(Outcome::OverBudget, reason))
        }
        (PlanAvailability::Missing, _) => finish_run(context, before, RunEnd::plan_missing()),
    }
}

fn begin_iteration_now(mut context: LoopContext, number: u32, plan: PromptPlan) -> StepResult {
    let nonce = match context.policy.nonce {
        NonceUse::Off => None,
        NonceUse::EachIteration => Some(PromiseNonce::from_random(context.event_context.random)),
    };
    let mut iteration = IterationState {
        number,
        started: context.now(),
        plan,
        nonce,
        session: context.session.clone(),
        excused_attempts: 0,
        rounds: 0,
        guidance: Vec::new(),
        has_changed_files: false,
        reports: 0,
        tool_signal: None,
    };
    let mut effects = vec![record_fact(Fact::IterationStarted { iteration: iteration.number })];
    effects.extend(rate_limited::return_to_preferred(&mut context, &mut iteration));
    let (state, started) = start_attempt(context, iteration, 1);
    effects.extend(started);
    (state, effects)
}

/// Starts an attempt and its timers, unless a budget is exhausted.
pub(super) fn start_attempt(mut context: LoopContext, mut iteration: IterationState, attempt: u32) -> StepResult {
    if let Some(reason) = context.exhaustion_reason() {
        return finish_over_budget(context, &iteration, reason);
    }
    let standing = update_standing_guidance(&mut context);
    iteration.guidance.append(&mut context.pending_commands.guidance);
    let key = iteration.attempt_key(attempt);
    let timeouts = context.policy.timeouts;
    let left_ms = timeouts.iteration_ms.saturating_sub(context.now().elapsed_since(iteration.started));
    let mut effects = vec![
        record_fact(Fact::AttemptStarted { iteration: key.iteration, attempt }),
        Effect::StartAgent(AgentStart {
            key,
            plan: iteration.plan.clone(),
            nonce: iteration.nonce.clone(),
            max_iterations: context.policy.max_iterations,
            guidance: iteration.guidance.clone(),
            standing_guidance: context.standing_guidance.clone(),
            session: iteration.session.clone(),
            agent: context.limits.agent,
        }),
        Effect::StartTimer { timer: LoopTimer::Iteration { key }, after_ms: left_ms },
        Effect::StartTimer { timer: LoopTimer::Silence { key }, after_ms: timeouts.silence_ms },
    ];
    let left_ms = context.remaining_time_ms();
    effects.extend(left_ms.map(|after_ms| Effect::StartTimer { timer: LoopTimer::Run, after_ms }));
    effects.splice(0..0, standing);
    (context.enter_phase(LoopPhase::Working { iteration, attempt }), effects)
}

/// Takes over the standing guidance for the next prompt. Returns the fact that records it, if it has changed.
fn update_standing_guidance(context: &mut LoopContext) -> Option<Effect> {
    let words = core::mem::take(&mut context.event_context.standing_guidance);
    if words == context.standing_guidance {
        return None;
    }
    context.standing_guidance.clone_from(&words);
    Some(record_fact(Fact::StandingGuidance { words }))
}

/// Ends the iteration and the run because a budget is exhausted.
pub(super) fn finish_over_budget(context: LoopContext, iteration: &IterationState, reason: String) -> StepResult {
    finish_with_iteration(context, iteration, IterationStatus::Failed, RunEnd::new(Outcome::OverBudget, reason))
}

/// Starts the checks of the claim that this attempt made.
pub(super) fn start_checks(context: LoopContext, mut iteration: IterationState, attempt: u32) -> StepResult {
    iteration.rounds += 1;
    let effects = vec![Effect::RunChecks { key: iteration.attempt_key(attempt), round: iteration.rounds }];
    (context.enter_phase(LoopPhase::Verifying { iteration, attempt }), effects)
}

/// Ends an iteration and starts the next one, unless the iteration limit or the stall limit is reached.
pub(super) fn continue_run(
    mut context: LoopContext,
    iteration: &IterationState,
    result: IterationResult,
) -> StepResult {
    let status = match result {
        IterationResult::NoClaim(_) | IterationResult::Rejected(_) => IterationStatus::Finished,
        IterationResult::TimedOut => IterationStatus::TimedOut,
    };
    if let IterationResult::Rejected(feedback) = &result {
        context.last_rejection = Some(feedback.reason.clone());
    }
    let mut effects = vec![iteration_ended(iteration, status, context.now())];
    let stall_decision = context.stall.count_iteration(iteration.has_changed_files, context.policy.stall_after);
    let (state, more) = match stall_decision {
        _ if iteration.number >= context.policy.max_iterations => {
            let reason = exhausted_reason(&context, &result);
            let run_end = RunEnd::iterations_exhausted(reason, context.policy.when_exhausted);
            finish_run(context, iteration.number, run_end)
        }
        StallDecision::Stop { unchanged_iterations } => {
            let reason = context.append_last_rejection(stall::stall_reason(unchanged_iterations));
            finish_run(context, iteration.number, RunEnd::new(Outcome::Stalled, reason))
        }
        StallDecision::Continue | StallDecision::LastChance { .. } => {
            let plan = next_prompt_plan(&mut context, result, stall_decision);
            begin_or_await_iteration(context, iteration.number + 1, plan)
        }
    };
    effects.extend(more);
    (state, effects)
}

/// Starts the next iteration, or leaves that to the caller of the run.
fn begin_or_await_iteration(context: LoopContext, number: u32, plan: PromptPlan) -> StepResult {
    match context.policy.stepping {
        IterationStepping::Continuous => begin_iteration(context, number, plan),
        IterationStepping::OneByOne => {
            let left = ResumePoint::Between { number, plan };
            let ended = RunEnd::awaiting_next_iteration();
            let effects = run_finished_effects(&context, left.iterations_begun(), &ended).into();
            (context.enter_phase(LoopPhase::Interrupted { left, ended }), effects)
        }
    }
}

/// Ends the iteration and the run.
pub(super) fn finish_with_iteration(
    context: LoopContext,
    iteration: &IterationState,
    status: IterationStatus,
    run_end: RunEnd,
) -> StepResult {
    let mut effects = vec![iteration_ended(iteration, status, context.now())];
    let (state, finished) = finish_run(context, iteration.number, run_end);
    effects.extend(finished);
    (state, effects)
}

/// An accepted claim.
pub(super) struct AcceptedClaim {
    pub(super) reason: String,
    pub(super) proof: Proof,
    pub(super) snapshot: ReceiptSnapshot,
}

/// Ends the iteration and the run as completed, with a receipt.
pub(super) fn complete_run(context: LoopContext, iteration: &IterationState, claim: AcceptedClaim) -> StepResult {
    let AcceptedClaim { reason, proof, snapshot } = claim;
    let ended = RunEnd::new(Outcome::Completed, reason);
    let effects = vec![
        iteration_ended(iteration, IterationStatus::Finished, context.now()),
        Effect::RecordReceipt { snapshot },
        run_finished(&context, iteration.number, &ended, Some(proof)),
        Effect::Finish,
    ];
    (context.enter_phase(LoopPhase::Finished { iterations: iteration.number, ended }), effects)
}

/// Carries out a stop request after the agent and the checks have ended.
pub(super) fn complete_stop(context: LoopContext, left: ResumePoint, stop_request: StopRequest) -> StepResult {
    match stop_request {
        StopRequest::Signal(signal) => interrupt_run(context, left, signal),
        StopRequest::Cancel => cancel_run(context, &left),
        StopRequest::Pause => paused::pause_run(context, left),
        StopRequest::PauseTakenBack => {
            let event_context = context.event_context.clone();
            let (state, paused) = paused::pause_run(context, left.clone());
            let (context, _) = LoopContext::from_state(state, event_context);
            let (state, effects) = recovery::resume_from(context, left, Vec::new());
            (state, paused.into_iter().chain(effects).collect())
        }
    }
}

/// Ends the run permanently, together with the iteration in progress.
pub(super) fn cancel_run(context: LoopContext, left: &ResumePoint) -> StepResult {
    finish_from(context, left, IterationStatus::Interrupted, RunEnd::cancelled_by_user())
}

/// Ends the run, together with the iteration in progress if there is one.
pub(super) fn finish_from(
    context: LoopContext,
    left: &ResumePoint,
    status: IterationStatus,
    run_end: RunEnd,
) -> StepResult {
    match left.interrupted_iteration() {
        Some(iteration) => finish_with_iteration(context, iteration, status, run_end),
        None => finish_run(context, left.iterations_begun(), run_end),
    }
}

/// Ends the run because of a signal, and keeps the point at which it can be resumed.
pub(super) fn interrupt_run(context: LoopContext, left: ResumePoint, signal: StopSignal) -> StepResult {
    suspend_run(context, left, RunEnd::interrupted_by_signal(signal))
}

/// Ends the run for now, and keeps the point at which it can be resumed.
pub(super) fn suspend_run(context: LoopContext, left: ResumePoint, ended: RunEnd) -> StepResult {
    let now = context.now();
    let interrupted =
        left.interrupted_iteration().map(|iteration| iteration_ended(iteration, IterationStatus::Interrupted, now));
    let effects =
        interrupted.into_iter().chain(run_finished_effects(&context, left.iterations_begun(), &ended)).collect();
    (context.enter_phase(LoopPhase::Interrupted { left, ended }), effects)
}

pub(super) fn finish_run(context: LoopContext, iterations: u32, ended: RunEnd) -> StepResult {
    let ended = ended.with_denied_actions(&context.denied_actions);
    let effects = run_finished_effects(&context, iterations, &ended).into();
    (context.enter_phase(LoopPhase::Finished { iterations, ended }), effects)
}

pub(super) fn run_finished_effects(context: &LoopContext, iterations: u32, ended: &RunEnd) -> [Effect; 2] {
    [run_finished(context, iterations, ended, None), Effect::Finish]
}

pub(super) fn run_finished(context: &LoopContext, iterations: u32, ended: &RunEnd, proof: Option<Proof>) -> Effect {
    record_fact(Fact::RunFinished {
        outcome: ended.outcome,
        reason: ended.reason.clone(),
        iterations,
        exit_code: ended.exit_code,
        spend: context.spent,
        proof,
    })
}

fn iteration_ended(iteration: &IterationState, status: IterationStatus, at: UnixMillis) -> Effect {
    let duration_ms = at.elapsed_since(iteration.started);
    record_fact(Fact::IterationEnded { iteration: iteration.number, status, duration_ms })
}

/// Returns the prompt of the next iteration. A stalled agent gets a warning and a fresh session.
fn next_prompt_plan(context: &mut LoopContext, result: IterationResult, stall_decision: StallDecision) -> PromptPlan {
    let feedback = match result {
        IterationResult::Rejected(feedback) => Some(feedback),
        IterationResult::NoClaim(feedback) => feedback,
        IterationResult::TimedOut => None,
    };
    if let StallDecision::LastChance { unchanged_iterations: still } = stall_decision {
        context.session = None;
        return PromptPlan::Stuck { still, feedback };
    }
    match context.session {
        None => PromptPlan::Whole { feedback },
        Some(_) => PromptPlan::Continuation { feedback },
    }
}

fn exhausted_reason(context: &LoopContext, result: &IterationResult) -> String {
    match result {
        IterationResult::NoClaim(_) => {
            context.append_last_rejection("Max iterations reached without completion promise".to_string())
        }
        IterationResult::Rejected(feedback) => {
            format!("Max iterations reached. Last verification: {}", feedback.reason)
        }
        IterationResult::TimedOut => {
            context.append_last_rejection("Max iterations reached: the last one timed out".to_string())
        }
    }
}

impl LoopContext {
    /// Appends why the last claim was rejected, which is often the real reason of the end.
    pub(super) fn append_last_rejection(&self, reason: String) -> String {
        match &self.last_rejection {
            None => reason,
            Some(rejection) => format!("{reason}; the last claim was rejected: {rejection}"),
        }
    }
}
