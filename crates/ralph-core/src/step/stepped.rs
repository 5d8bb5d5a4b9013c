//! Runs that wait for their caller after every iteration, as loops of workflows do: the caller verifies completions that do
//! not come from a promise, and closes the run when its work is done.
use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::transitions::{self, record_fact};
use super::verifying::{MAX_PROTECTED_REJECTIONS, MAX_UNEVALUATED_VERDICTS};
use super::{LoopContext, StepResult};
use crate::event::VerifiedCompletion;
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::ExhaustionPolicy;
use crate::prompt::{PromptPlan, RejectionFeedback};

/// Ends a run that was interrupted before its next iteration, because its caller decided that its work is done.
pub(super) fn on_closed(context: LoopContext, phase: LoopPhase, reason: String) -> StepResult {
    match phase {
        LoopPhase::Interrupted { left, .. } => {
            let ended = RunEnd::iterations_exhausted(reason, ExhaustionPolicy::Fine);
            transitions::finish_run(context, left.iterations_begun(), ended)
        }
        phase @ (LoopPhase::Ready
        | LoopPhase::Preparing { .. }
        | LoopPhase::PreparingStopped { .. }
        | LoopPhase::Working { .. }
        | LoopPhase::Waiting { .. }
        | LoopPhase::Limited { .. }
        | LoopPhase::Verifying { .. }
        | LoopPhase::Stopping { .. }
        | LoopPhase::Paused { .. }
        | LoopPhase::Finished { .. }) => context.stay_in(phase),
    }
}

/// Records the verdict on a completion, and says in the next prompt why it was not accepted. Ends a run whose completion
/// cannot be evaluated, or is rejected because of changed tests, twice.
pub(super) fn on_completion_verified(
    context: LoopContext,
    phase: LoopPhase,
    completion: VerifiedCompletion,
) -> StepResult {
    match phase {
        LoopPhase::Interrupted { left: ResumePoint::Between { number, plan }, ended } => {
            let waiting = WaitingIteration { number, plan, ended };
            record_verdict(context, waiting, completion)
        }
        phase @ (LoopPhase::Ready
        | LoopPhase::Preparing { .. }
        | LoopPhase::PreparingStopped { .. }
        | LoopPhase::Working { .. }
        | LoopPhase::Waiting { .. }
        | LoopPhase::Limited { .. }
        | LoopPhase::Verifying { .. }
        | LoopPhase::Stopping { .. }
        | LoopPhase::Paused { .. }
        | LoopPhase::Interrupted { .. }
        | LoopPhase::Finished { .. }) => context.stay_in(phase),
    }
}

/// The next iteration, which waits for the caller.
struct WaitingIteration {
    number: u32,
    plan: PromptPlan,
    ended: RunEnd,
}

fn record_verdict(mut context: LoopContext, waiting: WaitingIteration, completion: VerifiedCompletion) -> StepResult {
    let VerifiedCompletion { claim, evidence } = completion;
    let WaitingIteration { number, plan, ended } = waiting;
    let iteration = number.saturating_sub(1);
    let verdict = evidence.verdict();
    context.spent = context.spent.add_known(evidence.judge_spend().unwrap_or_default());
    let is_by_protected_tests = evidence.is_rejected_by_protected_tests();
    context.protected_rejections += u32::from(is_by_protected_tests);
    context.unevaluated_verdicts = match verdict {
        Verdict::CouldNotEvaluate => context.unevaluated_verdicts + 1,
        Verdict::Accepted | Verdict::Rejected => 0,
    };
    let is_too_often_changed = is_by_protected_tests && context.protected_rejections >= MAX_PROTECTED_REJECTIONS;
    // A judge without a verdict was asked several times, and the agent cannot change its failure.
    let is_too_often_unevaluated =
        evidence.is_undecided_only_by_judges() || context.unevaluated_verdicts >= MAX_UNEVALUATED_VERDICTS;
    let reason = evidence.verdict_reason();
    let feedback = completion_feedback(claim.as_deref(), verdict, &reason)
        .map(|reason| RejectionFeedback::rejected_completion(reason, evidence.deciding_output_tail().into()));
    // A command that says "not yet" is not a verdict on a claim.
    let has_verdict = claim.is_some() || verdict == Verdict::CouldNotEvaluate;
    let fact = has_verdict.then(|| {
        record_fact(Fact::Verdict { iteration, verdict, reason: reason.clone(), checks: evidence.checks.clone() })
    });
    let end = if is_too_often_unevaluated {
        Some(format!("the loop cannot be evaluated: {reason}"))
    } else if is_too_often_changed {
        Some(format!("the agent changed protected tests twice, a person decides: {reason}"))
    } else {
        None
    };
    let (state, effects) = match end {
        Some(reason) => transitions::finish_run(context, iteration, RunEnd::new(Outcome::Blocked, reason)),
        None => {
            let plan = match feedback {
                Some(feedback) => {
                    context.last_rejection = Some(feedback.reason.clone());
                    plan.with_feedback(feedback)
                }
                None => plan,
            };
            (context.enter_phase(LoopPhase::Interrupted { left: ResumePoint::Between { number, plan }, ended }), vec![])
        }
    };
    (state, fact.into_iter().chain(effects).collect())
}

/// Returns why a completion was not accepted, as the agent reads it.
fn completion_feedback(claim: Option<&str>, verdict: Verdict, reason: &str) -> Option<String> {
    match (verdict, claim) {
        (Verdict::Accepted, _) | (Verdict::Rejected, None) => None,
        (Verdict::Rejected, Some(claim)) => Some(format!("{claim}, but {reason}")),
        (Verdict::CouldNotEvaluate, Some(claim)) => Some(format!("{claim}, but that could not be evaluated: {reason}")),
        (Verdict::CouldNotEvaluate, None) => Some(format!("whether it is done could not be evaluated: {reason}")),
    }
}
