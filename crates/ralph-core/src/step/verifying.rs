//! The phase in which the checks of a claim run. A run with checks can be completed only here.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::transitions::{self, AcceptedClaim, IterationResult, record_fact};
use super::{LoopContext, StepResult, is_late_event};
use crate::control_command::StopRequest;
use crate::decision::WaitingClaim;
use crate::effect::{Effect, ReceiptSnapshot};
use crate::event::{EventKind, RunControl, WorkEvent};
use crate::evidence::{Evidence, Verdict};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{IterationState, LoopPhase, StopTarget};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::MinimumProof;
use crate::prompt::RejectionFeedback;
use crate::receipt::{Proof, ProofLevel, WorkTreeSnapshot};

/// How many consecutive verdicts may be impossible to evaluate before the run ends, so that it does not waste its
/// budget.
pub(super) const MAX_UNEVALUATED_VERDICTS: u32 = 2;

/// How many claims may be rejected because of changed protected tests before the run ends: a person decides then.
pub(super) const MAX_PROTECTED_REJECTIONS: u32 = 2;

pub(super) fn on_event(context: LoopContext, iteration: IterationState, attempt: u32, event: EventKind) -> StepResult {
    if is_late_event(&event, iteration.attempt_key(attempt)) {
        return context.stay_in(LoopPhase::Verifying { iteration, attempt });
    }
    match event {
        EventKind::Work(WorkEvent::Verified { evidence, snapshot, tree_after_checks, .. }) => {
            on_verified(context, iteration, evidence, ClaimedFiles { snapshot, tree_after_checks })
        }
        EventKind::Control(RunControl::Interrupted { signal }) => {
            stop_checks(context, iteration, attempt, StopRequest::Signal(signal))
        }
        EventKind::Control(RunControl::Broken { what }) => {
            let run_end = RunEnd::state_unusable(what);
            transitions::finish_with_iteration(context, &iteration, IterationStatus::Failed, run_end)
        }
        EventKind::Work(WorkEvent::Faulted { what, .. }) => {
            let run_end = RunEnd::internal_fault(&what);
            transitions::finish_with_iteration(context, &iteration, IterationStatus::Failed, run_end)
        }
        EventKind::Control(RunControl::CommandReceived { .. })
        | EventKind::Lifecycle(_)
        | EventKind::Agent { .. }
        | EventKind::Work(WorkEvent::Prepared { .. } | WorkEvent::AttemptEnded { .. })
        | EventKind::TimerFired { .. } => context.stay_in(LoopPhase::Verifying { iteration, attempt }),
    }
}

/// The files of a claim, as far as git could read them.
struct ClaimedFiles {
    snapshot: Option<WorkTreeSnapshot>,
    tree_after_checks: Option<String>,
}

fn on_verified(
    mut context: LoopContext,
    mut iteration: IterationState,
    evidence: Evidence,
    files: ClaimedFiles,
) -> StepResult {
    iteration.has_changed_files |= context.stall.record_unmet_criteria(&evidence);
    context.spent = context.spent.add_known(evidence.judge_spend().unwrap_or_default());
    let is_by_protected_tests = evidence.is_rejected_by_protected_tests();
    let is_by_failed_judge = evidence.is_undecided_only_by_judges();
    context.protected_rejections += u32::from(is_by_protected_tests);
    let ClaimVerdict { verdict, reason, proof } = judge_claim(&context, &evidence);
    let feedback = RejectionFeedback::rejected_claim(reason.clone(), evidence.deciding_output_tail().into());
    let fact = Fact::Verdict { iteration: iteration.number, verdict, reason: reason.clone(), checks: evidence.checks };
    context.unevaluated_verdicts = match verdict {
        Verdict::CouldNotEvaluate => context.unevaluated_verdicts + 1,
        Verdict::Accepted | Verdict::Rejected => 0,
    };
    // The judge was asked several times, and the agent cannot change its failure: another iteration would be wasted.
    let is_too_often_blind = is_by_failed_judge || context.unevaluated_verdicts >= MAX_UNEVALUATED_VERDICTS;
    let is_too_often_changed = is_by_protected_tests && context.protected_rejections >= MAX_PROTECTED_REJECTIONS;
    let ClaimedFiles { snapshot, tree_after_checks } = files;
    let claim =
        WaitingClaim { iteration: iteration.number, reason: reason.clone(), proof, snapshot, tree_after_checks };
    let (state, effects) = match verdict {
        Verdict::Accepted => {
            let WaitingClaim { proof, snapshot, .. } = claim;
            let snapshot = ReceiptSnapshot::of_verified_claim(snapshot);
            transitions::complete_run(context, &iteration, AcceptedClaim { reason, proof, snapshot })
        }
        Verdict::CouldNotEvaluate if is_too_often_blind => block_run(context, &iteration, claim),
        Verdict::Rejected if is_too_often_changed => {
            let reason = format!("the agent changed protected tests twice, a person decides: {reason}");
            block_run(context, &iteration, WaitingClaim { reason, ..claim })
        }
        Verdict::Rejected | Verdict::CouldNotEvaluate => {
            transitions::continue_run(context, &iteration, IterationResult::Rejected(feedback))
        }
    };
    (state, core::iter::once(record_fact(fact)).chain(effects).collect())
}

/// Ends the run as blocked. The claim waits for the decision of a person.
fn block_run(mut context: LoopContext, iteration: &IterationState, claim: WaitingClaim) -> StepResult {
    let run_end = RunEnd::new(Outcome::Blocked, claim.reason.clone());
    context.waiting_claim = Some(Box::new(claim));
    transitions::finish_with_iteration(context, iteration, IterationStatus::Finished, run_end)
}

/// The verdict on a claim, with the proof level that it would have.
struct ClaimVerdict {
    verdict: Verdict,
    reason: String,
    proof: Proof,
}

/// Returns the verdict on a claim. Accepted evidence of a lower proof level than the run requires rejects it.
fn judge_claim(context: &LoopContext, evidence: &Evidence) -> ClaimVerdict {
    let (verdict, reason) = (evidence.verdict(), evidence.verdict_reason());
    let proof = match verdict {
        Verdict::Accepted => Proof::from_evidence(&evidence.checks, &context.baseline),
        Verdict::Rejected | Verdict::CouldNotEvaluate => Proof::of_unaccepted(&evidence.checks, &reason),
    };
    match (verdict, context.policy.required_proof) {
        (Verdict::Accepted, MinimumProof::Proven) if proof.level < ProofLevel::Proven => {
            let reason = format!("the result must be proven, but is only {}", proof.describe());
            ClaimVerdict { verdict: Verdict::Rejected, reason, proof }
        }
        (Verdict::Accepted | Verdict::Rejected | Verdict::CouldNotEvaluate, _) => {
            ClaimVerdict { verdict, reason, proof }
        }
    }
}

/// Stops the checks.
pub(super) fn stop_checks(
    context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    stop_request: StopRequest,
) -> StepResult {
    let key = iteration.attempt_key(attempt);
    let reason = stop_request.journal_reason().into();
    let effects = vec![record_fact(Fact::StopRequested { reason }), Effect::StopChecks { key }];
    let stopping = StopTarget::Checks { stop_request };
    (context.enter_phase(LoopPhase::Stopping { iteration, attempt, stopping }), effects)
}
