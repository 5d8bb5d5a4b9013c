//! Continues a run that ended exhausted, over budget, stalled or blocked, with other limits or with guidance.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::decided::{ReopenedRun, reopen_run};
use super::{LoopContext, StepResult};
use crate::continuation::Continuation;
use crate::fact::Fact;
use crate::limit_change::ChangedLimits;
use crate::loop_state::LoopPhase;
use crate::prompt::RejectionFeedback;
use crate::stall::StallCounter;

/// Ignores the request unless the run can be continued.
pub(super) fn on_continued(context: LoopContext, phase: LoopPhase, continuation: Continuation) -> StepResult {
    let event_context = context.event_context.clone();
    let state = context.enter_phase(phase);
    let changed = state.check_continuation(&continuation);
    let (mut context, phase) = LoopContext::from_state(state, event_context);
    let (LoopPhase::Finished { iterations, .. }, Ok(changed)) = (&phase, changed) else {
        return context.stay_in(phase);
    };
    let iterations = *iterations;
    if changed.is_empty() && continuation.guidance.is_none() {
        return context.stay_in(phase);
    }
    let reason = continuation_reason(&changed, continuation.guidance.is_some());
    let feedback = take_feedback(&mut context);
    // The counts that may have ended the run start again from zero.
    context.stall = StallCounter::default();
    context.unevaluated_verdicts = 0;
    context.limits.waited_ms = 0;
    context.limits.agent_waited_ms = 0;
    context.limits.in_a_row = 0;
    let mut facts = Vec::new();
    if !changed.is_empty() {
        changed.apply_to(&mut context.policy);
        facts.push(Fact::LimitsChanged { limits: changed });
    }
    if let Some(words) = continuation.guidance {
        context.pending_commands.guidance.push(words.clone());
        facts.push(Fact::RunGuided { words });
    }
    reopen_run(context, iterations, ReopenedRun { reason, facts, feedback })
}

fn continuation_reason(changed: &ChangedLimits, has_guidance: bool) -> String {
    match (changed.is_empty(), has_guidance) {
        (false, false) => format!("continued with new limits: {}", changed.describe()),
        (false, true) => format!("continued with guidance and new limits: {}", changed.describe()),
        (true, _) => "continued with guidance".to_string(),
    }
}

/// Returns why the last claim was not accepted. A claim that waited for a person is given up.
fn take_feedback(context: &mut LoopContext) -> Option<RejectionFeedback> {
    let waiting = context.waiting_claim.take().map(|claim| claim.reason);
    let reason = waiting.or_else(|| context.last_rejection.clone())?;
    Some(RejectionFeedback::rejected_claim(reason, String::new()))
}
