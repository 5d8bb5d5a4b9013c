//! The machine: one event in, the next loop and its effects out. One file per phase; every phase answers
//! every event by name, so that a new event shows each place that must decide.
mod abandoned;
mod commands;
mod paused;
mod preparing;
mod rate_limited;
mod ready;
mod recovery;
mod retry_wait;
mod stopping;
mod transitions;
mod verifying;
mod working;

#[cfg(test)]
mod budget_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod command_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod failure_tests;
#[cfg(test)]
mod preparing_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod random_walk_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod rate_limit_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod recovery_tests;
#[cfg(test)]
mod rejection_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod retry_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod session_tests;
#[cfg(test)]
mod stall_tests;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
pub(crate) mod test_builders;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the tests pick one effect out of many")]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

use crate::attempt::ModelSpend;
use crate::budget::{BudgetUsage, WorkedTime};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, LoopTimer, UnixMillis};
use crate::loop_state::{LoopPhase, LoopState};

/// Decides. The loop is consumed, so that no transition can forget to say what comes next.
#[must_use]
pub fn step(state: LoopState, mut event: Event) -> (LoopState, Vec<Effect>) {
    let others = core::mem::take(&mut event.used_by_others);
    let Event { at, wall_clock: wall, plan_availability: ground, .. } = event;
    let (before, is_volatile, event_context) = (
        state.worked,
        event.kind.is_volatile(),
        EventContext { plan_availability: ground, wall_clock: wall, used_by_others: others },
    );
    let worked = advance_worked_time(before, &state.phase, (at, &event.kind));
    let (context, phase) = LoopContext::from_state(LoopState { worked, ..state }, event_context.clone());
    let (next, effects) = paused::pause_if_waiting(dispatch_event(context, phase, event), event_context);
    // What decides nothing leaves the loop as it is.
    let worked = if is_volatile || effects.is_empty() { before } else { next.worked };
    (LoopState { worked, ..next }, effects)
}

fn dispatch_event(context: LoopContext, phase: LoopPhase, event: Event) -> StepResult {
    if let EventKind::Recovered { changed, orders } = event.kind {
        return recovery::on_recovered(context, phase, (changed, orders), (event.at, event.random));
    }
    if let EventKind::Ordered { order } = event.kind {
        return commands::on_command(context, phase, order, (event.at, event.random));
    }
    if let EventKind::Abandoned = event.kind {
        return abandoned::on_abandoned(context, phase, event.at);
    }
    match phase {
        LoopPhase::Ready => ready::on_event(context, event),
        LoopPhase::Preparing { round } => preparing::on_event(context, round, event),
        LoopPhase::PreparingStopped { round, halt } => {
            preparing::on_event_while_stopping(context, (round, halt), event)
        }
        LoopPhase::Working { iteration, attempt } => working::on_event(context, iteration, attempt, event),
        LoopPhase::Waiting { iteration, attempt, until } => {
            retry_wait::on_event(context, retry_wait::RetryWaitPhase { iteration, attempt, until }, event)
        }
        LoopPhase::Limited { iteration, attempt, wait } => {
            rate_limited::on_event(context, rate_limited::RateLimitedPhase { iteration, attempt, wait }, event)
        }
        LoopPhase::Verifying { iteration, attempt } => verifying::on_event(context, iteration, attempt, event),
        LoopPhase::Stopping { iteration, attempt, stopping } => {
            stopping::on_event(context, stopping::StoppingPhase { iteration, attempt, stopping }, event)
        }
        LoopPhase::Paused { left } => paused::on_event(context, left, event),
        LoopPhase::Interrupted { left, ended } => context.stay_in(LoopPhase::Interrupted { left, ended }),
        LoopPhase::Finished { iterations, ended } => context.stay_in(LoopPhase::Finished { iterations, ended }),
    }
}

/// A pause is no work, and nothing is before the start.
fn advance_worked_time(worked: WorkedTime, phase: &LoopPhase, (at, kind): (UnixMillis, &EventKind)) -> WorkedTime {
    let is_taken_up = matches!(kind, EventKind::Started | EventKind::Recovered { .. });
    if is_taken_up || matches!(phase, LoopPhase::Ready | LoopPhase::Paused { .. }) {
        return worked.resume_at(at);
    }
    worked.advance_to(at)
}

type StepResult = (LoopState, Vec<Effect>);

/// What a loop keeps from phase to phase.
struct LoopContext {
    policy: crate::policy::Policy,
    blind_verdicts: u32,
    spent: ModelSpend,
    session: Option<crate::loop_state::AgentSession>,
    limits: crate::rate_limits::RateLimitState,
    worked: WorkedTime,
    unpriced: u32,
    stall: crate::stall::StallCounter,
    wishes: crate::control_command::PendingCommands,
    /// Not kept: it is as old as the event.
    event_context: EventContext,
}

/// How the world is when something happens.
#[derive(Clone)]
struct EventContext {
    plan_availability: crate::event::PlanAvailability,
    wall_clock: UnixMillis,
    used_by_others: Vec<BudgetUsage>,
}

impl LoopContext {
    fn from_state(state: LoopState, event_context: EventContext) -> (Self, LoopPhase) {
        let LoopState { policy, blind_verdicts, spent, session, limits, worked, unpriced, stall, wishes, phase } =
            state;
        let context =
            Self { policy, blind_verdicts, spent, session, limits, worked, unpriced, stall, wishes, event_context };
        (context, phase)
    }

    fn enter_phase(self, phase: LoopPhase) -> LoopState {
        let Self { policy, blind_verdicts, spent, session, limits, worked, unpriced, stall, wishes, .. } = self;
        LoopState { policy, blind_verdicts, spent, session, limits, worked, unpriced, stall, wishes, phase }
    }

    /// Says why the run may use nothing more, if that is so.
    fn exhaustion_reason(&self) -> Option<String> {
        self.exhaustion_reason_with(ModelSpend::default())
    }

    /// Says why the run may begin no other iteration after so many, if that is so.
    fn exhaustion_reason_after(&self, iterations: u32) -> Option<String> {
        self.exhaustion_reason()
            .or_else(|| self.policy.budget_view(&self.event_context.used_by_others).iteration_limit_reason(iterations))
    }

    /// The same, where so much more is being spent.
    fn exhaustion_reason_with(&self, additional: ModelSpend) -> Option<String> {
        let used = self.budget_usage();
        self.policy
            .budget_view(&self.event_context.used_by_others)
            .exhaustion_reason(BudgetUsage { spent: used.spent.add_known(additional), ..used })
    }

    /// Returns how long the run may still take, where that is limited.
    fn remaining_time_ms(&self) -> Option<u64> {
        self.policy.budget_view(&self.event_context.used_by_others).remaining_time_ms(self.budget_usage())
    }

    /// Says that the time is over.
    fn describe_time_limit(&self) -> String {
        self.policy.budget_view(&self.event_context.used_by_others).describe_time_limit(self.budget_usage())
    }

    fn budget_usage(&self) -> BudgetUsage {
        let (spent, worked_ms, unpriced) = (self.spent, self.worked.total_ms(), self.unpriced);
        BudgetUsage { spent, worked_ms, unpriced, ..BudgetUsage::default() }
    }

    /// Stays in the phase: the event means nothing here.
    fn stay_in(self, phase: LoopPhase) -> StepResult {
        (self.enter_phase(phase), Vec::new())
    }
}

/// Returns the attempt that an event belongs to, where it belongs to one.
fn attempt_of_event(kind: &EventKind) -> Option<AttemptKey> {
    match kind {
        EventKind::AttemptEnded { key, .. }
        | EventKind::ResultSeen { key }
        | EventKind::SpokeAgain { key }
        | EventKind::Repeating { key }
        | EventKind::GotOn { key }
        | EventKind::HandshakeBegan { key }
        | EventKind::HandshakeDone { key }
        | EventKind::Overspent { key, .. }
        | EventKind::Verified { key, .. }
        | EventKind::Faulted { key, .. } => Some(*key),
        EventKind::TimerFired { timer } => match timer {
            LoopTimer::Iteration { key }
            | LoopTimer::Silence { key }
            | LoopTimer::AfterResult { key }
            | LoopTimer::Repeating { key }
            | LoopTimer::Handshake { key }
            | LoopTimer::Retry { key }
            | LoopTimer::Limit { key } => Some(*key),
            LoopTimer::Run => None,
        },
        EventKind::Started
        | EventKind::Recovered { .. }
        | EventKind::Prepared { .. }
        | EventKind::Interrupted { .. }
        | EventKind::Ordered { .. }
        | EventKind::Abandoned
        | EventKind::Broken { .. } => None,
    }
}

/// Tells whether an event belongs to another attempt than this one: it came late.
fn is_late_event(kind: &EventKind, current: AttemptKey) -> bool {
    attempt_of_event(kind).is_some_and(|key| key != current)
}
