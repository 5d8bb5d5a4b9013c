//! Rate limits. A refused attempt costs neither a retry nor an iteration: another agent takes over, or the run waits.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::transitions::{self, record_fact};
use super::{LoopContext, StepResult, is_late_event};
use crate::attempt::{AttemptReport, SessionResumability};
use crate::effect::Effect;
use crate::event::{Event, EventKind, LoopTimer, UnixMillis};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{AgentSession, IterationState, LoopPhase, ResumePoint};
use crate::outcome::{Outcome, RunEnd};
use crate::policy::ContextMode;
use crate::rate_limits::{LimitResponse, PlannedWait, RateLimitWait};
use crate::text::format_duration_ms;

/// An attempt that a provider refused.
pub(super) struct RefusedAttempt {
    pub(super) attempt: u32,
    pub(super) reason: String,
    pub(super) reset_at: Option<UnixMillis>,
}

/// The wait before `attempt`.
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

pub(super) fn on_event(context: LoopContext, limited: RateLimitedPhase, event: Event) -> StepResult {
    let Event { at, kind, .. } = event;
    if is_late_event(&kind, limited.iteration.attempt_key(limited.attempt)) {
        return context.stay_in(limited.into_phase());
    }
    match kind {
        EventKind::TimerFired { timer: LoopTimer::Limit { .. } } => end_wait(context, limited, at),
        EventKind::TimerFired { timer: LoopTimer::Run } => {
            let what = context.describe_time_limit();
            transitions::finish_over_budget(context, &limited.iteration, what, at)
        }
        EventKind::Interrupted { signal } => {
            let RateLimitedPhase { iteration, attempt, wait } = limited;
            transitions::interrupt_run(context, ResumePoint::Limited { iteration, attempt, wait }, at, signal)
        }
        EventKind::Broken { what } => transitions::finish_with_iteration(
            context,
            &limited.iteration,
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
        | EventKind::TimerFired { .. }
        | EventKind::Faulted { .. } => context.stay_in(limited.into_phase()),
    }
}

/// Decides what follows a refusal.
pub(super) fn handle_refusal(
    mut context: LoopContext,
    iteration: IterationState,
    refused: RefusedAttempt,
    (at, dice): (UnixMillis, u32),
) -> StepResult {
    let RefusedAttempt { attempt, reason: why, reset_at } = refused;
    context.limits.mark_limited(reset_at, context.event_context.wall_clock, dice);
    let iteration =
        continue_session(&context, IterationState { excused_attempts: iteration.excused_attempts + 1, ..iteration });
    let max_wait_ms = context.policy.rate_limits.max_wait_ms;
    match context.limits.choose_response(context.agent_count(), context.event_context.wall_clock, max_wait_ms) {
        LimitResponse::SwitchAgent { agent } => {
            let reason = format!("{} is rate limited: {why}", context.agent_name(context.limits.agent));
            switch_agent(context, iteration, (attempt + 1, agent), (reason, at))
        }
        LimitResponse::Wait(planned) => wait_for_limit(context, iteration, (attempt + 1, planned), (why, at)),
        LimitResponse::GiveUp { wait_ms: ms } => {
            let ended = RunEnd::new(Outcome::OverBudget, wait_too_long_reason(&context, &why, ms));
            transitions::finish_with_iteration(context, &iteration, (IterationStatus::Failed, at), ended)
        }
    }
}

/// A fallback has failed for good, and not over a limit. It is asked no more: one that is free takes its place, or the run
/// waits for the one that is limited. Gives everything back where neither is possible: then the failure stands.
pub(super) fn give_up_on_fallback(
    mut context: LoopContext,
    iteration: IterationState,
    (attempt, why): (u32, &str),
    at: UnixMillis,
) -> Result<StepResult, Box<(LoopContext, IterationState)>> {
    if context.limits.agent == 0 {
        return Err(Box::new((context, iteration)));
    }
    let reason = format!("{} failed: {why}", context.agent_name(context.limits.agent));
    context.limits.mark_unusable();
    let failures = iteration.failure_count(attempt);
    match context.limits.choose_response(
        context.agent_count(),
        context.event_context.wall_clock,
        context.policy.rate_limits.max_wait_ms,
    ) {
        LimitResponse::SwitchAgent { agent } => {
            let iteration = IterationState { excused_attempts: iteration.excused_attempts + failures, ..iteration };
            Ok(switch_agent(context, iteration, (attempt + 1, agent), (reason, at)))
        }
        LimitResponse::Wait(planned) => {
            let iteration = IterationState { excused_attempts: iteration.excused_attempts + failures, ..iteration };
            Ok(wait_for_limit(context, iteration, (attempt + 1, planned), (reason, at)))
        }
        LimitResponse::GiveUp { .. } => Err(Box::new((context, iteration))),
    }
}

fn wait_for_limit(
    mut context: LoopContext,
    iteration: IterationState,
    (attempt, planned): (u32, PlannedWait),
    (reason, at): (String, UnixMillis),
) -> StepResult {
    let PlannedWait { agent, wait_ms: ms, reset_at } = planned;
    context.limits.waited_ms = context.limits.waited_ms.saturating_add(ms);
    let wait =
        RateLimitWait { agent, until: context.event_context.wall_clock.add_millis(ms), planned_ms: ms, since: at };
    let fact = Fact::LimitWaiting {
        iteration: iteration.number,
        attempt,
        agent: context.agent_name(agent),
        delay_ms: ms,
        reset_at: reset_at.map(|reset| reset.0.div_euclid(1_000)),
        reason,
    };
    let (state, effects) = start_wait(context, RateLimitedPhase { iteration, attempt, wait }, ms);
    (state, core::iter::once(record_fact(fact)).chain(effects).collect())
}

fn wait_too_long_reason(context: &LoopContext, reason: &str, remaining_ms: u64) -> String {
    let most = format_duration_ms(context.policy.rate_limits.max_wait_ms);
    let waited = match context.limits.waited_ms {
        0 => String::new(),
        waited => format!(" and has waited {}", format_duration_ms(waited)),
    };
    format!(
        "rate limited: {reason}; the limit lasts another {}, but the run may wait {most} in all{waited} \
         (max_rate_limit_wait)",
        format_duration_ms(remaining_ms)
    )
}

/// Where sessions go on, the one that was refused goes on when the limit is over: what the agent did is not lost.
fn continue_session(context: &LoopContext, iteration: IterationState) -> IterationState {
    match (&context.policy.context, &context.session) {
        (ContextMode::Continue, Some(session)) => {
            IterationState { session: Some(session.clone()), plan: iteration.plan.into_continuation(), ..iteration }
        }
        (ContextMode::Continue, None) | (ContextMode::Fresh, _) => iteration,
    }
}

fn start_wait(context: LoopContext, limited: RateLimitedPhase, wait_ms: u64) -> StepResult {
    let timer = LoopTimer::Limit { key: limited.iteration.attempt_key(limited.attempt) };
    (context.enter_phase(limited.into_phase()), vec![Effect::StartTimer { timer, after_ms: wait_ms }])
}

/// Goes on with a wait that was cut short, for what is left of it.
pub(super) fn resume_wait(context: LoopContext, limited: RateLimitedPhase, at: UnixMillis) -> StepResult {
    match limited.wait.remaining_ms(context.event_context.wall_clock) {
        0 => end_wait(context, RateLimitedPhase { wait: RateLimitWait { since: at, ..limited.wait }, ..limited }, at),
        ms => {
            let wait = RateLimitWait {
                until: context.event_context.wall_clock.add_millis(ms),
                planned_ms: ms,
                since: at,
                agent: limited.wait.agent,
            };
            start_wait(context, RateLimitedPhase { wait, ..limited }, ms)
        }
    }
}

/// The wait is over. The iteration has not used the time for which it waited.
fn end_wait(context: LoopContext, limited: RateLimitedPhase, at: UnixMillis) -> StepResult {
    let RateLimitedPhase { iteration, attempt, wait } = limited;
    let started = iteration.started.add_millis(at.elapsed_since(wait.since));
    let iteration = IterationState { started, ..iteration };
    let agent =
        context.limits.first_free_agent(context.agent_count(), context.event_context.wall_clock).unwrap_or(wait.agent);
    let reason = "its rate limit should be over".into();
    switch_agent(context, iteration, (attempt, agent), (reason, at))
}

/// Starts an attempt by this agent. Another one than before knows nothing of what was said.
fn switch_agent(
    mut context: LoopContext,
    mut iteration: IterationState,
    (attempt, agent): (u32, u32),
    (reason, at): (String, UnixMillis),
) -> StepResult {
    let changed = change_agent(&mut context, &mut iteration, (attempt, agent), reason);
    let (state, effects) = transitions::start_attempt(context, iteration, attempt, at);
    (state, changed.into_iter().chain(effects).collect())
}

/// Lets a more preferred agent begin an iteration, if its limit is over.
pub(super) fn return_to_preferred(context: &mut LoopContext, iteration: &mut IterationState) -> Option<Effect> {
    let agent = context.limits.returning_agent(context.event_context.wall_clock)?;
    change_agent(context, iteration, (1, agent), "its rate limit is over".into())
}

fn change_agent(
    context: &mut LoopContext,
    iteration: &mut IterationState,
    (attempt, agent): (u32, u32),
    reason: String,
) -> Option<Effect> {
    let is_other = agent != context.limits.agent;
    context.limits.activate_agent(agent);
    if !is_other {
        return None;
    }
    (context.session, iteration.session) = (None, None);
    iteration.plan = iteration.plan.clone().into_whole();
    let name = context.agent_name(agent);
    Some(record_fact(Fact::AgentChanged { iteration: iteration.number, attempt, agent: name, reason }))
}

/// Returns the session in which an attempt ended: the one that it resumed, unless it names another.
fn session_after(iteration: &IterationState, report: &AttemptReport) -> Option<AgentSession> {
    let asked = iteration.session.clone();
    let found = report.session.clone().filter(|id| asked.as_ref().is_none_or(|asked| asked.id != *id));
    match found {
        Some(id) => Some(AgentSession { id, spent: report.spend }),
        None => asked.map(|asked| asked.after_attempt(report)),
    }
}

impl LoopContext {
    /// Keeps the session that goes on, where sessions shall.
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
