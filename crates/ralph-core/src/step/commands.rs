//! What people ask for from another process, in every phase. An order that means nothing there changes nothing.
use alloc::string::String;
use alloc::vec;

use super::stopping::StoppingPhase;
use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult, preparing, recovery, stopping, verifying, working};
use crate::control_command::{ControlCommand, PauseTiming, StopRequest};
use crate::event::UnixMillis;
use crate::fact::Fact;
use crate::loop_state::{LoopPhase, ResumePoint, StopReason};

pub(super) fn on_command(
    context: LoopContext,
    phase: LoopPhase,
    order: ControlCommand,
    when: (UnixMillis, u32),
) -> StepResult {
    match order {
        ControlCommand::Guide { words } => add_guidance(context, phase, words),
        ControlCommand::Cancel => stop_run(context, phase, (StopRequest::Cancel, order), when),
        ControlCommand::Pause { when: PauseTiming::Now } => stop_run(context, phase, (StopRequest::Pause, order), when),
        ControlCommand::Pause { when: PauseTiming::Idle } => pause_when_idle(context, phase, &order),
        ControlCommand::Resume => resume_run(context, phase, when),
    }
}

/// Keeps what was said for the next prompt. A run that is over has none.
fn add_guidance(mut context: LoopContext, phase: LoopPhase, words: String) -> StepResult {
    if let LoopPhase::Interrupted { .. } | LoopPhase::Finished { .. } = phase {
        return context.stay_in(phase);
    }
    context.wishes.guidance.push(words.clone());
    (context.enter_phase(phase), vec![record_fact(Fact::RunGuided { words })])
}

/// Stops what is at work. Where nothing is, the wish is done at once.
fn stop_run(
    context: LoopContext,
    phase: LoopPhase,
    (halt, order): (StopRequest, ControlCommand),
    when: (UnixMillis, u32),
) -> StepResult {
    match phase {
        LoopPhase::Ready => transitions::complete_stop(context, ResumePoint::AtTheStart, halt, when),
        LoopPhase::Preparing { round } => preparing::stop_preparation(context, round, halt),
        LoopPhase::PreparingStopped { round, halt } => {
            preparing::on_command_while_stopping(context, (round, halt), &order)
        }
        LoopPhase::Working { iteration, attempt } => {
            working::stop_agent(context, iteration, attempt, StopReason::Asked { halt })
        }
        LoopPhase::Waiting { iteration, attempt, until } => {
            transitions::complete_stop(context, ResumePoint::Waiting { iteration, attempt, until }, halt, when)
        }
        LoopPhase::Limited { iteration, attempt, wait } => {
            transitions::complete_stop(context, ResumePoint::Limited { iteration, attempt, wait }, halt, when)
        }
        LoopPhase::Verifying { iteration, attempt } => verifying::stop_checks(context, iteration, attempt, halt),
        LoopPhase::Stopping { iteration, attempt, stopping } => {
            stopping::on_command(context, StoppingPhase { iteration, attempt, stopping }, &order)
        }
        LoopPhase::Paused { left } => match halt {
            StopRequest::Pause | StopRequest::PauseTakenBack => context.stay_in(LoopPhase::Paused { left }),
            StopRequest::Cancel | StopRequest::Signal(_) => transitions::complete_stop(context, left, halt, when),
        },
        LoopPhase::Interrupted { .. } | LoopPhase::Finished { .. } => context.stay_in(phase),
    }
}

/// Pauses as soon as nobody is at work.
fn pause_when_idle(mut context: LoopContext, phase: LoopPhase, order: &ControlCommand) -> StepResult {
    match phase {
        LoopPhase::PreparingStopped { round, halt } => {
            preparing::on_command_while_stopping(context, (round, halt), order)
        }
        LoopPhase::Stopping { iteration, attempt, stopping } => {
            stopping::on_command(context, StoppingPhase { iteration, attempt, stopping }, order)
        }
        LoopPhase::Paused { .. } | LoopPhase::Interrupted { .. } | LoopPhase::Finished { .. } => context.stay_in(phase),
        LoopPhase::Ready
        | LoopPhase::Preparing { .. }
        | LoopPhase::Working { .. }
        | LoopPhase::Waiting { .. }
        | LoopPhase::Limited { .. }
        | LoopPhase::Verifying { .. } => {
            context.set_pause_wanted(order);
            context.stay_in(phase)
        }
    }
}

/// Goes on, or takes back a pause that has not begun.
fn resume_run(mut context: LoopContext, phase: LoopPhase, when: (UnixMillis, u32)) -> StepResult {
    match phase {
        LoopPhase::Paused { left } => recovery::resume_from(context, left, vec![], when),
        LoopPhase::PreparingStopped { round, halt } => {
            preparing::on_command_while_stopping(context, (round, halt), &ControlCommand::Resume)
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
    /// Remembers that a pause is wanted, or is wanted no more.
    pub(super) fn set_pause_wanted(&mut self, order: &ControlCommand) {
        match order {
            ControlCommand::Pause { .. } => self.wishes.pause = true,
            ControlCommand::Resume => self.wishes.pause = false,
            ControlCommand::Cancel | ControlCommand::Guide { .. } => {}
        }
    }
}
