//! Rate limits: when an agent may be asked again, which one works meanwhile, and how long a run waits at most. A provider's
//! word is taken only where it can be true.
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::backoff::retry_delay_ms;
use crate::event::UnixMillis;

/// No limit that providers have lasts longer than a week. What is told beyond that is a mistake.
const MAX_REPORTED_WAIT_MS: u64 = 8 * 86_400_000;

/// The wait where nothing is told: a minute, doubled with every limit in a row.
const FIRST_GUESSED_WAIT_MS: u64 = 60_000;
const MAX_GUESSED_WAIT_MS: u64 = 30 * 60_000;

/// Many runs wait for the same moment, so each comes a little later: by up to two seconds and a hundredth of the wait.
const BASE_JITTER_MS: u64 = 2_000;
const MAX_JITTER_MS: u64 = 60_000;

/// What a run knows of the limits of its agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitState {
    /// The agent at work: 0 is the preferred one, the fallbacks follow.
    pub agent: u32,
    /// When each agent may be asked again; one that is missing here was never limited.
    pub agents: Vec<AgentLimit>,
    /// Limits since the last good attempt.
    pub in_a_row: u32,
    /// All waits that were begun, as long as they were planned.
    pub waited_ms: u64,
}

/// Until when an agent is limited, by the clock on the wall.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimit {
    pub until: UnixMillis,
    /// What the provider told; without it, `until` is a guess.
    pub reset_at: Option<UnixMillis>,
}

/// A wait for a limit to be over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitWait {
    /// The agent that is free first.
    pub agent: u32,
    /// When it ends, by the clock on the wall.
    pub until: UnixMillis,
    /// How long it was to take.
    pub planned_ms: u64,
    /// When it began, by the driver's clock.
    pub since: UnixMillis,
}

/// What can be done when the agent at work is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitResponse {
    /// This agent is free.
    SwitchAgent { agent: u32 },
    /// All are limited, and one is free first.
    Wait(PlannedWait),
    /// Waiting is no use: it takes longer than the run may wait.
    GiveUp { wait_ms: u64 },
}

/// How long to wait for which agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedWait {
    pub(crate) agent: u32,
    pub(crate) wait_ms: u64,
    pub(crate) reset_at: Option<UnixMillis>,
}

impl RateLimitState {
    /// Notes that the agent at work is limited. `reset_at` is what the provider told.
    pub(crate) fn mark_limited(&mut self, reset_at: Option<UnixMillis>, wall_clock: UnixMillis, random: u32) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        let reported_reset =
            reset_at.filter(|reset| *reset > wall_clock && reset.elapsed_since(wall_clock) <= MAX_REPORTED_WAIT_MS);
        // A limit that is over at once, again and again, must not make a busy loop.
        let least = retry_delay_ms(self.in_a_row, u32::MAX);
        let wait = match reported_reset {
            Some(reset) => add_jitter(reset.elapsed_since(wall_clock), random).max(least),
            None => guess_wait_ms(self.in_a_row, random),
        };
        self.set_limit(AgentLimit { until: wall_clock.add_millis(wait), reset_at: reported_reset });
    }

    /// Notes that the agent at work is of no use to this run any more.
    pub(crate) fn mark_unusable(&mut self) {
        self.set_limit(AgentLimit { until: UnixMillis(i64::MAX), reset_at: None });
    }

    fn set_limit(&mut self, limit: AgentLimit) {
        let at = self.agent as usize;
        if self.agents.len() <= at {
            self.agents.resize(at + 1, AgentLimit::default());
        }
        if let Some(place) = self.agents.get_mut(at) {
            *place = limit;
        }
    }

    /// Finds what to do now that the agent at work is limited.
    pub(crate) fn choose_response(&self, agent_count: u32, wall_clock: UnixMillis, max_wait_ms: u64) -> LimitResponse {
        if let Some(agent) = self.first_free_agent(agent_count, wall_clock) {
            return LimitResponse::SwitchAgent { agent };
        }
        let (agent, AgentLimit { until, reset_at }) = self.next_free_agent(agent_count);
        let left_ms = max_wait_ms.saturating_sub(self.waited_ms);
        let ms = until.elapsed_since(wall_clock);
        match reset_at {
            _ if left_ms == 0 => LimitResponse::GiveUp { wait_ms: ms },
            Some(reset) if reset.elapsed_since(wall_clock) > left_ms => LimitResponse::GiveUp { wait_ms: ms },
            Some(_) | None => LimitResponse::Wait(PlannedWait { agent, wait_ms: ms.min(left_ms), reset_at }),
        }
    }

    /// Returns the most preferred agent that is not limited.
    pub(crate) fn first_free_agent(&self, agent_count: u32, wall_clock: UnixMillis) -> Option<u32> {
        (0..agent_count).find(|agent| self.agent_limit(*agent).until <= wall_clock)
    }

    /// Returns the agent for a new iteration: a more preferred one than that at work, if it is free again.
    pub(crate) fn returning_agent(&self, wall_clock: UnixMillis) -> Option<u32> {
        self.first_free_agent(self.agent, wall_clock)
    }

    /// Lets an agent work: its limit is over, whatever the clock on the wall says now.
    pub(crate) fn activate_agent(&mut self, agent: u32) {
        self.agent = agent;
        if let Some(shut) = self.agents.get_mut(agent as usize) {
            *shut = AgentLimit::default();
        }
    }

    fn agent_limit(&self, agent: u32) -> AgentLimit {
        self.agents.get(agent as usize).copied().unwrap_or_default()
    }

    fn next_free_agent(&self, agent_count: u32) -> (u32, AgentLimit) {
        let all = (0..agent_count).map(|agent| (agent, self.agent_limit(agent)));
        all.min_by_key(|(_, shut)| shut.until).unwrap_or_default()
    }
}

impl RateLimitWait {
    /// Returns what is left of the wait. A clock that jumped never makes it longer than it was to be.
    #[must_use]
    pub fn remaining_ms(&self, wall_clock: UnixMillis) -> u64 {
        self.until.elapsed_since(wall_clock).min(self.planned_ms)
    }
}

fn add_jitter(wait_ms: u64, random: u32) -> u64 {
    let most = (BASE_JITTER_MS + wait_ms / 100).min(MAX_JITTER_MS);
    wait_ms.saturating_add(u64::from(random) * most / u64::from(u32::MAX))
}

fn guess_wait_ms(in_a_row: u32, random: u32) -> u64 {
    let doublings = in_a_row.saturating_sub(1).min(16);
    add_jitter(FIRST_GUESSED_WAIT_MS.saturating_mul(1 << doublings).min(MAX_GUESSED_WAIT_MS), random)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
    const HOUR_MS: u64 = 3_600_000;

    fn limited_until(reset_at: Option<UnixMillis>) -> RateLimitState {
        let mut limits = RateLimitState::default();
        limits.mark_limited(reset_at, NOW, 0);
        limits
    }

    fn planned_wait_ms(limits: &RateLimitState) -> u64 {
        limits.agent_limit(0).until.elapsed_since(NOW)
    }

    // spec: L6
    #[test]
    fn a_limit_with_a_reset_time_is_waited_for_with_a_little_jitter() {
        assert_eq!(planned_wait_ms(&limited_until(Some(NOW.add_millis(HOUR_MS)))), HOUR_MS);
        let mut limits = RateLimitState::default();
        limits.mark_limited(Some(NOW.add_millis(HOUR_MS)), NOW, u32::MAX);
        assert_eq!(planned_wait_ms(&limits), HOUR_MS + 38_000);
        limits.mark_limited(Some(NOW.add_millis(100 * HOUR_MS)), NOW, u32::MAX);
        assert_eq!(planned_wait_ms(&limits), 100 * HOUR_MS + 60_000);
    }

    // spec: L6
    // fault: 88
    #[test]
    fn without_a_reset_time_the_waits_double_from_a_minute_to_half_an_hour() {
        let mut limits = RateLimitState::default();
        let mut minutes = Vec::new();
        for _ in 0..7 {
            limits.mark_limited(None, NOW, 0);
            minutes.push(planned_wait_ms(&limits) / 60_000);
        }
        assert_eq!(minutes, [1, 2, 4, 8, 16, 30, 30]);
    }

    // spec: L6
    // fault: 88
    #[test]
    fn a_reset_in_the_past_or_years_ahead_is_ignored() {
        let year_2099 = UnixMillis(4_070_908_800_000);
        for absurd in [UnixMillis(0), UnixMillis(i64::MIN), NOW, year_2099, UnixMillis(i64::MAX)] {
            let limits = limited_until(Some(absurd));
            assert_eq!((planned_wait_ms(&limits), limits.agent_limit(0).reset_at), (60_000, None), "{absurd:?}");
        }
    }

    // spec: L6
    // fault: 88
    #[test]
    fn a_limit_that_is_always_over_at_once_makes_no_busy_loop() {
        let mut limits = RateLimitState::default();
        let soon = NOW.add_millis(1);
        let mut waits = Vec::new();
        for _ in 0..8 {
            limits.mark_limited(Some(soon), NOW, 0);
            waits.push(planned_wait_ms(&limits) / 1_000);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    // spec: L6
    #[test]
    fn a_reset_beyond_what_may_be_waited_is_not_waited_for() {
        let limits = limited_until(Some(NOW.add_millis(7 * HOUR_MS)));
        assert_eq!(limits.choose_response(1, NOW, 6 * HOUR_MS), LimitResponse::GiveUp { wait_ms: 7 * HOUR_MS });
        assert!(
            matches!(limits.choose_response(1, NOW, 8 * HOUR_MS), LimitResponse::Wait(PlannedWait { wait_ms, .. }) if wait_ms == 7 * HOUR_MS)
        );
    }

    // spec: L6
    #[test]
    fn a_guess_is_waited_for_only_as_long_as_may_be_waited() {
        let mut limits = limited_until(None);
        assert!(matches!(
            limits.choose_response(1, NOW, 20_000),
            LimitResponse::Wait(PlannedWait { wait_ms: 20_000, reset_at: None, .. })
        ));
        limits.waited_ms = 20_000;
        assert_eq!(limits.choose_response(1, NOW, 20_000), LimitResponse::GiveUp { wait_ms: 60_000 });
    }

    // spec: L6
    #[test]
    fn jitter_alone_never_makes_a_wait_too_long() {
        let mut limits = RateLimitState::default();
        limits.mark_limited(Some(NOW.add_millis(HOUR_MS)), NOW, u32::MAX);
        assert!(matches!(
            limits.choose_response(1, NOW, HOUR_MS),
            LimitResponse::Wait(PlannedWait { wait_ms: HOUR_MS, .. })
        ));
    }

    // spec: L6
    #[test]
    fn the_first_free_agent_takes_over_and_the_preferred_one_returns_after_its_reset() {
        let mut limits = limited_until(Some(NOW.add_millis(HOUR_MS)));
        assert_eq!(limits.choose_response(3, NOW, HOUR_MS), LimitResponse::SwitchAgent { agent: 1 });
        limits.activate_agent(1);
        assert_eq!(limits.returning_agent(NOW), None);
        assert_eq!(limits.returning_agent(NOW.add_millis(HOUR_MS)), Some(0));
        limits.mark_limited(Some(NOW.add_millis(2 * HOUR_MS)), NOW, 0);
        assert_eq!(limits.choose_response(3, NOW, HOUR_MS), LimitResponse::SwitchAgent { agent: 2 });
    }

    // spec: L6
    #[test]
    fn when_all_are_limited_the_wait_is_for_the_one_that_is_free_first() {
        let mut limits = limited_until(Some(NOW.add_millis(2 * HOUR_MS)));
        limits.activate_agent(1);
        limits.mark_limited(Some(NOW.add_millis(HOUR_MS)), NOW, 0);
        assert!(matches!(
            limits.choose_response(2, NOW, 6 * HOUR_MS),
            LimitResponse::Wait(PlannedWait { agent: 1, wait_ms: HOUR_MS, .. })
        ));
    }

    // spec: L6
    #[test]
    fn a_clock_that_jumped_never_makes_a_wait_longer() {
        let wait =
            RateLimitWait { agent: 0, until: NOW.add_millis(HOUR_MS), planned_ms: HOUR_MS, since: UnixMillis(0) };
        assert_eq!(wait.remaining_ms(NOW.add_millis(HOUR_MS / 2)), HOUR_MS / 2);
        assert_eq!(wait.remaining_ms(UnixMillis(0)), HOUR_MS, "back by years");
        assert_eq!(wait.remaining_ms(NOW.add_millis(100 * HOUR_MS)), 0, "slept through it");
    }
}
