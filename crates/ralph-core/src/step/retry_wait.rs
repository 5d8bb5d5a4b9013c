//! Between two attempts of one iteration.
use super::transitions::{self, IterationResult};
use super::{LoopContext, StepResult, is_late_event};
use crate::event::{Event, EventKind, LoopTimer, UnixMillis};
use crate::fact::IterationStatus;
use crate::loop_state::{IterationState, LoopPhase, ResumePoint};
use crate::outcome::RunEnd;

/// The pause before `attempt`.
pub(super) struct RetryWaitPhase {
    pub(super) iteration: IterationState,
    pub(super) attempt: u32,
    pub(super) until: UnixMillis,
}

impl RetryWaitPhase {
    fn into_phase(self) -> LoopPhase {
        LoopPhase::Waiting { iteration: self.iteration, attempt: self.attempt, until: self.until }
    }
}

pub(super) fn on_event(context: LoopContext, waiting: RetryWaitPhase, event: Event) -> StepResult {
    let Event { at, random: dice, kind, .. } = event;
    let too_long = at.elapsed_since(waiting.iteration.started) >= context.policy.timeouts.iteration_ms;
    if is_late_event(&kind, waiting.iteration.attempt_key(waiting.attempt)) {
        return context.stay_in(waiting.into_phase());
    }
    match kind {
        EventKind::TimerFired { timer: LoopTimer::Run } => {
            let what = context.describe_time_limit();
            transitions::finish_over_budget(context, &waiting.iteration, what, at)
        }
        EventKind::TimerFired { .. } if too_long => {
            transitions::continue_run(context, &waiting.iteration, IterationResult::TimedOut, (at, dice))
        }
        EventKind::TimerFired { .. } => transitions::start_attempt(context, waiting.iteration, waiting.attempt, at),
        EventKind::Interrupted { signal } => {
            let RetryWaitPhase { iteration, attempt, until } = waiting;
            transitions::interrupt_run(context, ResumePoint::Waiting { iteration, attempt, until }, at, signal)
        }
        EventKind::Broken { what } => transitions::finish_with_iteration(
            context,
            &waiting.iteration,
            (IterationStatus::Failed, at),
            RunEnd::state_unusable(what),
        ),
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
        | EventKind::Verified { .. }
        | EventKind::Faulted { .. } => context.stay_in(waiting.into_phase()),
    }
}
