//! Rate limits. A refused attempt costs neither a retry nor an iteration: another agent takes over, or the run waits.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::next::{self, record};
use super::{Rest, Step, is_late};
use crate::attempt::{Afterlife, AttemptReport};
use crate::effect::Effect;
use crate::event::{Event, EventKind, Millis, Timer};
use crate::fact::{Fact, IterationStatus};
use crate::limits::{Wait, WaitFor, WayOut};
use crate::outcome::{Ended, Outcome};
use crate::policy::Context;
use crate::state::{Iteration, Left, Phase, Session};
use crate::text::span_words;

/// An attempt that a provider refused.
pub(super) struct Refused {
    pub(super) attempt: u32,
    pub(super) why: String,
    pub(super) reset_at: Option<Millis>,
}

/// The wait before `attempt`.
pub(super) struct Limited {
    pub(super) iteration: Iteration,
    pub(super) attempt: u32,
    pub(super) wait: Wait,
}

impl Limited {
    fn phase(self) -> Phase {
        Phase::Limited { iteration: self.iteration, attempt: self.attempt, wait: self.wait }
    }
}

pub(super) fn on(rest: Rest, limited: Limited, event: Event) -> Step {
    let Event { at, kind, .. } = event;
    if is_late(&kind, limited.iteration.key(limited.attempt)) {
        return rest.stay(limited.phase());
    }
    match kind {
        EventKind::TimerFired { timer: Timer::Limit { .. } } => wake(rest, limited, at),
        EventKind::TimerFired { timer: Timer::Run } => {
            let what = rest.out_of_time();
            next::over_budget(rest, &limited.iteration, what, at)
        }
        EventKind::Interrupted { signal } => {
            let Limited { iteration, attempt, wait } = limited;
            next::interrupt(rest, Left::Limited { iteration, attempt, wait }, at, signal)
        }
        EventKind::Broken { what } => {
            next::conclude(rest, &limited.iteration, (IterationStatus::Failed, at), Ended::broken(what))
        }
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
        | EventKind::Faulted { .. } => rest.stay(limited.phase()),
    }
}

/// Decides what follows a refusal.
pub(super) fn limited(
    mut rest: Rest,
    iteration: Iteration,
    refused: Refused,
    (at, dice): (Millis, u32),
) -> Step {
    let Refused { attempt, why, reset_at } = refused;
    rest.limits.shut(reset_at, rest.now.wall, dice);
    let iteration = continued(&rest, Iteration { excused: iteration.excused + 1, ..iteration });
    let max_wait_ms = rest.policy.rate_limits.max_wait_ms;
    match rest.limits.way_out(rest.agents(), rest.now.wall, max_wait_ms) {
        WayOut::TakeOver { agent } => {
            let reason = format!("{} is rate limited: {why}", rest.agent_name(rest.limits.agent));
            take_over(rest, iteration, (attempt + 1, agent), (reason, at))
        }
        WayOut::Wait(planned) => wait(rest, iteration, (attempt + 1, planned), (why, at)),
        WayOut::Nothing { ms } => {
            let ended = Ended::new(Outcome::OverBudget, too_long(&rest, &why, ms));
            next::conclude(rest, &iteration, (IterationStatus::Failed, at), ended)
        }
    }
}

/// A fallback has failed for good, and not over a limit. It is asked no more: one that is free takes its place, or the run
/// waits for the one that is limited. Gives everything back where neither is possible: then the failure stands.
pub(super) fn give_up_on_fallback(
    mut rest: Rest,
    iteration: Iteration,
    (attempt, why): (u32, &str),
    at: Millis,
) -> Result<Step, Box<(Rest, Iteration)>> {
    if rest.limits.agent == 0 {
        return Err(Box::new((rest, iteration)));
    }
    let reason = format!("{} failed: {why}", rest.agent_name(rest.limits.agent));
    rest.limits.give_up();
    let failures = iteration.failures(attempt);
    match rest.limits.way_out(rest.agents(), rest.now.wall, rest.policy.rate_limits.max_wait_ms) {
        WayOut::TakeOver { agent } => {
            let iteration = Iteration { excused: iteration.excused + failures, ..iteration };
            Ok(take_over(rest, iteration, (attempt + 1, agent), (reason, at)))
        }
        WayOut::Wait(planned) => {
            let iteration = Iteration { excused: iteration.excused + failures, ..iteration };
            Ok(wait(rest, iteration, (attempt + 1, planned), (reason, at)))
        }
        WayOut::Nothing { .. } => Err(Box::new((rest, iteration))),
    }
}

fn wait(
    mut rest: Rest,
    iteration: Iteration,
    (attempt, planned): (u32, WaitFor),
    (reason, at): (String, Millis),
) -> Step {
    let WaitFor { agent, ms, reset_at } = planned;
    rest.limits.waited_ms = rest.limits.waited_ms.saturating_add(ms);
    let wait = Wait { agent, until: rest.now.wall.plus(ms), planned_ms: ms, since: at };
    let fact = Fact::LimitWaiting {
        iteration: iteration.number,
        attempt,
        agent: rest.agent_name(agent),
        delay_ms: ms,
        reset_at: reset_at.map(|reset| reset.0.div_euclid(1_000)),
        reason,
    };
    let (state, effects) = sleep(rest, Limited { iteration, attempt, wait }, ms);
    (state, core::iter::once(record(fact)).chain(effects).collect())
}

fn too_long(rest: &Rest, why: &str, ms: u64) -> String {
    let most = span_words(rest.policy.rate_limits.max_wait_ms);
    let waited = match rest.limits.waited_ms {
        0 => String::new(),
        waited => format!(" and has waited {}", span_words(waited)),
    };
    format!(
        "rate limited: {why}; the limit lasts another {}, but the run may wait {most} in all{waited} \
         (max_rate_limit_wait)",
        span_words(ms)
    )
}

/// Where sessions go on, the one that was refused goes on when the limit is over: what the agent did is not lost.
fn continued(rest: &Rest, iteration: Iteration) -> Iteration {
    match (&rest.policy.context, &rest.session) {
        (Context::Continue, Some(session)) => {
            Iteration { session: Some(session.clone()), plan: iteration.plan.continued(), ..iteration }
        }
        (Context::Continue, None) | (Context::Fresh, _) => iteration,
    }
}

fn sleep(rest: Rest, limited: Limited, ms: u64) -> Step {
    let timer = Timer::Limit { key: limited.iteration.key(limited.attempt) };
    (rest.enter(limited.phase()), vec![Effect::StartTimer { timer, after_ms: ms }])
}

/// Goes on with a wait that was cut short, for what is left of it.
pub(super) fn take_up(rest: Rest, limited: Limited, at: Millis) -> Step {
    match limited.wait.left_ms(rest.now.wall) {
        0 => wake(rest, Limited { wait: Wait { since: at, ..limited.wait }, ..limited }, at),
        ms => {
            let wait =
                Wait { until: rest.now.wall.plus(ms), planned_ms: ms, since: at, agent: limited.wait.agent };
            sleep(rest, Limited { wait, ..limited }, ms)
        }
    }
}

/// The wait is over. The iteration has not used the time for which it waited.
fn wake(rest: Rest, limited: Limited, at: Millis) -> Step {
    let Limited { iteration, attempt, wait } = limited;
    let started = iteration.started.plus(at.since(wait.since));
    let iteration = Iteration { started, ..iteration };
    let agent = rest.limits.free(rest.agents(), rest.now.wall).unwrap_or(wait.agent);
    let reason = "its rate limit should be over".into();
    take_over(rest, iteration, (attempt, agent), (reason, at))
}

/// Starts an attempt by this agent. Another one than before knows nothing of what was said.
fn take_over(
    mut rest: Rest,
    mut iteration: Iteration,
    (attempt, agent): (u32, u32),
    (reason, at): (String, Millis),
) -> Step {
    let changed = change(&mut rest, &mut iteration, (attempt, agent), reason);
    let (state, effects) = next::start_attempt(rest, iteration, attempt, at);
    (state, changed.into_iter().chain(effects).collect())
}

/// Lets a more preferred agent begin an iteration, if its limit is over.
pub(super) fn give_back(rest: &mut Rest, iteration: &mut Iteration) -> Option<Effect> {
    let agent = rest.limits.returning(rest.now.wall)?;
    change(rest, iteration, (1, agent), "its rate limit is over".into())
}

fn change(
    rest: &mut Rest,
    iteration: &mut Iteration,
    (attempt, agent): (u32, u32),
    reason: String,
) -> Option<Effect> {
    let is_other = agent != rest.limits.agent;
    rest.limits.put_to_work(agent);
    if !is_other {
        return None;
    }
    (rest.session, iteration.session) = (None, None);
    iteration.plan = iteration.plan.clone().whole();
    let name = rest.agent_name(agent);
    Some(record(Fact::AgentChanged { iteration: iteration.number, attempt, agent: name, reason }))
}

/// Returns the session in which an attempt ended: the one that it resumed, unless it names another.
fn session_after(iteration: &Iteration, report: &AttemptReport) -> Option<Session> {
    let asked = iteration.session.clone();
    let found = report.session.clone().filter(|id| asked.as_ref().is_none_or(|asked| asked.id != *id));
    match found {
        Some(id) => Some(Session { id, spent: report.spend }),
        None => asked.map(|asked| asked.used_by(report)),
    }
}

impl Rest {
    /// Keeps the session that goes on, where sessions shall.
    pub(super) fn remember(&mut self, iteration: &Iteration, report: &AttemptReport) {
        self.session = match (self.policy.context, report.afterlife) {
            (Context::Continue, Afterlife::Resumable) => session_after(iteration, report),
            (Context::Continue, Afterlife::None | Afterlife::Lost) | (Context::Fresh, _) => None,
        };
    }

    fn agents(&self) -> u32 {
        u32::try_from(self.policy.rate_limits.agents.len()).unwrap_or(u32::MAX).max(1)
    }

    fn agent_name(&self, agent: u32) -> String {
        let name = self.policy.rate_limits.agents.get(agent as usize);
        name.cloned().unwrap_or_else(|| "the agent".into())
    }
}
