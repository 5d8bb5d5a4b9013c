//! The wait before an attempt is retried.
use super::transitions::{self, IterationResult};
use super::{LoopContext, StepResult, is_late_event};
use crate::event::{EventKind, LoopTimer, RunControl, UnixMillis};
use crate::fact::IterationStatus;
use crate::loop_state::{IterationState, LoopPhase, ResumePoint};
use crate::outcome::RunEnd;

/// The wait before `attempt` starts.
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

pub(super) fn on_event(context: LoopContext, waiting: RetryWaitPhase, event: EventKind) -> StepResult {
    let is_timed_out = context.now().elapsed_since(waiting.iteration.started) >= context.policy.timeouts.iteration_ms;
    if is_late_event(&event, waiting.iteration.attempt_key(waiting.attempt)) {
        return context.stay_in(waiting.into_phase());
    }
    match event {
        EventKind::TimerFired { timer: LoopTimer::Run, .. } => {
            let reason = context.describe_time_limit();
            transitions::finish_over_budget(context, &waiting.iteration, reason)
        }
        EventKind::TimerFired { .. } if is_timed_out => {
            transitions::continue_run(context, &waiting.iteration, IterationResult::TimedOut)
        }
        EventKind::TimerFired { .. } => transitions::start_attempt(context, waiting.iteration, waiting.attempt),
        EventKind::Control(RunControl::Interrupted { signal }) => {
            let RetryWaitPhase { iteration, attempt, until } = waiting;
            transitions::interrupt_run(context, ResumePoint::Waiting { iteration, attempt, until }, signal)
        }
        EventKind::Control(RunControl::Broken { what }) => {
            let run_end = RunEnd::state_unusable(what);
            transitions::finish_with_iteration(context, &waiting.iteration, IterationStatus::Failed, run_end)
        }
        EventKind::Control(RunControl::CommandReceived { .. })
        | EventKind::Lifecycle(_)
        | EventKind::Agent { .. }
        | EventKind::Work(_) => context.stay_in(waiting.into_phase()),
    }
}
