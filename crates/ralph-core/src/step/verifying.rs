//! The phase in which the checks of a claim run. A run with checks can be completed only here.
use alloc::vec;

use super::transitions::{self, IterationResult, record_fact};
use super::{LoopContext, StepResult, is_late_event};
use crate::control_command::StopRequest;
use crate::effect::Effect;
use crate::event::EventKind;
use crate::evidence::{Evidence, Verdict};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{IterationState, LoopPhase, StopTarget};
use crate::outcome::{Outcome, RunEnd};
use crate::prompt::RejectionFeedback;

/// How many consecutive verdicts may be impossible to evaluate before the run ends, so that it does not waste its
/// budget.
const MAX_BLIND_VERDICTS: u32 = 2;

pub(super) fn on_event(context: LoopContext, iteration: IterationState, attempt: u32, event: EventKind) -> StepResult {
    if is_late_event(&event, iteration.attempt_key(attempt)) {
        return context.stay_in(LoopPhase::Verifying { iteration, attempt });
    }
    match event {
        EventKind::Verified { evidence, .. } => on_verified(context, iteration, evidence),
        EventKind::Interrupted { signal } => stop_checks(context, iteration, attempt, StopRequest::Signal(signal)),
        EventKind::Broken { what } => {
            let run_end = RunEnd::state_unusable(what);
            transitions::finish_with_iteration(context, &iteration, IterationStatus::Failed, run_end)
        }
        EventKind::Faulted { what, .. } => {
            let run_end = RunEnd::internal_fault(&what);
            transitions::finish_with_iteration(context, &iteration, IterationStatus::Failed, run_end)
        }
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::Prepared { .. }
        | EventKind::AttemptEnded { .. }
        | EventKind::ResultSeen { .. }
        | EventKind::SpokeAgain { .. }
        | EventKind::Repeating { .. }
        | EventKind::GotOn { .. }
        | EventKind::HandshakeBegan { .. }
        | EventKind::HandshakeDone { .. }
        | EventKind::Overspent { .. }
        | EventKind::TimerFired { .. } => context.stay_in(LoopPhase::Verifying { iteration, attempt }),
    }
}

fn on_verified(mut context: LoopContext, mut iteration: IterationState, evidence: Evidence) -> StepResult {
    iteration.has_moved |= context.stall.record_unmet_criteria(&evidence);
    context.spent = context.spent.add_known(evidence.judge_spend().unwrap_or_default());
    let verdict = evidence.verdict();
    let reason = evidence.verdict_reason();
    let feedback = RejectionFeedback::rejected_claim(reason.clone(), evidence.deciding_output_tail().into());
    let fact = Fact::Verdict { iteration: iteration.number, verdict, reason: reason.clone(), checks: evidence.checks };
    context.blind_verdicts = match verdict {
        Verdict::CouldNotEvaluate => context.blind_verdicts + 1,
        Verdict::Accepted | Verdict::Rejected => 0,
    };
    let is_too_often_blind = context.blind_verdicts >= MAX_BLIND_VERDICTS;
    let finish = |context, outcome, reason| {
        let run_end = RunEnd::new(outcome, reason);
        transitions::finish_with_iteration(context, &iteration, IterationStatus::Finished, run_end)
    };
    let (state, effects) = match verdict {
        Verdict::Accepted => finish(context, Outcome::Completed, reason),
        Verdict::CouldNotEvaluate if is_too_often_blind => finish(context, Outcome::Blocked, reason),
        Verdict::Rejected | Verdict::CouldNotEvaluate => {
            transitions::continue_run(context, &iteration, IterationResult::Rejected(feedback))
        }
    };
    (state, core::iter::once(record_fact(fact)).chain(effects).collect())
}

/// Stops the checks.
pub(super) fn stop_checks(
    context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    halt: StopRequest,
) -> StepResult {
    let key = iteration.attempt_key(attempt);
    let reason = halt.journal_reason().into();
    let effects = vec![record_fact(Fact::StopRequested { reason }), Effect::StopChecks { key }];
    let stopping = StopTarget::Checks { halt };
    (context.enter_phase(LoopPhase::Stopping { iteration, attempt, stopping }), effects)
}
