//! Compares the memory of a job's process tree with its limit at intervals. Counts resident memory, because many
//! runtimes reserve far more address space than they use. It kills nothing.

use std::time::{Duration, Instant};

use crate::processes::process_snapshot::ProcessSnapshot;
use crate::processes::process_tree::living_descendants;
use crate::unix::platform;

/// How often the memory of a tree is measured.
const MEMORY_CHECK_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) struct MemoryLimit {
    limit_bytes: u64,
    next_check: Instant,
}

/// A tree's memory usage above its limit, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryExcess {
    pub(crate) used_bytes: u64,
    pub(crate) limit_bytes: u64,
}

impl MemoryLimit {
    pub(crate) fn new(limit_bytes: u64) -> MemoryLimit {
        MemoryLimit { limit_bytes, next_check: Instant::now() + MEMORY_CHECK_INTERVAL }
    }

    /// Returns the time until the next measurement.
    pub(crate) fn time_until_check(&self) -> Duration {
        self.next_check.saturating_duration_since(Instant::now())
    }

    /// Measures the tree if a measurement is due. Returns the excess if the tree is over its limit.
    ///
    /// The fast sum counts a shared page once per process, so it is too high for a tree that forks without `exec`. Only
    /// if that sum is over the limit is the tree measured exactly, which takes longer.
    pub(crate) fn check_if_due(&mut self) -> Option<MemoryExcess> {
        if !self.time_until_check().is_zero() {
            return None;
        }
        let limit = self.limit_bytes;
        let used = Some(sum_tree_memory(platform::resident_memory))
            .filter(|upper_bound| *upper_bound > limit)
            .map(|_| sum_tree_memory(platform::proportional_memory));
        self.next_check = Instant::now() + MEMORY_CHECK_INTERVAL;
        used.filter(|used| *used > limit).map(|used| MemoryExcess { used_bytes: used, limit_bytes: limit })
    }
}

fn sum_tree_memory(measure: impl Fn(&ProcessSnapshot) -> u64) -> u64 {
    living_descendants().iter().map(measure).fold(0, u64::saturating_add)
}
