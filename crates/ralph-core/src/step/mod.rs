//! The state machine: takes one event, returns the next state and its effects. There is one file per phase, and each
//! phase matches every group of events by name, so that the compiler lists the places that must handle a new event.
mod abandoned;
mod agent_report;
mod agent_wait;
mod commands;
mod continued;
mod decided;
mod paused;
mod preparing;
mod rate_limited;
mod ready;
mod recovery;
mod retry_wait;
mod stepped;
mod stopping;
mod transitions;
mod verifying;
mod working;

#[cfg(test)]
pub(crate) mod tests;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

pub(crate) use verifying::{MAX_PROTECTED_REJECTIONS, MAX_UNEVALUATED_VERDICTS};
pub(crate) use working::is_repeated_failure;

use crate::attempt::ModelSpend;
use crate::budget::{BudgetUsage, WorkedTime};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, LifecycleEvent, LoopTimer, RunControl, UnixMillis, WorkEvent};
use crate::loop_state::{LoopPhase, LoopState};

/// Handles one event. Consumes the state, so that every transition must name the next phase.
#[must_use]
pub fn step(state: LoopState, mut event: Event) -> (LoopState, Vec<Effect>) {
    let event_context = EventContext {
        at: event.at,
        random: event.random,
        wall_clock: event.wall_clock,
        plan_availability: event.plan_availability,
        used_by_others: core::mem::take(&mut event.used_by_others),
        standing_guidance: core::mem::take(&mut event.standing_guidance),
    };
    let worked_before = state.worked;
    let is_volatile = event.kind.is_volatile();
    let worked = advance_worked_time(worked_before, &state.phase, event.at, &event.kind);
    let (context, phase) = LoopContext::from_state(LoopState { worked, ..state }, event_context.clone());
    let (next, effects) = paused::pause_if_waiting(dispatch_event(context, phase, event.kind), event_context);
    // An event without effects must leave the stored state unchanged.
    let worked = if is_volatile || effects.is_empty() { worked_before } else { next.worked };
    (LoopState { worked, ..next }, effects)
}

fn dispatch_event(context: LoopContext, phase: LoopPhase, event: EventKind) -> StepResult {
    let event = match event {
        EventKind::Lifecycle(event) => return handle_lifecycle(context, phase, event),
        EventKind::Control(RunControl::CommandReceived { command }) => {
            return commands::on_command(context, phase, command);
        }
        event @ (EventKind::Control(RunControl::Interrupted { .. } | RunControl::Broken { .. })
        | EventKind::Agent { .. }
        | EventKind::Work(_)
        | EventKind::TimerFired { .. }) => event,
    };
    match phase {
        LoopPhase::Ready => ready::on_event(context, event),
        LoopPhase::Preparing { round } => preparing::on_event(context, round, event),
        LoopPhase::PreparingStopped { round, stop_request } => {
            preparing::on_event_while_stopping(context, round, stop_request, event)
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

/// Handles the events of a driver, which all phases share.
fn handle_lifecycle(context: LoopContext, phase: LoopPhase, event: LifecycleEvent) -> StepResult {
    match (event, phase) {
        (LifecycleEvent::Started { opening, orders }, LoopPhase::Ready) => ready::on_started(context, opening, orders),
        (LifecycleEvent::Started { .. }, phase) => context.stay_in(phase),
        (LifecycleEvent::Recovered { changed, orders }, phase) => {
            recovery::on_recovered(context, phase, changed, orders)
        }
        (LifecycleEvent::Abandoned { cause }, phase) => abandoned::on_abandoned(context, phase, cause),
        (LifecycleEvent::Decided { verdict, decision }, phase) => {
            decided::on_decided(context, phase, verdict, decision)
        }
        (LifecycleEvent::Continued { continuation }, phase) => continued::on_continued(context, phase, continuation),
        (LifecycleEvent::Closed { reason }, phase) => stepped::on_closed(context, phase, reason),
        (LifecycleEvent::CompletionVerified { completion }, phase) => {
            stepped::on_completion_verified(context, phase, completion)
        }
    }
}

/// Counts the time up to `at` as worked, unless the run was paused or had no driver until now.
fn advance_worked_time(worked: WorkedTime, phase: &LoopPhase, at: UnixMillis, kind: &EventKind) -> WorkedTime {
    let has_new_driver = matches!(
        kind,
        EventKind::Lifecycle(
            LifecycleEvent::Started { .. }
                | LifecycleEvent::Recovered { .. }
                | LifecycleEvent::Decided { .. }
                | LifecycleEvent::Continued { .. }
                | LifecycleEvent::Closed { .. }
                | LifecycleEvent::CompletionVerified { .. }
        )
    );
    if has_new_driver || matches!(phase, LoopPhase::Ready | LoopPhase::Paused { .. }) {
        return worked.resume_at(at);
    }
    worked.advance_to(at)
}

type StepResult = (LoopState, Vec<Effect>);

/// The part of the loop state that all phases share, and the context of the current event.
struct LoopContext {
    policy: crate::policy::Policy,
    unevaluated_verdicts: u32,
    protected_rejections: u32,
    spent: ModelSpend,
    session: Option<crate::loop_state::AgentSession>,
    limits: crate::rate_limits::RateLimitState,
    worked: WorkedTime,
    unpriced: u32,
    stall: crate::stall::StallCounter,
    baseline: Vec<crate::receipt::BaselineResult>,
    last_rejection: Option<String>,
    denied_actions: Vec<String>,
    waiting_claim: Option<Box<crate::decision::WaitingClaim>>,
    pending_commands: crate::control_command::PendingCommands,
    standing_guidance: Vec<String>,
    /// Not stored: valid for the current event only.
    event_context: EventContext,
}

/// The time, randomness and context of the current event.
#[derive(Clone)]
struct EventContext {
    at: UnixMillis,
    random: u32,
    plan_availability: crate::event::PlanAvailability,
    wall_clock: UnixMillis,
    used_by_others: Vec<BudgetUsage>,
    standing_guidance: Vec<String>,
}

impl LoopContext {
    fn from_state(state: LoopState, event_context: EventContext) -> (Self, LoopPhase) {
        let LoopState {
            policy,
            unevaluated_verdicts,
            protected_rejections,
            spent,
            session,
            limits,
            worked,
            unpriced,
            stall,
            baseline,
            last_rejection,
            denied_actions,
            waiting_claim,
            pending_commands,
            standing_guidance,
            phase,
        } = state;
        let context = Self {
            policy,
            unevaluated_verdicts,
            protected_rejections,
            spent,
            session,
            limits,
            worked,
            unpriced,
            stall,
            baseline,
            last_rejection,
            denied_actions,
            waiting_claim,
            pending_commands,
            standing_guidance,
            event_context,
        };
        (context, phase)
    }

    fn enter_phase(self, phase: LoopPhase) -> LoopState {
        LoopState {
            policy: self.policy,
            unevaluated_verdicts: self.unevaluated_verdicts,
            protected_rejections: self.protected_rejections,
            spent: self.spent,
            session: self.session,
            limits: self.limits,
            worked: self.worked,
            unpriced: self.unpriced,
            stall: self.stall,
            baseline: self.baseline,
            last_rejection: self.last_rejection,
            denied_actions: self.denied_actions,
            waiting_claim: self.waiting_claim,
            pending_commands: self.pending_commands,
            standing_guidance: self.standing_guidance,
            phase,
        }
    }

    /// Returns when the current event happened, by the driver's clock.
    fn now(&self) -> UnixMillis {
        self.event_context.at
    }

    /// Returns why a budget is exhausted, or `None` if there is budget left.
    fn exhaustion_reason(&self) -> Option<String> {
        self.exhaustion_reason_with(ModelSpend::default())
    }

    /// Returns why the run must not start another iteration after this many, or `None` if it may.
    fn exhaustion_reason_after(&self, iterations: u32) -> Option<String> {
        self.exhaustion_reason()
            .or_else(|| self.policy.budget_view(&self.event_context.used_by_others).iteration_limit_reason(iterations))
    }

    /// Like [`Self::exhaustion_reason`], with spending of the running attempt added.
    fn exhaustion_reason_with(&self, additional: ModelSpend) -> Option<String> {
        let used = self.budget_usage();
        self.policy
            .budget_view(&self.event_context.used_by_others)
            .exhaustion_reason(BudgetUsage { spent: used.spent.add_known(additional), ..used })
    }

    /// Returns the time left to the run, or `None` without a time limit.
    fn remaining_time_ms(&self) -> Option<u64> {
        self.policy.budget_view(&self.event_context.used_by_others).remaining_time_ms(self.budget_usage())
    }

    /// Returns the reason of a run that reached its time limit.
    fn describe_time_limit(&self) -> String {
        self.policy.budget_view(&self.event_context.used_by_others).describe_time_limit(self.budget_usage())
    }

    fn budget_usage(&self) -> BudgetUsage {
        let (spent, worked_ms, unpriced) = (self.spent, self.worked.total_ms(), self.unpriced);
        BudgetUsage { spent, worked_ms, unpriced, ..BudgetUsage::default() }
    }

    /// Ignores the event and stays in the phase.
    fn stay_in(self, phase: LoopPhase) -> StepResult {
        (self.enter_phase(phase), Vec::new())
    }
}

/// Returns the attempt that an event belongs to, if any.
fn attempt_of_event(kind: &EventKind) -> Option<AttemptKey> {
    match kind {
        EventKind::Agent { key, .. }
        | EventKind::Work(
            WorkEvent::AttemptEnded { key, .. } | WorkEvent::Verified { key, .. } | WorkEvent::Faulted { key, .. },
        ) => Some(*key),
        EventKind::TimerFired { timer, .. } => match timer {
            LoopTimer::Iteration { key }
            | LoopTimer::Silence { key }
            | LoopTimer::AfterResult { key }
            | LoopTimer::Repeating { key }
            | LoopTimer::Handshake { key }
            | LoopTimer::Login { key }
            | LoopTimer::Retry { key }
            | LoopTimer::Limit { key } => Some(*key),
            LoopTimer::Run => None,
        },
        EventKind::Lifecycle(_) | EventKind::Control(_) | EventKind::Work(WorkEvent::Prepared { .. }) => None,
    }
}

/// Returns whether an event belongs to an attempt other than the current one, and so came late.
fn is_late_event(kind: &EventKind, current: AttemptKey) -> bool {
    attempt_of_event(kind).is_some_and(|key| key != current)
}
