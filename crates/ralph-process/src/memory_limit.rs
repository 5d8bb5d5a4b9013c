//! Weighs the whole tree of a job against the memory it may use, now and then. Address space says nothing, as many
//! runtimes reserve far more than they use, so what counts is resident. It kills nothing.

use std::time::{Duration, Instant};

use super::platform;
use super::process_snapshot::ProcessSnapshot;
use super::process_tree::living_descendants;

/// How often a tree is weighed.
const MEMORY_CHECK_INTERVAL: Duration = Duration::from_millis(500);

pub(super) struct MemoryLimit {
    limit_bytes: u64,
    next_check: Instant,
}

/// How much more than allowed a tree used, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryExcess {
    pub(super) used_bytes: u64,
    pub(super) limit_bytes: u64,
}

impl MemoryLimit {
    pub(super) fn new(limit_bytes: u64) -> MemoryLimit {
        MemoryLimit { limit_bytes, next_check: Instant::now() + MEMORY_CHECK_INTERVAL }
    }

    /// Returns when the tree is to be weighed next.
    pub(super) fn time_until_check(&self) -> Duration {
        self.next_check.saturating_duration_since(Instant::now())
    }

    /// Weighs the tree if it is time.
    ///
    /// The quick sum counts a page once for each process that has it, so a tree that forks without `exec` looks heavier
    /// than it is. Only a tree that is too heavy then is weighed exactly, which takes longer.
    pub(super) fn check_if_due(&mut self) -> Option<MemoryExcess> {
        if !self.time_until_check().is_zero() {
            return None;
        }
        let limit = self.limit_bytes;
        let used = Some(sum_tree_memory(platform::resident_memory))
            .filter(|most| *most > limit)
            .map(|_| sum_tree_memory(platform::proportional_memory));
        self.next_check = Instant::now() + MEMORY_CHECK_INTERVAL;
        used.filter(|used| *used > limit).map(|used| MemoryExcess { used_bytes: used, limit_bytes: limit })
    }
}

fn sum_tree_memory(measure: impl Fn(&ProcessSnapshot) -> u64) -> u64 {
    living_descendants().iter().map(measure).fold(0, u64::saturating_add)
}
