//! What several phases share: beginning an iteration or an attempt, ending an iteration, ending the run.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{LoopContext, StepResult, paused, rate_limited, recovery};
use crate::claim::PromiseNonce;
use crate::control_command::StopRequest;
use crate::effect::Effect;
use crate::event::{LoopTimer, PlanAvailability, StopSignal, UnixMillis};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{IterationState, LoopPhase, ResumePoint};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::{NonceUse, ProofRequirement};
use crate::prompt::{PromptPlan, RejectionFeedback};
use crate::stall::{self, StallDecision};

/// The iteration to begin.
pub(super) struct IterationStart {
    pub(super) number: u32,
    pub(super) plan: PromptPlan,
    pub(super) at: UnixMillis,
    pub(super) random: u32,
}

/// Why an iteration ended without ending the run, and what the next prompt must say about it.
pub(super) enum IterationResult {
    NoClaim,
    /// A claim was rejected.
    Rejected(RejectionFeedback),
    TimedOut,
}

pub(super) fn record_fact(fact: Fact) -> Effect {
    Effect::Record { fact }
}

/// Begins a run. One that is to be proven is prepared first, if it has something to stand on.
pub(super) fn open_run(context: LoopContext, when: (UnixMillis, u32)) -> StepResult {
    match (context.policy.proof, context.event_context.plan_availability) {
        (ProofRequirement::Checks, PlanAvailability::Available) => prepare_run(context, 1),
        (ProofRequirement::Checks, PlanAvailability::Missing) | (ProofRequirement::ClaimAlone, _) => {
            begin_first_iteration(context, when)
        }
    }
}

/// Begins the first iteration.
pub(super) fn begin_first_iteration(context: LoopContext, (at, dice): (UnixMillis, u32)) -> StepResult {
    begin_iteration(context, IterationStart { number: 1, plan: PromptPlan::first_iteration(), at, random: dice })
}

/// Seals, and runs the external checks once, before any agent is started.
pub(super) fn prepare_run(context: LoopContext, round: u32) -> StepResult {
    let effects = vec![Effect::Prepare { round, baseline: context.policy.baseline }];
    (context.enter_phase(LoopPhase::Preparing { round }), effects)
}

/// Begins an iteration with its first attempt, if it has something to stand on and something to spend.
pub(super) fn begin_iteration(context: LoopContext, start: IterationStart) -> StepResult {
    let before = start.number.saturating_sub(1);
    match (context.event_context.plan_availability, context.exhaustion_reason_after(before)) {
        (PlanAvailability::Available, None) if context.wishes.pause => {
            paused::pause_run(context, ResumePoint::Between { number: start.number, plan: start.plan })
        }
        (PlanAvailability::Available, None) => begin_iteration_now(context, start),
        (PlanAvailability::Available, Some(what)) => {
            finish_run(context, before, RunEnd::new(Outcome::OverBudget, what))
        }
        (PlanAvailability::Missing, _) => finish_run(context, before, RunEnd::plan_missing()),
    }
}

fn begin_iteration_now(mut context: LoopContext, start: IterationStart) -> StepResult {
    let nonce = match context.policy.nonce {
        NonceUse::Off => None,
        NonceUse::EachIteration => Some(PromiseNonce::from_random(start.random)),
    };
    let mut iteration = IterationState {
        number: start.number,
        started: start.at,
        plan: start.plan,
        nonce,
        session: context.session.clone(),
        excused_attempts: 0,
        rounds: 0,
        guidance: Vec::new(),
        has_moved: false,
    };
    let mut effects = vec![record_fact(Fact::IterationStarted { iteration: iteration.number })];
    effects.extend(rate_limited::return_to_preferred(&mut context, &mut iteration));
    let (state, started) = start_attempt(context, iteration, 1, start.at);
    effects.extend(started);
    (state, effects)
}

/// Starts one attempt and the timers that watch it, unless everything that the run may use is used up.
pub(super) fn start_attempt(
    mut context: LoopContext,
    mut iteration: IterationState,
    attempt: u32,
    at: UnixMillis,
) -> StepResult {
    if let Some(what) = context.exhaustion_reason() {
        return finish_over_budget(context, &iteration, what, at);
    }
    iteration.guidance.append(&mut context.wishes.guidance);
    let key = iteration.attempt_key(attempt);
    let timeouts = context.policy.timeouts;
    let left_ms = timeouts.iteration_ms.saturating_sub(at.elapsed_since(iteration.started));
    let mut effects = vec![
        record_fact(Fact::AttemptStarted { iteration: key.iteration, attempt }),
        Effect::StartAgent {
            key,
            plan: iteration.plan.clone(),
            nonce: iteration.nonce.clone(),
            guidance: iteration.guidance.clone(),
            session: iteration.session.clone(),
            agent: context.limits.agent,
        },
        Effect::StartTimer { timer: LoopTimer::Iteration { key }, after_ms: left_ms },
        Effect::StartTimer { timer: LoopTimer::Silence { key }, after_ms: timeouts.silence_ms },
    ];
    let left_ms = context.remaining_time_ms();
    effects.extend(left_ms.map(|after_ms| Effect::StartTimer { timer: LoopTimer::Run, after_ms }));
    (context.enter_phase(LoopPhase::Working { iteration, attempt }), effects)
}

/// Ends the iteration and the run, because everything is used up that the run may use.
pub(super) fn finish_over_budget(
    context: LoopContext,
    iteration: &IterationState,
    reason: String,
    at: UnixMillis,
) -> StepResult {
    finish_with_iteration(context, iteration, (IterationStatus::Failed, at), RunEnd::new(Outcome::OverBudget, reason))
}

/// Begins the checks of what this attempt claimed.
pub(super) fn start_checks(context: LoopContext, mut iteration: IterationState, attempt: u32) -> StepResult {
    iteration.rounds += 1;
    let effects = vec![Effect::RunChecks { key: iteration.attempt_key(attempt), round: iteration.rounds }];
    (context.enter_phase(LoopPhase::Verifying { iteration, attempt }), effects)
}

/// Ends an iteration that counts and begins the next one, unless the limit stops it.
pub(super) fn continue_run(
    mut context: LoopContext,
    iteration: &IterationState,
    result: IterationResult,
    (at, dice): (UnixMillis, u32),
) -> StepResult {
    let status = match result {
        IterationResult::NoClaim | IterationResult::Rejected(_) => IterationStatus::Finished,
        IterationResult::TimedOut => IterationStatus::TimedOut,
    };
    let mut effects = vec![iteration_ended(iteration, status, at)];
    let stall_decision = context.stall.count_iteration(iteration.has_moved, context.policy.stall_after);
    let (state, rest_of) = match stall_decision {
        _ if iteration.number >= context.policy.max_iterations => {
            let ended = RunEnd::iterations_exhausted(exhausted_reason(&result), context.policy.when_exhausted);
            finish_run(context, iteration.number, ended)
        }
        StallDecision::Stop { unchanged_iterations: still } => {
            finish_run(context, iteration.number, RunEnd::new(Outcome::Stalled, stall::stall_reason(still)))
        }
        StallDecision::Continue | StallDecision::LastChance { .. } => {
            let plan = next_prompt_plan(&mut context, result, stall_decision);
            begin_iteration(context, IterationStart { number: iteration.number + 1, plan, at, random: dice })
        }
    };
    effects.extend(rest_of);
    (state, effects)
}

/// Ends the iteration and the run with it.
pub(super) fn finish_with_iteration(
    context: LoopContext,
    iteration: &IterationState,
    (status, at): (IterationStatus, UnixMillis),
    ended: RunEnd,
) -> StepResult {
    let mut effects = vec![iteration_ended(iteration, status, at)];
    let (state, finished) = finish_run(context, iteration.number, ended);
    effects.extend(finished);
    (state, effects)
}

/// Does what somebody wished for, now that nothing is at work any more.
pub(super) fn complete_stop(
    context: LoopContext,
    left: ResumePoint,
    halt: StopRequest,
    when: (UnixMillis, u32),
) -> StepResult {
    match halt {
        StopRequest::Signal(signal) => interrupt_run(context, left, when.0, signal),
        StopRequest::Cancel => cancel_run(context, &left, when.0),
        StopRequest::Pause => paused::pause_run(context, left),
        StopRequest::PauseTakenBack => {
            let now = context.event_context.clone();
            let (state, paused) = paused::pause_run(context, left.clone());
            let (context, _) = LoopContext::from_state(state, now);
            let (state, effects) = recovery::resume_from(context, left, Vec::new(), when);
            (state, paused.into_iter().chain(effects).collect())
        }
    }
}

/// Ends the run for good, with the iteration that was going on.
pub(super) fn cancel_run(context: LoopContext, left: &ResumePoint, at: UnixMillis) -> StepResult {
    finish_from(context, left, (IterationStatus::Interrupted, at), RunEnd::cancelled_by_user())
}

/// Ends the run, and the iteration where one was going on.
pub(super) fn finish_from(
    context: LoopContext,
    left: &ResumePoint,
    end: (IterationStatus, UnixMillis),
    ended: RunEnd,
) -> StepResult {
    match left.interrupted_iteration() {
        Some(iteration) => finish_with_iteration(context, iteration, end, ended),
        None => finish_run(context, left.iterations_begun(), ended),
    }
}

/// Ends the run because of a signal, and keeps where it can be taken up again.
pub(super) fn interrupt_run(context: LoopContext, left: ResumePoint, at: UnixMillis, signal: StopSignal) -> StepResult {
    let ended = RunEnd::interrupted_by_signal(signal);
    let cut =
        left.interrupted_iteration().map(|iteration| iteration_ended(iteration, IterationStatus::Interrupted, at));
    let effects = cut.into_iter().chain(run_finished_effects(&context, left.iterations_begun(), &ended)).collect();
    (context.enter_phase(LoopPhase::Interrupted { left, ended }), effects)
}

/// Ends the run.
pub(super) fn finish_run(context: LoopContext, iterations: u32, ended: RunEnd) -> StepResult {
    let effects = run_finished_effects(&context, iterations, &ended).into();
    (context.enter_phase(LoopPhase::Finished { iterations, ended }), effects)
}

fn run_finished_effects(context: &LoopContext, iterations: u32, ended: &RunEnd) -> [Effect; 2] {
    let fact = Fact::RunFinished {
        outcome: ended.outcome,
        reason: ended.reason.clone(),
        iterations,
        exit_code: ended.exit_code,
        spend: context.spent,
    };
    [record_fact(fact), Effect::Finish]
}

fn iteration_ended(iteration: &IterationState, status: IterationStatus, at: UnixMillis) -> Effect {
    let duration_ms = at.elapsed_since(iteration.started);
    record_fact(Fact::IterationEnded { iteration: iteration.number, status, duration_ms })
}

/// An agent that gets nowhere is told so, and forgets what it did so far.
fn next_prompt_plan(context: &mut LoopContext, result: IterationResult, stall_decision: StallDecision) -> PromptPlan {
    let feedback = match result {
        IterationResult::Rejected(feedback) => Some(feedback),
        IterationResult::NoClaim | IterationResult::TimedOut => None,
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

fn exhausted_reason(result: &IterationResult) -> String {
    match result {
        IterationResult::NoClaim => "Max iterations reached without completion promise".to_string(),
        IterationResult::Rejected(feedback) => {
            format!("Max iterations reached. Last verification: {}", feedback.reason)
        }
        IterationResult::TimedOut => "Max iterations reached: the last one timed out".to_string(),
    }
}
