//! Weighs the whole tree of a job against the memory it may use, now and then. Address space says nothing, as many
//! runtimes reserve far more than they use, so what counts is resident. It kills nothing.

use std::time::{Duration, Instant};

use super::platform;
use super::seen::Seen;
use super::tree::alive;

/// How often a tree is weighed.
const EVERY: Duration = Duration::from_millis(500);

pub(super) struct Ceiling {
    limit: u64,
    next: Instant,
}

/// How much more than allowed a tree used, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Excess {
    pub(super) used: u64,
    pub(super) limit: u64,
}

impl Ceiling {
    pub(super) fn new(limit: u64) -> Ceiling {
        Ceiling { limit, next: Instant::now() + EVERY }
    }

    /// Returns when the tree is to be weighed next.
    pub(super) fn time_left(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Weighs the tree if it is time.
    ///
    /// The quick sum counts a page once for each process that has it, so a tree that forks without `exec` looks heavier
    /// than it is. Only a tree that is too heavy then is weighed exactly, which takes longer.
    pub(super) fn check(&mut self) -> Option<Excess> {
        if !self.time_left().is_zero() {
            return None;
        }
        let limit = self.limit;
        let used =
            Some(sum(platform::memory_at_most)).filter(|most| *most > limit).map(|_| sum(platform::memory));
        self.next = Instant::now() + EVERY;
        used.filter(|used| *used > limit).map(|used| Excess { used, limit })
    }
}

fn sum(weigh: impl Fn(&Seen) -> u64) -> u64 {
    alive().iter().map(weigh).fold(0, u64::saturating_add)
}
