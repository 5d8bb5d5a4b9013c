//! Cancels a run that has no driver. None of its processes is running any more.
use super::recovery::unseen_attempt;
use super::transitions;
use super::{LoopContext, StepResult};
use crate::fact::IterationStatus;
use crate::loop_state::{IterationState, LoopPhase, StopTarget};
use crate::outcome::{CancelCause, RunEnd};

pub(super) fn on_abandoned(context: LoopContext, phase: LoopPhase, cause: CancelCause) -> StepResult {
    match phase {
        LoopPhase::Ready | LoopPhase::Preparing { .. } | LoopPhase::PreparingStopped { .. } => {
            transitions::finish_run(context, 0, RunEnd::cancelled(cause))
        }
        LoopPhase::Working { iteration, attempt }
        | LoopPhase::Stopping { iteration, attempt, stopping: StopTarget::Agent { .. } } => {
            let unseen = unseen_attempt(&iteration, attempt);
            let (state, effects) = cancel_iteration(context, &iteration, cause);
            (state, core::iter::once(unseen).chain(effects).collect())
        }
        LoopPhase::Waiting { iteration, .. }
        | LoopPhase::Limited { iteration, .. }
        | LoopPhase::Verifying { iteration, .. }
        | LoopPhase::Stopping { iteration, stopping: StopTarget::Checks { .. }, .. } => {
            cancel_iteration(context, &iteration, cause)
        }
        LoopPhase::Paused { left } => transitions::cancel_run(context, &left),
        // The journal already holds the end of the interrupted iteration.
        LoopPhase::Interrupted { left, .. } => {
            transitions::finish_run(context, left.iterations_begun(), RunEnd::cancelled(cause))
        }
        LoopPhase::Finished { iterations, ended } => context.stay_in(LoopPhase::Finished { iterations, ended }),
    }
}

fn cancel_iteration(context: LoopContext, iteration: &IterationState, cause: CancelCause) -> StepResult {
    let run_end = RunEnd::cancelled(cause);
    transitions::finish_with_iteration(context, iteration, IterationStatus::Interrupted, run_end)
}
