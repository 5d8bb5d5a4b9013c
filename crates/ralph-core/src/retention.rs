//! Which runs are old enough that their raw logs may go.
use alloc::vec::Vec;

use crate::event::Millis;

/// What the user wants to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Logs of runs that ended less than this ago stay.
    pub younger_than_ms: u64,
    /// So many of the newest runs keep theirs in any case.
    pub newest: usize,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It is going on, or nobody knows that it is not.
    Running,
    Ended {
        at: Millis,
    },
}

/// Returns the positions of the runs whose logs may go. The newest run comes first.
#[must_use]
pub fn removable(runs: &[Life], keep: Retention, now: Millis) -> Vec<usize> {
    let is_old = |life: &Life| match life {
        Life::Running => false,
        Life::Ended { at } => now.since(*at) >= keep.younger_than_ms,
    };
    runs.iter()
        .enumerate()
        .skip(keep.newest)
        .filter(|(_, life)| is_old(life))
        .map(|(place, _)| place)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(10_000);

    fn ended(at: i64) -> Life {
        Life::Ended { at: Millis(at) }
    }

    // spec: D5
    #[test]
    fn old_runs_may_go_and_young_ones_stay() {
        let runs = [ended(9_500), ended(9_000), ended(8_999), ended(1)];
        assert_eq!(removable(&runs, Retention { younger_than_ms: 1_000, newest: 0 }, NOW), [1, 2, 3]);
    }

    // spec: D5
    #[test]
    fn a_run_that_goes_on_stays_however_old_it_is() {
        let keep = Retention { younger_than_ms: 0, newest: 0 };
        assert_eq!(removable(&[Life::Running, ended(1), Life::Running], keep, NOW), [1]);
    }

    // spec: D5
    #[test]
    fn the_newest_stay_whatever_their_age() {
        let keep = Retention { younger_than_ms: 0, newest: 2 };
        assert_eq!(removable(&[ended(3), ended(2), ended(1)], keep, NOW), [2]);
        assert!(removable(&[ended(3)], keep, NOW).is_empty());
    }

    // spec: D5
    #[test]
    fn an_end_in_the_future_counts_as_now() {
        let runs = [ended(20_000)];
        assert!(removable(&runs, Retention { younger_than_ms: 1, newest: 0 }, NOW).is_empty());
    }
}
