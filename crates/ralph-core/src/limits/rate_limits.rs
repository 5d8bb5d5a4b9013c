//! Rate limits: when an agent can be used again, which one takes over, and how long a run may wait. Reset times from
//! providers are used only if they are plausible.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::backoff::retry_delay_ms;
use crate::event::UnixMillis;
use crate::policy::RateLimitPolicy;

/// Known rate limits last at most a week. A reset time beyond this is ignored.
const MAX_REPORTED_WAIT_MS: u64 = 8 * 86_400_000;

/// The first wait without a reset time. It doubles with every consecutive limit.
const FIRST_GUESSED_WAIT_MS: u64 = 60_000;
const MAX_GUESSED_WAIT_MS: u64 = 30 * 60_000;

/// Jitter is up to two seconds plus a hundredth of the wait, because many runs wait for the same reset.
const BASE_JITTER_MS: u64 = 2_000;
const MAX_JITTER_MS: u64 = 60_000;

/// The rate limits of the agents of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitState {
    /// The current agent: 0 is the preferred one, the fallbacks follow.
    pub agent: u32,
    /// The limit of each agent; an agent without an entry was never limited.
    pub agents: Vec<AgentLimit>,
    /// Consecutive limits since the last successful attempt.
    pub in_a_row: u32,
    /// The sum of all waits so far, each with its planned length.
    pub waited_ms: u64,
    /// The sum of all waits during which the run was parked, each with its planned length.
    #[serde(default)]
    pub parked_ms: u64,
    /// The sum of all waits that the agent asked for.
    #[serde(default)]
    pub agent_waited_ms: u64,
}

/// Until when an agent is limited, by the wall clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimit {
    pub until: UnixMillis,
    /// The reset time that the provider reported; without it, `until` is a guess.
    pub reset_at: Option<UnixMillis>,
}

/// A wait for the end of a limit, or one that the agent asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitWait {
    /// The agent that starts after the wait.
    pub agent: u32,
    /// When it ends, by the wall clock.
    pub until: UnixMillis,
    /// Its planned length.
    pub planned_ms: u64,
    /// When it started, by the driver's clock.
    pub since: UnixMillis,
    /// Why the agent asked for the wait; `None` if it is for a rate limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_because: Option<String>,
}

/// How to continue when the current agent is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitResponse {
    /// This agent is available.
    SwitchAgent { agent: u32 },
    /// All agents are limited.
    Wait(PlannedWait),
    /// The wait would be longer than the run may wait.
    GiveUp { wait_ms: u64, max_wait_ms: u64 },
}

/// How long to wait for which agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedWait {
    pub(crate) agent: u32,
    pub(crate) wait_ms: u64,
    pub(crate) reset_at: Option<UnixMillis>,
}

impl RateLimitState {
    /// Marks the current agent as limited. `reset_at` is the time that the provider reported.
    pub(crate) fn mark_limited(&mut self, reset_at: Option<UnixMillis>, wall_clock: UnixMillis, random: u32) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        let reported_reset =
            reset_at.filter(|reset| *reset > wall_clock && reset.elapsed_since(wall_clock) <= MAX_REPORTED_WAIT_MS);
        // Resets in the very near future must not cause a busy loop.
        let min_wait = retry_delay_ms(self.in_a_row, u32::MAX);
        let wait = match reported_reset {
            Some(reset) => add_jitter(reset.elapsed_since(wall_clock), random).max(min_wait),
            None => guess_wait_ms(self.in_a_row, random),
        };
        self.set_limit(AgentLimit { until: wall_clock.add_millis(wait), reset_at: reported_reset });
    }

    /// Excludes the current agent for the rest of the run.
    pub(crate) fn mark_unusable(&mut self) {
        self.set_limit(AgentLimit { until: UnixMillis(i64::MAX), reset_at: None });
    }

    fn set_limit(&mut self, limit: AgentLimit) {
        let index = self.agent as usize;
        if self.agents.len() <= index {
            self.agents.resize(index + 1, AgentLimit::default());
        }
        if let Some(entry) = self.agents.get_mut(index) {
            *entry = limit;
        }
    }

    /// Decides how to continue when the current agent is limited.
    pub(crate) fn choose_response(
        &self,
        agent_count: u32,
        wall_clock: UnixMillis,
        policy: &RateLimitPolicy,
    ) -> LimitResponse {
        if let Some(agent) = self.first_free_agent(agent_count, wall_clock) {
            return LimitResponse::SwitchAgent { agent };
        }
        let (agent, AgentLimit { until, reset_at }) = self.next_free_agent(agent_count);
        let ms = until.elapsed_since(wall_clock);
        let max_wait_ms = if policy.parks(ms) { policy.parking.max_wait_ms } else { policy.max_wait_ms };
        let waited_ms = if policy.parks(ms) { self.total_wait_ms() } else { self.waited_ms };
        let left_ms = max_wait_ms.saturating_sub(waited_ms);
        match reset_at {
            _ if left_ms == 0 => LimitResponse::GiveUp { wait_ms: ms, max_wait_ms },
            Some(reset) if reset.elapsed_since(wall_clock) > left_ms => {
                LimitResponse::GiveUp { wait_ms: ms, max_wait_ms }
            }
            Some(_) | None => LimitResponse::Wait(PlannedWait { agent, wait_ms: ms.min(left_ms), reset_at }),
        }
    }

    /// Returns the sum of all waits for rate limits.
    pub(crate) fn total_wait_ms(&self) -> u64 {
        self.waited_ms.saturating_add(self.parked_ms)
    }

    /// Counts a wait that starts.
    pub(crate) fn count_wait(&mut self, wait_ms: u64, policy: &RateLimitPolicy) {
        let counter = if policy.parks(wait_ms) { &mut self.parked_ms } else { &mut self.waited_ms };
        *counter = counter.saturating_add(wait_ms);
    }

    /// Returns the most preferred agent that is not limited.
    pub(crate) fn first_free_agent(&self, agent_count: u32, wall_clock: UnixMillis) -> Option<u32> {
        (0..agent_count).find(|agent| self.agent_limit(*agent).until <= wall_clock)
    }

    /// Returns a more preferred agent than the current one whose limit is over, for a new iteration.
    pub(crate) fn returning_agent(&self, wall_clock: UnixMillis) -> Option<u32> {
        self.first_free_agent(self.agent, wall_clock)
    }

    /// Makes an agent the current one and clears its limit, regardless of the wall clock.
    pub(crate) fn activate_agent(&mut self, agent: u32) {
        self.agent = agent;
        if let Some(limit) = self.agents.get_mut(agent as usize) {
            *limit = AgentLimit::default();
        }
    }

    fn agent_limit(&self, agent: u32) -> AgentLimit {
        self.agents.get(agent as usize).copied().unwrap_or_default()
    }

    fn next_free_agent(&self, agent_count: u32) -> (u32, AgentLimit) {
        let all = (0..agent_count).map(|agent| (agent, self.agent_limit(agent)));
        all.min_by_key(|(_, limit)| limit.until).unwrap_or_default()
    }
}

impl RateLimitWait {
    /// Returns the rest of the wait. A clock that jumped never makes it longer than planned.
    #[must_use]
    pub fn remaining_ms(&self, wall_clock: UnixMillis) -> u64 {
        self.until.elapsed_since(wall_clock).min(self.planned_ms)
    }
}

fn add_jitter(wait_ms: u64, random: u32) -> u64 {
    let max_jitter = (BASE_JITTER_MS + wait_ms / 100).min(MAX_JITTER_MS);
    wait_ms.saturating_add(u64::from(random) * max_jitter / u64::from(u32::MAX))
}

fn guess_wait_ms(in_a_row: u32, random: u32) -> u64 {
    let doublings = in_a_row.saturating_sub(1).min(16);
    add_jitter(FIRST_GUESSED_WAIT_MS.saturating_mul(1 << doublings).min(MAX_GUESSED_WAIT_MS), random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ParkingPolicy;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
    const HOUR_MS: u64 = 3_600_000;

    fn limited_until(reset_at: Option<UnixMillis>) -> RateLimitState {
        let mut limits = RateLimitState::default();
        limits.mark_limited(reset_at, NOW, 0);
        limits
    }

    /// A run that keeps its driver during waits.
    fn holding(max_wait_ms: u64) -> RateLimitPolicy {
        RateLimitPolicy { max_wait_ms, ..RateLimitPolicy::default() }
    }

    fn parking() -> RateLimitPolicy {
        let parking = ParkingPolicy { is_possible: true, ..ParkingPolicy::default() };
        RateLimitPolicy { parking, ..RateLimitPolicy::default() }
    }

    // spec: L18
    #[test]
    fn a_parked_run_may_wait_seven_days_and_one_that_holds_its_slot_six_hours() {
        let hours = |hours: u64| limited_until(Some(NOW.add_millis(hours * HOUR_MS)));
        let gives_up = |limits: &RateLimitState, policy: &RateLimitPolicy| {
            matches!(limits.choose_response(1, NOW, policy), LimitResponse::GiveUp { .. })
        };
        assert!(gives_up(&hours(7), &RateLimitPolicy::default()) && !gives_up(&hours(7), &parking()));
        assert!(!gives_up(&hours(7 * 24), &parking()) && gives_up(&hours(7 * 24 + 1), &parking()));
        let mut waited = hours(24);
        waited.count_wait(6 * 24 * HOUR_MS, &parking());
        assert!(!gives_up(&waited, &parking()));
        waited.count_wait(HOUR_MS, &parking());
        assert!(gives_up(&waited, &parking()), "all parked waits count together");
    }

    // spec: L18
    #[test]
    fn only_a_wait_longer_than_park_after_parks() {
        assert!(!parking().parks(15 * 60_000) && parking().parks(15 * 60_000 + 1));
        assert!(!RateLimitPolicy::default().parks(u64::MAX), "a run in a terminal keeps waiting");
        let mut limits = RateLimitState::default();
        limits.count_wait(60_000, &parking());
        limits.count_wait(HOUR_MS, &parking());
        assert_eq!((limits.waited_ms, limits.parked_ms), (60_000, HOUR_MS));
    }

    fn planned_wait_ms(limits: &RateLimitState) -> u64 {
        limits.agent_limit(0).until.elapsed_since(NOW)
    }

    // spec: L6
    #[test]
    fn the_wait_for_a_reset_time_has_a_little_jitter() {
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
    fn resets_in_the_very_near_future_cause_no_busy_loop() {
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
    fn a_reset_beyond_the_maximum_wait_is_not_waited_for() {
        let limits = limited_until(Some(NOW.add_millis(7 * HOUR_MS)));
        assert_eq!(
            limits.choose_response(1, NOW, &holding(6 * HOUR_MS)),
            LimitResponse::GiveUp { wait_ms: 7 * HOUR_MS, max_wait_ms: 6 * HOUR_MS }
        );
        let LimitResponse::Wait(planned) = limits.choose_response(1, NOW, &holding(8 * HOUR_MS)) else {
            panic!("no wait")
        };
        assert_eq!(planned.wait_ms, 7 * HOUR_MS);
    }

    // spec: L6
    #[test]
    fn a_guessed_wait_is_cut_to_the_maximum_wait() {
        let mut limits = limited_until(None);
        assert!(matches!(
            limits.choose_response(1, NOW, &holding(20_000)),
            LimitResponse::Wait(PlannedWait { wait_ms: 20_000, reset_at: None, .. })
        ));
        limits.waited_ms = 20_000;
        assert_eq!(
            limits.choose_response(1, NOW, &holding(20_000)),
            LimitResponse::GiveUp { wait_ms: 60_000, max_wait_ms: 20_000 }
        );
    }

    // spec: L6
    #[test]
    fn jitter_alone_never_makes_a_wait_too_long() {
        let mut limits = RateLimitState::default();
        limits.mark_limited(Some(NOW.add_millis(HOUR_MS)), NOW, u32::MAX);
        assert!(matches!(
            limits.choose_response(1, NOW, &holding(HOUR_MS)),
            LimitResponse::Wait(PlannedWait { wait_ms: HOUR_MS, .. })
        ));
    }

    // spec: L6
    #[test]
    fn the_first_free_agent_takes_over_and_the_preferred_one_returns_after_its_reset() {
        let mut limits = limited_until(Some(NOW.add_millis(HOUR_MS)));
        assert_eq!(limits.choose_response(3, NOW, &holding(HOUR_MS)), LimitResponse::SwitchAgent { agent: 1 });
        limits.activate_agent(1);
        assert_eq!(limits.returning_agent(NOW), None);
        assert_eq!(limits.returning_agent(NOW.add_millis(HOUR_MS)), Some(0));
        limits.mark_limited(Some(NOW.add_millis(2 * HOUR_MS)), NOW, 0);
        assert_eq!(limits.choose_response(3, NOW, &holding(HOUR_MS)), LimitResponse::SwitchAgent { agent: 2 });
    }

    // spec: L6
    #[test]
    fn when_all_agents_are_limited_the_run_waits_for_the_first_reset() {
        let mut limits = limited_until(Some(NOW.add_millis(2 * HOUR_MS)));
        limits.activate_agent(1);
        limits.mark_limited(Some(NOW.add_millis(HOUR_MS)), NOW, 0);
        assert!(matches!(
            limits.choose_response(2, NOW, &holding(6 * HOUR_MS)),
            LimitResponse::Wait(PlannedWait { agent: 1, wait_ms: HOUR_MS, .. })
        ));
    }

    // spec: L6
    #[test]
    fn a_clock_that_jumped_never_makes_a_wait_longer() {
        let wait = RateLimitWait {
            agent: 0,
            until: NOW.add_millis(HOUR_MS),
            planned_ms: HOUR_MS,
            since: UnixMillis(0),
            asked_because: None,
        };
        assert_eq!(wait.remaining_ms(NOW.add_millis(HOUR_MS / 2)), HOUR_MS / 2);
        assert_eq!(wait.remaining_ms(UnixMillis(0)), HOUR_MS, "set back by years");
        assert_eq!(wait.remaining_ms(NOW.add_millis(100 * HOUR_MS)), 0, "the machine slept through it");
    }
}
