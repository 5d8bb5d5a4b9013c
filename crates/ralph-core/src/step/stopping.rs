//! The phase after the agent or the checks were asked to stop, until they have ended.
use alloc::boxed::Box;
use alloc::vec;

use super::transitions::{self, IterationResult, record_fact};
use super::working::{self, ClaimDisposition, EndedAttempt, record_attempt, record_claim};
use super::{LoopContext, StepResult, is_late_event};
use crate::attempt::AttemptReport;
use crate::control_command::{ControlCommand, StopRequest};
use crate::effect::Effect;
use crate::event::{EventKind, RunControl, StopSignal, WorkEvent};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{IterationState, LoopPhase, ResumePoint, StopReason, StopTarget};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::ClaimVerification;

pub(super) struct StoppingPhase {
    pub(super) iteration: IterationState,
    pub(super) attempt: u32,
    pub(super) stopping: StopTarget,
}

impl StoppingPhase {
    fn into_phase(self) -> LoopPhase {
        LoopPhase::Stopping { iteration: self.iteration, attempt: self.attempt, stopping: self.stopping }
    }
}

pub(super) fn on_event(context: LoopContext, stop: StoppingPhase, event: EventKind) -> StepResult {
    if is_late_event(&event, stop.iteration.attempt_key(stop.attempt)) {
        return context.stay_in(stop.into_phase());
    }
    match (event, &stop.stopping) {
        (EventKind::Work(WorkEvent::AttemptEnded { report, .. }), StopTarget::Agent { why }) => {
            let reason = why.clone();
            on_agent_ended(context, stop.iteration, stop.attempt, report, reason)
        }
        (EventKind::Work(WorkEvent::Verified { .. }), StopTarget::Checks { stop_request }) => {
            let stop_request = *stop_request;
            let StoppingPhase { iteration, attempt, .. } = stop;
            transitions::complete_stop(context, ResumePoint::Verifying { iteration, attempt }, stop_request)
        }
        (EventKind::Work(WorkEvent::Faulted { what, .. }), StopTarget::Agent { .. }) => {
            working::finish_after_fault(context, &stop.iteration, stop.attempt, what)
        }
        (EventKind::Work(WorkEvent::Faulted { what, .. }), StopTarget::Checks { .. }) => {
            let run_end = RunEnd::internal_fault(&what);
            transitions::finish_with_iteration(context, &stop.iteration, IterationStatus::Failed, run_end)
        }
        (EventKind::Control(RunControl::Interrupted { signal }), _) => on_signal(context, stop, signal),
        (
            EventKind::Control(RunControl::CommandReceived { .. } | RunControl::Broken { .. })
            | EventKind::Lifecycle(_)
            | EventKind::Agent { .. }
            | EventKind::Work(WorkEvent::Prepared { .. } | WorkEvent::AttemptEnded { .. } | WorkEvent::Verified { .. })
            | EventKind::TimerFired { .. },
            _,
        ) => context.stay_in(stop.into_phase()),
    }
}

/// Handles a command during a stop, which may change what happens after the stop.
pub(super) fn on_command(mut context: LoopContext, stop: StoppingPhase, command: &ControlCommand) -> StepResult {
    let StoppingPhase { iteration, attempt, stopping } = stop;
    let after = match &stopping {
        StopTarget::Checks { stop_request } => StopTarget::Checks { stop_request: stop_request.after_command(command) },
        StopTarget::Agent { why: StopReason::Asked { stop_request } } => {
            StopTarget::Agent { why: StopReason::Asked { stop_request: stop_request.after_command(command) } }
        }
        StopTarget::Agent { why: StopReason::Broken { .. } } => stopping.clone(),
        StopTarget::Agent {
            why:
                StopReason::IterationTooLong
                | StopReason::TooSilent
                | StopReason::StayedAfterResult
                | StopReason::OnlyRepeats
                | StopReason::NoHandshake
                | StopReason::LoginRejected
                | StopReason::OverBudget { .. },
        } => match command {
            ControlCommand::Cancel => {
                StopTarget::Agent { why: StopReason::Asked { stop_request: StopRequest::Cancel } }
            }
            ControlCommand::Pause { .. }
            | ControlCommand::Resume
            | ControlCommand::Guide { .. }
            | ControlCommand::Limit { .. }
            | ControlCommand::Report { .. } => {
                context.set_pause_wanted(command);
                stopping.clone()
            }
        },
    };
    let is_newly_cancelled = *command == ControlCommand::Cancel && after != stopping;
    let reason = StopRequest::Cancel.journal_reason().into();
    let effects = is_newly_cancelled.then(|| record_fact(Fact::StopRequested { reason })).into_iter().collect();
    (context.enter_phase(LoopPhase::Stopping { iteration, attempt, stopping: after }), effects)
}

/// Handles a signal during a stop: the first one turns any other stop into an interruption, the next one kills the
/// agent.
fn on_signal(context: LoopContext, stop: StoppingPhase, signal: StopSignal) -> StepResult {
    let key = stop.iteration.attempt_key(stop.attempt);
    let StoppingPhase { iteration, attempt, stopping } = stop;
    let (stopping, effects) = match stopping {
        StopTarget::Checks { stop_request } => {
            (StopTarget::Checks { stop_request: stop_request.after_signal(signal) }, vec![Effect::StopChecks { key }])
        }
        StopTarget::Agent { why: StopReason::Asked { stop_request } } => {
            let kills = stop_request.is_ending_run().then_some(Effect::KillAgent { key });
            let why = StopReason::Asked { stop_request: stop_request.after_signal(signal) };
            (StopTarget::Agent { why }, kills.into_iter().collect())
        }
        StopTarget::Agent { why: StopReason::Broken { what } } => {
            (StopTarget::Agent { why: StopReason::Broken { what } }, vec![Effect::KillAgent { key }])
        }
        StopTarget::Agent {
            why:
                StopReason::IterationTooLong
                | StopReason::TooSilent
                | StopReason::StayedAfterResult
                | StopReason::OnlyRepeats
                | StopReason::NoHandshake
                | StopReason::LoginRejected
                | StopReason::OverBudget { .. },
        } => (StopTarget::Agent { why: StopReason::Asked { stop_request: StopRequest::Signal(signal) } }, vec![]),
    };
    (context.enter_phase(LoopPhase::Stopping { iteration, attempt, stopping }), effects)
}

fn on_agent_ended(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    report: Box<AttemptReport>,
    reason: StopReason,
) -> StepResult {
    let assessment = match &reason {
        StopReason::StayedAfterResult => Some(report.assess_output()),
        StopReason::OnlyRepeats => Some(report.assess_repeats()),
        StopReason::NoHandshake => Some(report.assess_handshake()),
        StopReason::LoginRejected => Some(report.assess_rejected_login()),
        StopReason::TooSilent => report.assess_silence(),
        // A claim that the agent made before it was stopped is still checked.
        StopReason::OverBudget { .. } => {
            let counts = report.reading.claim.is_made() && context.policy.proof == ClaimVerification::Checks;
            counts.then(|| report.assess_output())
        }
        StopReason::IterationTooLong | StopReason::Asked { .. } | StopReason::Broken { .. } => None,
    };
    if let Some(assessment) = assessment {
        let ended = EndedAttempt { number: attempt, report, assessment };
        return working::handle_ended_attempt(context, iteration, ended);
    }
    let (status, cause) = match &reason {
        StopReason::IterationTooLong => (IterationStatus::TimedOut, "the iteration took too long"),
        StopReason::TooSilent
        | StopReason::StayedAfterResult
        | StopReason::OnlyRepeats
        | StopReason::NoHandshake
        | StopReason::LoginRejected => (IterationStatus::TimedOut, "the agent was silent for too long"),
        StopReason::Asked { stop_request } => (IterationStatus::Interrupted, stop_request.interruption_cause()),
        StopReason::OverBudget { what } | StopReason::Broken { what } => (IterationStatus::Failed, what.as_str()),
    };
    context.spent = context.spent.add_known(report.spend);
    let iteration = iteration.with_changes_of(&report);
    let key = iteration.attempt_key(attempt);
    let mut facts = record_attempt(&iteration, attempt, &report, status, Some(cause.into()));
    facts.push(record_claim(key, &report, ClaimDisposition::Stopped));
    let (state, effects) = match reason {
        StopReason::Asked { stop_request } => {
            transitions::complete_stop(context, ResumePoint::AtWork { iteration, attempt }, stop_request)
        }
        StopReason::Broken { what } => {
            transitions::finish_with_iteration(context, &iteration, status, RunEnd::state_unusable(what))
        }
        StopReason::OverBudget { what } => {
            let run_end = RunEnd::new(Outcome::OverBudget, what);
            transitions::finish_with_iteration(context, &iteration, status, run_end)
        }
        StopReason::IterationTooLong
        | StopReason::TooSilent
        | StopReason::StayedAfterResult
        | StopReason::OnlyRepeats
        | StopReason::NoHandshake
        | StopReason::LoginRejected => {
            context.remember_session(&iteration, &report);
            transitions::continue_run(context, &iteration, IterationResult::TimedOut)
        }
    };
    (state, facts.into_iter().chain(effects).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::LoopTimer;
    use crate::policy::Policy;
    use crate::step::tests::builders::{LoopScenario, attempt_key, claiming_report, policy_with_checks};

    // spec: L12
    #[test]
    fn next_signal_kills_predicts_the_effect_of_the_next_signal() {
        let working = || LoopScenario::start_run(Policy::new(3));
        let timed_out = || working().fire_timer(LoopTimer::Iteration { key: attempt_key(1, 1) });
        let broken = || working().play_event(EventKind::broken("gone".into()));
        let verifying = || LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report());
        let int = |scene: LoopScenario| scene.send_signal(StopSignal::Int);
        let scenes: [(&dyn Fn() -> LoopScenario, bool); 7] = [
            (&working, false),
            (&|| int(working()), true),
            (&timed_out, false),
            (&|| int(timed_out()), true),
            (&broken, true),
            (&verifying, false),
            (&|| int(verifying()), false),
        ];
        for (number, (scene, kills)) in scenes.into_iter().enumerate() {
            assert_eq!(scene().current_phase().next_signal_kills(), kills, "{number}");
            assert_eq!(int(scene()).has_effect(&Effect::KillAgent { key: attempt_key(1, 1) }), kills, "{number}");
        }
    }
}
