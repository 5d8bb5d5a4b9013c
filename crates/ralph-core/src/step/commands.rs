//! Commands from another process (cancel, pause, resume, guide, limit), in every phase. A command that does not apply is
//! ignored.
use alloc::string::String;
use alloc::vec;

use super::stopping::StoppingPhase;
use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult, agent_report, preparing, recovery, stopping, verifying, working};
use crate::control_command::{ControlCommand, PauseTiming, StopRequest};
use crate::effect::Effect;
use crate::event::LoopTimer;
use crate::fact::Fact;
use crate::limit_change::{ChangedLimits, LimitChanges};
use crate::loop_state::{LoopPhase, ResumePoint, StopReason};

pub(super) fn on_command(context: LoopContext, phase: LoopPhase, command: ControlCommand) -> StepResult {
    match command {
        ControlCommand::Guide { words } => add_guidance(context, phase, words),
        ControlCommand::Limit { changes } => change_limits(context, phase, &changes),
        ControlCommand::Cancel => stop_run(context, phase, StopRequest::Cancel, &command),
        ControlCommand::Pause { when: PauseTiming::Now } => stop_run(context, phase, StopRequest::Pause, &command),
        ControlCommand::Pause { when: PauseTiming::Idle } => pause_when_idle(context, phase, &command),
        ControlCommand::Resume => resume_run(context, phase),
        ControlCommand::Report { report } => agent_report::record_report(context, phase, report),
    }
}

/// Keeps the guidance for the next prompt. A run that has ended ignores it.
fn add_guidance(mut context: LoopContext, phase: LoopPhase, words: String) -> StepResult {
    if let LoopPhase::Interrupted { .. } | LoopPhase::Finished { .. } = phase {
        return context.stay_in(phase);
    }
    context.pending_commands.guidance.push(words.clone());
    (context.enter_phase(phase), vec![record_fact(Fact::RunGuided { words })])
}

/// Changes the limits from now on. A run that has ended is continued instead.
fn change_limits(mut context: LoopContext, phase: LoopPhase, changes: &LimitChanges) -> StepResult {
    if let LoopPhase::Interrupted { .. } | LoopPhase::Finished { .. } = phase {
        return context.stay_in(phase);
    }
    let Some(changed) = context.apply_limits(changes) else { return context.stay_in(phase) };
    let mut effects = vec![record_fact(Fact::LimitsChanged { limits: changed })];
    effects.extend(changed.max_duration_ms.and_then(|_| restart_run_timer(&context, &phase)));
    (context.enter_phase(phase), effects)
}

/// Returns the effect that restarts the timer of the run after its time limit has changed, if the timer is running.
fn restart_run_timer(context: &LoopContext, phase: &LoopPhase) -> Option<Effect> {
    match phase {
        LoopPhase::Working { .. } | LoopPhase::Waiting { .. } | LoopPhase::Limited { .. } => {
            let after_ms = context.remaining_time_ms()?;
            Some(Effect::StartTimer { timer: LoopTimer::Run, after_ms })
        }
        LoopPhase::Ready
        | LoopPhase::Preparing { .. }
        | LoopPhase::PreparingStopped { .. }
        | LoopPhase::Verifying { .. }
        | LoopPhase::Stopping { .. }
        | LoopPhase::Paused { .. }
        | LoopPhase::Interrupted { .. }
        | LoopPhase::Finished { .. } => None,
    }
}

/// Stops the agent or the checks. If neither is running, the request takes effect immediately.
fn stop_run(context: LoopContext, phase: LoopPhase, stop_request: StopRequest, command: &ControlCommand) -> StepResult {
    match phase {
        LoopPhase::Ready => transitions::complete_stop(context, ResumePoint::AtTheStart, stop_request),
        LoopPhase::Preparing { round } => preparing::stop_preparation(context, round, stop_request),
        LoopPhase::PreparingStopped { round, stop_request } => {
            preparing::on_command_while_stopping(context, round, stop_request, command)
        }
        LoopPhase::Working { iteration, attempt } => {
            working::stop_agent(context, iteration, attempt, StopReason::Asked { stop_request })
        }
        LoopPhase::Waiting { iteration, attempt, until } => {
            transitions::complete_stop(context, ResumePoint::Waiting { iteration, attempt, until }, stop_request)
        }
        LoopPhase::Limited { iteration, attempt, wait } => {
            transitions::complete_stop(context, ResumePoint::Limited { iteration, attempt, wait }, stop_request)
        }
        LoopPhase::Verifying { iteration, attempt } => {
            verifying::stop_checks(context, iteration, attempt, stop_request)
        }
        LoopPhase::Stopping { iteration, attempt, stopping } => {
            stopping::on_command(context, StoppingPhase { iteration, attempt, stopping }, command)
        }
        LoopPhase::Paused { left } => match stop_request {
            StopRequest::Pause | StopRequest::PauseTakenBack => context.stay_in(LoopPhase::Paused { left }),
            StopRequest::Cancel | StopRequest::Signal(_) => transitions::complete_stop(context, left, stop_request),
        },
        LoopPhase::Interrupted { .. } | LoopPhase::Finished { .. } => context.stay_in(phase),
    }
}

/// Requests a pause for when neither agent nor checks are running.
fn pause_when_idle(mut context: LoopContext, phase: LoopPhase, command: &ControlCommand) -> StepResult {
    match phase {
        LoopPhase::PreparingStopped { round, stop_request } => {
            preparing::on_command_while_stopping(context, round, stop_request, command)
        }
        LoopPhase::Stopping { iteration, attempt, stopping } => {
            stopping::on_command(context, StoppingPhase { iteration, attempt, stopping }, command)
        }
        LoopPhase::Paused { .. } | LoopPhase::Interrupted { .. } | LoopPhase::Finished { .. } => context.stay_in(phase),
        LoopPhase::Ready => transitions::complete_stop(context, ResumePoint::AtTheStart, StopRequest::Pause),
        LoopPhase::Preparing { .. }
        | LoopPhase::Working { .. }
        | LoopPhase::Waiting { .. }
        | LoopPhase::Limited { .. }
        | LoopPhase::Verifying { .. } => {
            context.set_pause_wanted(command);
            context.stay_in(phase)
        }
    }
}

/// Resumes a paused run, or withdraws a pause that has not started.
fn resume_run(mut context: LoopContext, phase: LoopPhase) -> StepResult {
    match phase {
        LoopPhase::Paused { left } => recovery::resume_from(context, left, vec![]),
        LoopPhase::PreparingStopped { round, stop_request } => {
            preparing::on_command_while_stopping(context, round, stop_request, &ControlCommand::Resume)
        }
        LoopPhase::Stopping { iteration, attempt, stopping } => {
            stopping::on_command(context, StoppingPhase { iteration, attempt, stopping }, &ControlCommand::Resume)
        }
        LoopPhase::Ready
        | LoopPhase::Preparing { .. }
        | LoopPhase::Working { .. }
        | LoopPhase::Waiting { .. }
        | LoopPhase::Limited { .. }
        | LoopPhase::Verifying { .. }
        | LoopPhase::Interrupted { .. }
        | LoopPhase::Finished { .. } => {
            context.set_pause_wanted(&ControlCommand::Resume);
            context.stay_in(phase)
        }
    }
}

impl LoopContext {
    /// Notes a requested pause, or its withdrawal.
    pub(super) fn set_pause_wanted(&mut self, command: &ControlCommand) {
        match command {
            ControlCommand::Pause { .. } => self.pending_commands.pause = true,
            ControlCommand::Resume => self.pending_commands.pause = false,
            ControlCommand::Cancel
            | ControlCommand::Guide { .. }
            | ControlCommand::Limit { .. }
            | ControlCommand::Report { .. } => {}
        }
    }

    /// Applies changes of the limits. Returns the new totals, or `None` if nothing changes.
    pub(super) fn apply_limits(&mut self, changes: &LimitChanges) -> Option<ChangedLimits> {
        let changed = changes.resolve(&self.policy).ok().filter(|changed| !changed.is_empty())?;
        changed.apply_to(&mut self.policy);
        Some(changed)
    }
}
