//! Which runs are old enough that their raw logs may be deleted.
use alloc::vec::Vec;

use crate::event::UnixMillis;

/// Which logs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Logs of runs that ended more recently than this are kept.
    pub keep_younger_than_ms: u64,
    /// The number of newest runs whose logs are always kept.
    pub keep_newest: usize,
}

/// Whether a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLiveness {
    /// It is running, or may be running.
    Running,
    Ended {
        at: UnixMillis,
    },
}

/// Returns the indices of the runs whose logs may be deleted. `runs` must be sorted from newest to oldest.
#[must_use]
pub fn find_removable_runs(runs: &[RunLiveness], policy: RetentionPolicy, now: UnixMillis) -> Vec<usize> {
    let is_old = |run: &RunLiveness| match run {
        RunLiveness::Running => false,
        RunLiveness::Ended { at } => now.elapsed_since(*at) >= policy.keep_younger_than_ms,
    };
    runs.iter().enumerate().skip(policy.keep_newest).filter(|(_, run)| is_old(run)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(10_000);

    fn ended_at(at: i64) -> RunLiveness {
        RunLiveness::Ended { at: UnixMillis(at) }
    }

    // spec: D5
    #[test]
    fn old_runs_are_removable_and_recent_ones_are_not() {
        let runs = [ended_at(9_500), ended_at(9_000), ended_at(8_999), ended_at(1)];
        assert_eq!(
            find_removable_runs(&runs, RetentionPolicy { keep_younger_than_ms: 1_000, keep_newest: 0 }, NOW),
            [1, 2, 3]
        );
    }

    // spec: D5
    #[test]
    fn a_running_run_is_never_removable() {
        let keep = RetentionPolicy { keep_younger_than_ms: 0, keep_newest: 0 };
        assert_eq!(find_removable_runs(&[RunLiveness::Running, ended_at(1), RunLiveness::Running], keep, NOW), [1]);
    }

    // spec: D5
    #[test]
    fn the_newest_runs_are_kept_regardless_of_age() {
        let keep = RetentionPolicy { keep_younger_than_ms: 0, keep_newest: 2 };
        assert_eq!(find_removable_runs(&[ended_at(3), ended_at(2), ended_at(1)], keep, NOW), [2]);
        assert!(find_removable_runs(&[ended_at(3)], keep, NOW).is_empty());
    }

    // spec: D5
    #[test]
    fn an_end_in_the_future_counts_as_now() {
        let runs = [ended_at(20_000)];
        assert!(
            find_removable_runs(&runs, RetentionPolicy { keep_younger_than_ms: 1, keep_newest: 0 }, NOW).is_empty()
        );
    }
}
