//! Which runs are old enough that their raw logs may go.
use alloc::vec::Vec;

use crate::event::UnixMillis;

/// What the user wants to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Logs of runs that ended less than this ago stay.
    pub keep_younger_than_ms: u64,
    /// So many of the newest runs keep theirs in any case.
    pub keep_newest: usize,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLiveness {
    /// It is going on, or nobody knows that it is not.
    Running,
    Ended {
        at: UnixMillis,
    },
}

/// Returns the positions of the runs whose logs may go. The newest run comes first.
#[must_use]
pub fn find_removable_runs(runs: &[RunLiveness], policy: RetentionPolicy, now: UnixMillis) -> Vec<usize> {
    let is_old = |life: &RunLiveness| match life {
        RunLiveness::Running => false,
        RunLiveness::Ended { at } => now.elapsed_since(*at) >= policy.keep_younger_than_ms,
    };
    runs.iter().enumerate().skip(policy.keep_newest).filter(|(_, life)| is_old(life)).map(|(place, _)| place).collect()
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
    fn old_runs_may_go_and_young_ones_stay() {
        let runs = [ended_at(9_500), ended_at(9_000), ended_at(8_999), ended_at(1)];
        assert_eq!(
            find_removable_runs(&runs, RetentionPolicy { keep_younger_than_ms: 1_000, keep_newest: 0 }, NOW),
            [1, 2, 3]
        );
    }

    // spec: D5
    #[test]
    fn a_run_that_goes_on_stays_however_old_it_is() {
        let keep = RetentionPolicy { keep_younger_than_ms: 0, keep_newest: 0 };
        assert_eq!(find_removable_runs(&[RunLiveness::Running, ended_at(1), RunLiveness::Running], keep, NOW), [1]);
    }

    // spec: D5
    #[test]
    fn the_newest_stay_whatever_their_age() {
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
