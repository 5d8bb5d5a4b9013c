//! The phase in which a run waits for a rate limit, or because the agent asked for it. A rate-limited attempt uses neither a retry nor an iteration:
//! another agent takes over, or the run waits.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult, is_late_event};
use crate::attempt::{AttemptReport, SessionResumability};
use crate::effect::Effect;
use crate::event::{EventKind, LoopTimer, RunControl, UnixMillis};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{AgentSession, IterationState, LoopPhase, ResumePoint};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::ContextMode;
use crate::rate_limits::{LimitResponse, PlannedWait, RateLimitWait};
use crate::text::format_duration_ms;

/// An attempt that the provider refused because of a rate limit.
pub(super) struct RefusedAttempt {
    pub(super) attempt: u32,
    pub(super) reason: String,
    pub(super) reset_at: Option<UnixMillis>,
}

/// A fallback agent failed, and no other agent can continue.
pub(super) struct NoAgentLeft {
    pub(super) context: LoopContext,
    pub(super) iteration: IterationState,
}

/// The wait before `attempt` starts.
pub(super) struct RateLimitedPhase {
    pub(super) iteration: IterationState,
    pub(super) attempt: u32,
    pub(super) wait: RateLimitWait,
}

impl RateLimitedPhase {
    fn into_phase(self) -> LoopPhase {
        LoopPhase::Limited { iteration: self.iteration, attempt: self.attempt, wait: self.wait }
    }
}

pub(super) fn on_event(context: LoopContext, limited: RateLimitedPhase, event: EventKind) -> StepResult {
    if is_late_event(&event, limited.iteration.attempt_key(limited.attempt)) {
        return context.stay_in(limited.into_phase());
    }
    match event {
        EventKind::TimerFired { timer: LoopTimer::Limit { .. }, .. } => end_wait(context, limited),
        EventKind::TimerFired { timer: LoopTimer::Run, .. } => {
            let reason = context.describe_time_limit();
            transitions::finish_over_budget(context, &limited.iteration, reason)
        }
        EventKind::Control(RunControl::Interrupted { signal }) => {
            let RateLimitedPhase { iteration, attempt, wait } = limited;
            transitions::interrupt_run(context, ResumePoint::Limited { iteration, attempt, wait }, signal)
        }
        EventKind::Control(RunControl::Broken { what }) => {
            let run_end = RunEnd::state_unusable(what);
            transitions::finish_with_iteration(context, &limited.iteration, IterationStatus::Failed, run_end)
        }
        EventKind::Control(RunControl::CommandReceived { .. })
        | EventKind::Lifecycle(_)
        | EventKind::Agent { .. }
        | EventKind::Work(_)
        | EventKind::TimerFired { .. } => context.stay_in(limited.into_phase()),
    }
}

/// Switches to another agent, waits, or ends the run after a rate-limited attempt.
pub(super) fn handle_refusal(
    mut context: LoopContext,
    iteration: IterationState,
    refused: RefusedAttempt,
) -> StepResult {
    let RefusedAttempt { attempt, reason, reset_at } = refused;
    context.limits.mark_limited(reset_at, context.event_context.wall_clock, context.event_context.random);
    let iteration =
        continue_session(&context, IterationState { excused_attempts: iteration.excused_attempts + 1, ..iteration });
    let policy = &context.policy.rate_limits;
    match context.limits.choose_response(context.agent_count(), context.event_context.wall_clock, policy) {
        LimitResponse::SwitchAgent { agent } => {
            let reason = format!("{} is rate limited: {reason}", context.agent_name(context.limits.agent));
            switch_agent(context, iteration, attempt + 1, agent, reason)
        }
        LimitResponse::Wait(planned) => wait_for_limit(context, iteration, attempt + 1, planned, reason),
        LimitResponse::GiveUp { wait_ms, max_wait_ms } => {
            let why = wait_too_long_reason(&context, &reason, wait_ms, max_wait_ms);
            let run_end = RunEnd::new(Outcome::OverBudget, why);
            transitions::finish_with_iteration(context, &iteration, IterationStatus::Failed, run_end)
        }
    }
}

/// Excludes a fallback agent that failed permanently. An available agent takes over, or the run waits for a limited
/// one. Returns the error if neither is possible, or if the failed agent is not a fallback.
pub(super) fn give_up_on_fallback(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    failure: &str,
) -> Result<StepResult, Box<NoAgentLeft>> {
    if context.limits.agent == 0 {
        return Err(Box::new(NoAgentLeft { context, iteration }));
    }
    let reason = format!("{} failed: {failure}", context.agent_name(context.limits.agent));
    context.limits.mark_unusable();
    let failures = iteration.failure_count(attempt);
    match context.limits.choose_response(
        context.agent_count(),
        context.event_context.wall_clock,
        &context.policy.rate_limits,
    ) {
        LimitResponse::SwitchAgent { agent } => {
            let iteration = IterationState { excused_attempts: iteration.excused_attempts + failures, ..iteration };
            Ok(switch_agent(context, iteration, attempt + 1, agent, reason))
        }
        LimitResponse::Wait(planned) => {
            let iteration = IterationState { excused_attempts: iteration.excused_attempts + failures, ..iteration };
            Ok(wait_for_limit(context, iteration, attempt + 1, planned, reason))
        }
        LimitResponse::GiveUp { .. } => Err(Box::new(NoAgentLeft { context, iteration })),
    }
}

fn wait_for_limit(
    mut context: LoopContext,
    iteration: IterationState,
    attempt: u32,
    planned: PlannedWait,
    reason: String,
) -> StepResult {
    let PlannedWait { agent, wait_ms, reset_at } = planned;
    context.limits.count_wait(wait_ms, &context.policy.rate_limits);
    let until = context.event_context.wall_clock.add_millis(wait_ms);
    let wait = RateLimitWait { agent, until, planned_ms: wait_ms, since: context.now(), asked_because: None };
    let fact = Fact::LimitWaiting {
        iteration: iteration.number,
        attempt,
        agent: context.agent_name(agent),
        delay_ms: wait_ms,
        reset_at: reset_at.map(|reset| reset.0.div_euclid(1_000)),
        reason,
    };
    let (state, effects) = start_wait(context, RateLimitedPhase { iteration, attempt, wait }, wait_ms);
    (state, core::iter::once(record_fact(fact)).chain(effects).collect())
}

fn wait_too_long_reason(context: &LoopContext, reason: &str, remaining_ms: u64, max_wait_ms: u64) -> String {
    let max_wait = format_duration_ms(max_wait_ms);
    let waited = match context.limits.total_wait_ms() {
        0 => String::new(),
        waited => format!(" and has already waited {}", format_duration_ms(waited)),
    };
    format!(
        "rate limited: {reason}; the limit lasts another {}, but the run may wait at most {max_wait}{waited} \
         (max_rate_limit_wait)",
        format_duration_ms(remaining_ms)
    )
}

/// Lets the next attempt resume the session of the last one, if the run resumes sessions.
pub(super) fn continue_session(context: &LoopContext, iteration: IterationState) -> IterationState {
    match (&context.policy.context, &context.session) {
        (ContextMode::Continue, Some(session)) => {
            IterationState { session: Some(session.clone()), plan: iteration.plan.into_continuation(), ..iteration }
        }
        (ContextMode::Continue, None) | (ContextMode::Fresh, _) => iteration,
    }
}

/// Starts a wait. A long one parks the run if its driver can resume it later: the run ends here, as if it was interrupted.
pub(super) fn start_wait(context: LoopContext, limited: RateLimitedPhase, wait_ms: u64) -> StepResult {
    // A requested pause takes effect in the wait, and keeps the driver.
    if context.policy.rate_limits.parks(wait_ms) && !context.pending_commands.pause {
        let RateLimitedPhase { iteration, attempt, wait } = limited;
        let ended = RunEnd::parked(wait_ms, wait.asked_because.as_deref());
        return transitions::suspend_run(context, ResumePoint::Limited { iteration, attempt, wait }, ended);
    }
    let timer = LoopTimer::Limit { key: limited.iteration.attempt_key(limited.attempt) };
    (context.enter_phase(limited.into_phase()), vec![Effect::StartTimer { timer, after_ms: wait_ms }])
}

/// Waits for the rest of a wait that was interrupted.
pub(super) fn resume_wait(context: LoopContext, limited: RateLimitedPhase) -> StepResult {
    let at = context.now();
    match limited.wait.remaining_ms(context.event_context.wall_clock) {
        0 => end_wait(context, RateLimitedPhase { wait: RateLimitWait { since: at, ..limited.wait }, ..limited }),
        ms => {
            let wait = RateLimitWait {
                until: context.event_context.wall_clock.add_millis(ms),
                planned_ms: ms,
                since: at,
                ..limited.wait
            };
            start_wait(context, RateLimitedPhase { wait, ..limited }, ms)
        }
    }
}

/// Starts the attempt after the wait. The time waited does not count towards the timeout of the iteration.
fn end_wait(context: LoopContext, limited: RateLimitedPhase) -> StepResult {
    let RateLimitedPhase { iteration, attempt, wait } = limited;
    let started = iteration.started.add_millis(context.now().elapsed_since(wait.since));
    let iteration = IterationState { started, ..iteration };
    let agent =
        context.limits.first_free_agent(context.agent_count(), context.event_context.wall_clock).unwrap_or(wait.agent);
    let reason = "its rate limit should be over".into();
    switch_agent(context, iteration, attempt, agent, reason)
}

/// Starts an attempt by this agent. If the agent changes, it gets the whole prompt in a fresh session.
fn switch_agent(
    mut context: LoopContext,
    mut iteration: IterationState,
    attempt: u32,
    agent: u32,
    reason: String,
) -> StepResult {
    let changed = change_agent(&mut context, &mut iteration, attempt, agent, reason);
    let (state, effects) = transitions::start_attempt(context, iteration, attempt);
    (state, changed.into_iter().chain(effects).collect())
}

/// Switches back to a more preferred agent at the start of an iteration, if its limit is over.
pub(super) fn return_to_preferred(context: &mut LoopContext, iteration: &mut IterationState) -> Option<Effect> {
    let agent = context.limits.returning_agent(context.event_context.wall_clock)?;
    change_agent(context, iteration, 1, agent, "its rate limit is over".into())
}

fn change_agent(
    context: &mut LoopContext,
    iteration: &mut IterationState,
    attempt: u32,
    agent: u32,
    reason: String,
) -> Option<Effect> {
    let is_same_agent = agent == context.limits.agent;
    context.limits.activate_agent(agent);
    if is_same_agent {
        return None;
    }
    (context.session, iteration.session) = (None, None);
    iteration.plan = iteration.plan.clone().into_whole();
    let name = context.agent_name(agent);
    Some(record_fact(Fact::AgentChanged { iteration: iteration.number, attempt, agent: name, reason }))
}

/// Returns the session in which an attempt ended: the one that it resumed, unless it reports another.
fn session_after(iteration: &IterationState, report: &AttemptReport) -> Option<AgentSession> {
    let requested = iteration.session.clone();
    let new_id = report.session.clone().filter(|id| requested.as_ref().is_none_or(|session| session.id != *id));
    match new_id {
        Some(id) => Some(AgentSession { id, spent: report.spend }),
        None => requested.map(|session| session.after_attempt(report)),
    }
}

impl LoopContext {
    /// Keeps the session of the attempt for the next iteration, if the run resumes sessions and the agent can.
    pub(super) fn remember_session(&mut self, iteration: &IterationState, report: &AttemptReport) {
        self.session = match (self.policy.context, report.resumability) {
            (ContextMode::Continue, SessionResumability::Resumable) => session_after(iteration, report),
            (ContextMode::Continue, SessionResumability::None | SessionResumability::Lost)
            | (ContextMode::Fresh, _) => None,
        };
    }

    fn agent_count(&self) -> u32 {
        u32::try_from(self.policy.rate_limits.agents.len()).unwrap_or(u32::MAX).max(1)
    }

    fn agent_name(&self, agent: u32) -> String {
        let name = self.policy.rate_limits.agents.get(agent as usize);
        name.cloned().unwrap_or_else(|| "the agent".into())
    }
}
