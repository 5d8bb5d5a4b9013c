//! A wait that the agent asked for. It uses neither a retry nor an iteration: the next attempt continues the iteration.
use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::rate_limited::{self, RateLimitedPhase};
use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult};
use crate::claim::WaitRequest;
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::IterationState;
use crate::outcome::{Outcome, RunEnd};
use crate::prompt::RejectionFeedback;
use crate::rate_limits::RateLimitWait;
use crate::text::{format_duration_ms, text_head};

/// A shorter wait counts as this long, so that an agent cannot ask for waits without end.
const MIN_COUNTED_WAIT_MS: u64 = 60_000;

/// How much of the reason is kept.
const MAX_REASON_BYTES: usize = 500;

/// Starts the wait, or ends the run if it would wait for too long.
pub(super) fn begin_wait(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    request: &WaitRequest,
) -> StepResult {
    let wall_clock = context.event_context.wall_clock;
    let wait_ms = request.time.wait_ms(wall_clock);
    let reason = text_head(&request.reason, MAX_REASON_BYTES);
    let left_ms = context.policy.rate_limits.max_agent_wait_ms.saturating_sub(context.limits.agent_waited_ms);
    if left_ms == 0 || wait_ms > left_ms {
        let run_end = RunEnd::new(Outcome::OverBudget, wait_too_long_reason(&context, reason, wait_ms));
        return transitions::finish_with_iteration(context, &iteration, IterationStatus::Finished, run_end);
    }
    let counted_ms = wait_ms.max(MIN_COUNTED_WAIT_MS).min(left_ms);
    context.limits.agent_waited_ms = context.limits.agent_waited_ms.saturating_add(counted_ms);
    let excused = IterationState { excused_attempts: iteration.excused_attempts + 1, ..iteration };
    let iteration = rate_limited::continue_session(&context, excused);
    let plan = iteration.plan.clone().with_default_feedback(RejectionFeedback::wait_over(reason));
    let iteration = IterationState { plan, ..iteration };
    let next = attempt + 1;
    let wait = RateLimitWait {
        agent: context.limits.agent,
        until: wall_clock.add_millis(wait_ms),
        planned_ms: wait_ms,
        since: context.now(),
        asked_because: Some(reason.into()),
    };
    let fact = Fact::AgentWaiting {
        iteration: iteration.number,
        attempt: next,
        delay_ms: wait_ms,
        until: wait.until.0.div_euclid(1_000),
        reason: reason.into(),
    };
    let (state, effects) =
        rate_limited::start_wait(context, RateLimitedPhase { iteration, attempt: next, wait }, wait_ms);
    (state, vec![record_fact(fact)].into_iter().chain(effects).collect())
}

fn wait_too_long_reason(context: &LoopContext, reason: &str, wait_ms: u64) -> String {
    let max_wait = format_duration_ms(context.policy.rate_limits.max_agent_wait_ms);
    let waited = match context.limits.agent_waited_ms {
        0 => String::new(),
        waited => format!(" and has already waited {}", format_duration_ms(waited)),
    };
    format!(
        "the agent asked to wait {} ({reason}), but the run may wait at most {max_wait}{waited} (max_wait)",
        format_duration_ms(wait_ms)
    )
}
