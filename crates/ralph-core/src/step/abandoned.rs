//! A loop that nobody drives is ended for good, at somebody's wish. Nothing of it is at work any more.
use super::recovery::unseen_attempt;
use super::transitions;
use super::{LoopContext, StepResult};
use crate::event::UnixMillis;
use crate::fact::IterationStatus;
use crate::loop_state::{IterationState, LoopPhase, StopTarget};
use crate::outcome::RunEnd;

pub(super) fn on_abandoned(context: LoopContext, phase: LoopPhase, at: UnixMillis) -> StepResult {
    match phase {
        LoopPhase::Ready | LoopPhase::Preparing { .. } | LoopPhase::PreparingStopped { .. } => {
            transitions::finish_run(context, 0, RunEnd::cancelled_by_user())
        }
        LoopPhase::Working { iteration, attempt }
        | LoopPhase::Stopping { iteration, attempt, stopping: StopTarget::Agent { .. } } => {
            let unseen = unseen_attempt(&iteration, attempt);
            let (state, effects) = cancel_iteration(context, &iteration, at);
            (state, core::iter::once(unseen).chain(effects).collect())
        }
        LoopPhase::Waiting { iteration, .. }
        | LoopPhase::Limited { iteration, .. }
        | LoopPhase::Verifying { iteration, .. }
        | LoopPhase::Stopping { iteration, stopping: StopTarget::Checks { .. }, .. } => {
            cancel_iteration(context, &iteration, at)
        }
        LoopPhase::Paused { left } => transitions::cancel_run(context, &left, at),
        // The iteration that was cut short has ended then.
        LoopPhase::Interrupted { left, .. } => {
            transitions::finish_run(context, left.iterations_begun(), RunEnd::cancelled_by_user())
        }
        LoopPhase::Finished { iterations, ended } => context.stay_in(LoopPhase::Finished { iterations, ended }),
    }
}

fn cancel_iteration(context: LoopContext, iteration: &IterationState, at: UnixMillis) -> StepResult {
    transitions::finish_with_iteration(
        context,
        iteration,
        (IterationStatus::Interrupted, at),
        RunEnd::cancelled_by_user(),
    )
}
