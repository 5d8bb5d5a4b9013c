//! Rate limits: when an agent may be asked again, which one works meanwhile, and how long a run waits at most. A provider's
//! word is taken only where it can be true.
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::backoff::retry_delay_ms;
use crate::event::Millis;

/// No limit that providers have lasts longer than a week. What is told beyond that is a mistake.
const LONGEST_TOLD_MS: u64 = 8 * 86_400_000;

/// The wait where nothing is told: a minute, doubled with every limit in a row.
const FIRST_GUESS_MS: u64 = 60_000;
const LONGEST_GUESS_MS: u64 = 30 * 60_000;

/// Many runs wait for the same moment, so each comes a little later: by up to two seconds and a hundredth of the wait.
const JITTER_MS: u64 = 2_000;
const LONGEST_JITTER_MS: u64 = 60_000;

/// What a run knows of the limits of its agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The agent at work: 0 is the preferred one, the fallbacks follow.
    pub agent: u32,
    /// When each agent may be asked again; one that is missing here was never limited.
    pub agents: Vec<Shut>,
    /// Limits since the last good attempt.
    pub in_a_row: u32,
    /// All waits that were begun, as long as they were planned.
    pub waited_ms: u64,
}

/// Until when an agent is limited, by the clock on the wall.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shut {
    pub until: Millis,
    /// What the provider told; without it, `until` is a guess.
    pub reset_at: Option<Millis>,
}

/// A wait for a limit to be over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The agent that is free first.
    pub agent: u32,
    /// When it ends, by the clock on the wall.
    pub until: Millis,
    /// How long it was to take.
    pub planned_ms: u64,
    /// When it began, by the driver's clock.
    pub since: Millis,
}

/// What can be done when the agent at work is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WayOut {
    /// This agent is free.
    TakeOver { agent: u32 },
    /// All are limited, and one is free first.
    Wait(WaitFor),
    /// Waiting is no use: it takes longer than the run may wait.
    Nothing { ms: u64 },
}

/// How long to wait for which agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitFor {
    pub(crate) agent: u32,
    pub(crate) ms: u64,
    pub(crate) reset_at: Option<Millis>,
}

impl Limits {
    /// Notes that the agent at work is limited. `reset_at` is what the provider told.
    pub(crate) fn shut(&mut self, reset_at: Option<Millis>, wall: Millis, dice: u32) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        let told = reset_at.filter(|reset| *reset > wall && reset.since(wall) <= LONGEST_TOLD_MS);
        // A limit that is over at once, again and again, must not make a busy loop.
        let least = retry_delay_ms(self.in_a_row, u32::MAX);
        let wait = match told {
            Some(reset) => later(reset.since(wall), dice).max(least),
            None => guess(self.in_a_row, dice),
        };
        self.close(Shut { until: wall.plus(wait), reset_at: told });
    }

    /// Notes that the agent at work is of no use to this run any more.
    pub(crate) fn give_up(&mut self) {
        self.close(Shut { until: Millis(i64::MAX), reset_at: None });
    }

    fn close(&mut self, shut: Shut) {
        let at = self.agent as usize;
        if self.agents.len() <= at {
            self.agents.resize(at + 1, Shut::default());
        }
        if let Some(place) = self.agents.get_mut(at) {
            *place = shut;
        }
    }

    /// Finds what to do now that the agent at work is limited.
    pub(crate) fn way_out(&self, agents: u32, wall: Millis, max_wait_ms: u64) -> WayOut {
        if let Some(agent) = self.free(agents, wall) {
            return WayOut::TakeOver { agent };
        }
        let (agent, Shut { until, reset_at }) = self.first_to_be_free(agents);
        let left_ms = max_wait_ms.saturating_sub(self.waited_ms);
        let ms = until.since(wall);
        match reset_at {
            _ if left_ms == 0 => WayOut::Nothing { ms },
            Some(reset) if reset.since(wall) > left_ms => WayOut::Nothing { ms },
            Some(_) | None => WayOut::Wait(WaitFor { agent, ms: ms.min(left_ms), reset_at }),
        }
    }

    /// Returns the most preferred agent that is not limited.
    pub(crate) fn free(&self, agents: u32, wall: Millis) -> Option<u32> {
        (0..agents).find(|agent| self.shut_of(*agent).until <= wall)
    }

    /// Returns the agent for a new iteration: a more preferred one than that at work, if it is free again.
    pub(crate) fn returning(&self, wall: Millis) -> Option<u32> {
        self.free(self.agent, wall)
    }

    /// Lets an agent work: its limit is over, whatever the clock on the wall says now.
    pub(crate) fn put_to_work(&mut self, agent: u32) {
        self.agent = agent;
        if let Some(shut) = self.agents.get_mut(agent as usize) {
            *shut = Shut::default();
        }
    }

    fn shut_of(&self, agent: u32) -> Shut {
        self.agents.get(agent as usize).copied().unwrap_or_default()
    }

    fn first_to_be_free(&self, agents: u32) -> (u32, Shut) {
        let all = (0..agents).map(|agent| (agent, self.shut_of(agent)));
        all.min_by_key(|(_, shut)| shut.until).unwrap_or_default()
    }
}

impl Wait {
    /// Returns what is left of the wait. A clock that jumped never makes it longer than it was to be.
    #[must_use]
    pub fn left_ms(&self, wall: Millis) -> u64 {
        self.until.since(wall).min(self.planned_ms)
    }
}

fn later(wait_ms: u64, dice: u32) -> u64 {
    let most = (JITTER_MS + wait_ms / 100).min(LONGEST_JITTER_MS);
    wait_ms.saturating_add(u64::from(dice) * most / u64::from(u32::MAX))
}

fn guess(in_a_row: u32, dice: u32) -> u64 {
    let doublings = in_a_row.saturating_sub(1).min(16);
    later(FIRST_GUESS_MS.saturating_mul(1 << doublings).min(LONGEST_GUESS_MS), dice)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);
    const HOUR: u64 = 3_600_000;

    fn limited(reset_at: Option<Millis>) -> Limits {
        let mut limits = Limits::default();
        limits.shut(reset_at, NOW, 0);
        limits
    }

    fn wait_of(limits: &Limits) -> u64 {
        limits.shut_of(0).until.since(NOW)
    }

    // spec: L6
    #[test]
    fn a_limit_with_a_reset_time_is_waited_for_with_a_little_jitter() {
        assert_eq!(wait_of(&limited(Some(NOW.plus(HOUR)))), HOUR);
        let mut limits = Limits::default();
        limits.shut(Some(NOW.plus(HOUR)), NOW, u32::MAX);
        assert_eq!(wait_of(&limits), HOUR + 38_000);
        limits.shut(Some(NOW.plus(100 * HOUR)), NOW, u32::MAX);
        assert_eq!(wait_of(&limits), 100 * HOUR + 60_000);
    }

    // spec: L6
    // fault: 88
    #[test]
    fn without_a_reset_time_the_waits_double_from_a_minute_to_half_an_hour() {
        let mut limits = Limits::default();
        let mut minutes = Vec::new();
        for _ in 0..7 {
            limits.shut(None, NOW, 0);
            minutes.push(wait_of(&limits) / 60_000);
        }
        assert_eq!(minutes, [1, 2, 4, 8, 16, 30, 30]);
    }

    // spec: L6
    // fault: 88
    #[test]
    fn a_reset_in_the_past_or_in_years_is_no_word_to_wait_for() {
        let year_2099 = Millis(4_070_908_800_000);
        for absurd in [Millis(0), Millis(i64::MIN), NOW, year_2099, Millis(i64::MAX)] {
            let limits = limited(Some(absurd));
            assert_eq!((wait_of(&limits), limits.shut_of(0).reset_at), (60_000, None), "{absurd:?}");
        }
    }

    // spec: L6
    // fault: 88
    #[test]
    fn a_limit_that_is_always_over_at_once_makes_no_busy_loop() {
        let mut limits = Limits::default();
        let soon = NOW.plus(1);
        let mut waits = Vec::new();
        for _ in 0..8 {
            limits.shut(Some(soon), NOW, 0);
            waits.push(wait_of(&limits) / 1_000);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    // spec: L6
    #[test]
    fn a_reset_beyond_what_may_be_waited_is_not_waited_for() {
        let limits = limited(Some(NOW.plus(7 * HOUR)));
        assert_eq!(limits.way_out(1, NOW, 6 * HOUR), WayOut::Nothing { ms: 7 * HOUR });
        assert!(
            matches!(limits.way_out(1, NOW, 8 * HOUR), WayOut::Wait(WaitFor { ms, .. }) if ms == 7 * HOUR)
        );
    }

    // spec: L6
    #[test]
    fn a_guess_is_waited_for_only_as_long_as_may_be_waited() {
        let mut limits = limited(None);
        assert!(matches!(
            limits.way_out(1, NOW, 20_000),
            WayOut::Wait(WaitFor { ms: 20_000, reset_at: None, .. })
        ));
        limits.waited_ms = 20_000;
        assert_eq!(limits.way_out(1, NOW, 20_000), WayOut::Nothing { ms: 60_000 });
    }

    // spec: L6
    #[test]
    fn jitter_alone_never_makes_a_wait_too_long() {
        let mut limits = Limits::default();
        limits.shut(Some(NOW.plus(HOUR)), NOW, u32::MAX);
        assert!(matches!(limits.way_out(1, NOW, HOUR), WayOut::Wait(WaitFor { ms: HOUR, .. })));
    }

    // spec: L6
    #[test]
    fn the_first_free_agent_takes_over_and_the_preferred_one_returns_after_its_reset() {
        let mut limits = limited(Some(NOW.plus(HOUR)));
        assert_eq!(limits.way_out(3, NOW, HOUR), WayOut::TakeOver { agent: 1 });
        limits.put_to_work(1);
        assert_eq!(limits.returning(NOW), None);
        assert_eq!(limits.returning(NOW.plus(HOUR)), Some(0));
        limits.shut(Some(NOW.plus(2 * HOUR)), NOW, 0);
        assert_eq!(limits.way_out(3, NOW, HOUR), WayOut::TakeOver { agent: 2 });
    }

    // spec: L6
    #[test]
    fn when_all_are_limited_the_wait_is_for_the_one_that_is_free_first() {
        let mut limits = limited(Some(NOW.plus(2 * HOUR)));
        limits.put_to_work(1);
        limits.shut(Some(NOW.plus(HOUR)), NOW, 0);
        assert!(matches!(limits.way_out(2, NOW, 6 * HOUR), WayOut::Wait(WaitFor { agent: 1, ms: HOUR, .. })));
    }

    // spec: L6
    #[test]
    fn a_clock_that_jumped_never_makes_a_wait_longer() {
        let wait = Wait { agent: 0, until: NOW.plus(HOUR), planned_ms: HOUR, since: Millis(0) };
        assert_eq!(wait.left_ms(NOW.plus(HOUR / 2)), HOUR / 2);
        assert_eq!(wait.left_ms(Millis(0)), HOUR, "back by years");
        assert_eq!(wait.left_ms(NOW.plus(100 * HOUR)), 0, "slept through it");
    }
}
