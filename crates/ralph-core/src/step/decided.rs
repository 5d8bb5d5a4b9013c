//! The decision of a person on the claim, or the answer to the question, that ended the run as blocked.
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult};
use crate::decision::{PersonDecision, WaitingClaim};
use crate::effect::{Effect, ReceiptSnapshot};
use crate::event::PersonVerdict;
use crate::fact::Fact;
use crate::loop_state::{LoopPhase, ResumePoint};
use crate::outcome::{Outcome, RunEnd};
use crate::prompt::{PromptPlan, RejectionFeedback};
use crate::receipt::WorkTreeSnapshot;

/// Ignores the decision unless something waits for it.
pub(super) fn on_decided(
    context: LoopContext,
    phase: LoopPhase,
    verdict: PersonVerdict,
    decision: PersonDecision,
) -> StepResult {
    let event_context = context.event_context.clone();
    let state = context.enter_phase(phase);
    let can_decide = state.ensure_decidable(verdict).is_ok();
    let (mut context, phase) = LoopContext::from_state(state, event_context);
    let LoopPhase::Finished { iterations, ended } = phase else { return context.stay_in(phase) };
    if !can_decide {
        return context.stay_in(LoopPhase::Finished { iterations, ended });
    }
    match (verdict, context.waiting_claim.take()) {
        (PersonVerdict::Accepted, Some(claim)) => match claim.snapshot.clone() {
            Some(snapshot) => accept_claim(context, *claim, snapshot, decision),
            // Without the claimed files it is unknown what the person accepts.
            None => {
                context.waiting_claim = Some(claim);
                context.stay_in(LoopPhase::Finished { iterations, ended })
            }
        },
        (PersonVerdict::Rejected, Some(claim)) => reject_claim(context, &claim, decision),
        (PersonVerdict::Answered, None) => answer_question(context, iterations, decision),
        (PersonVerdict::Accepted | PersonVerdict::Rejected, None) | (PersonVerdict::Answered, Some(_)) => {
            context.stay_in(LoopPhase::Finished { iterations, ended })
        }
    }
}

fn accept_claim(
    mut context: LoopContext,
    claim: WaitingClaim,
    snapshot: WorkTreeSnapshot,
    decision: PersonDecision,
) -> StepResult {
    // The person has seen the changed tests: later stages of the task count from here.
    context.protected_rejections = 0;
    let ended = RunEnd::new(Outcome::Completed, format!("accepted {}", decision.describe()));
    let iteration = claim.iteration;
    let (commit, tree) = (snapshot.commit.clone(), snapshot.tree.clone());
    let effects = vec![
        record_fact(Fact::RunAccepted { iteration, commit, tree, accepted_by: decision }),
        Effect::RecordReceipt { snapshot: ReceiptSnapshot::Verified(snapshot) },
        transitions::run_finished(&context, iteration, &ended, Some(claim.proof)),
    ];
    (context.enter_phase(LoopPhase::Finished { iterations: iteration, ended }), effects)
}

fn reject_claim(mut context: LoopContext, claim: &WaitingClaim, decision: PersonDecision) -> StepResult {
    let reason = format!("rejected {}", decision.describe());
    context.last_rejection = Some(reason.clone());
    let feedback = RejectionFeedback::rejected_claim(reason.clone(), String::new());
    let rejected = Fact::RunRejected { iteration: claim.iteration, rejected_by: decision };
    reopen_run(context, claim.iteration, ReopenedRun { reason, facts: vec![rejected], feedback: Some(feedback) })
}

fn answer_question(mut context: LoopContext, iterations: u32, decision: PersonDecision) -> StepResult {
    let reason = format!("answered {}", decision.describe());
    let words = decision.because.unwrap_or_default();
    context.pending_commands.guidance.push(words.clone());
    reopen_run(context, iterations, ReopenedRun { reason, facts: vec![Fact::RunGuided { words }], feedback: None })
}

/// A run that had ended and can be resumed now.
pub(super) struct ReopenedRun {
    /// Names the person who reopened it, and the decision.
    pub(super) reason: String,
    /// The changes that a person made.
    pub(super) facts: Vec<Fact>,
    pub(super) feedback: Option<RejectionFeedback>,
}

/// Reopens the run at its next iteration. It has at least one more, whatever its limit is.
pub(super) fn reopen_run(mut context: LoopContext, iterations: u32, reopened: ReopenedRun) -> StepResult {
    let ReopenedRun { reason, facts, feedback } = reopened;
    let number = iterations + 1;
    context.policy.max_iterations = context.policy.max_iterations.max(number);
    let plan = match context.session {
        None => PromptPlan::Whole { feedback },
        Some(_) => PromptPlan::Continuation { feedback },
    };
    let ended = RunEnd::reopened_by_person(reason);
    let finished = transitions::run_finished(&context, iterations, &ended, None);
    let effects = facts.into_iter().map(record_fact).chain([finished]).collect();
    (context.enter_phase(LoopPhase::Interrupted { left: ResumePoint::Between { number, plan }, ended }), effects)
}
