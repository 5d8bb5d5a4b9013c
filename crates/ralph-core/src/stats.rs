//! What many runs came to: how many were completed, in how many iterations, at what cost. Unknown is counted, never zero.
use alloc::collections::BTreeMap;

use crate::attempt::Spend;

/// Runs of one group that had the same number of iterations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// How many iterations each of them had.
    pub iterations: u32,
    pub runs: u64,
    /// Those that are over: neither at work nor interrupted.
    pub ended: u64,
    pub completed: u64,
    /// Those that ended because a judging role sent the work back. It had done its own work.
    pub sent_back: u64,
    /// Claims that were rejected.
    pub rejected: u64,
    /// What is known of what they used.
    pub spent: Spend,
    /// Runs of which not all of the cost is known, and none of the tokens.
    pub unpriced: u64,
    pub uncounted: u64,
    /// What judges cost, which is part of what was spent.
    pub judges_micros: Option<u64>,
    /// How long the timed runs were at work together.
    pub worked_ms: u64,
    pub timed: u64,
}

/// A group of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub all: Part,
    /// How many runs that are over had so many iterations.
    lengths: BTreeMap<u32, u64>,
}

impl Summary {
    pub fn add(&mut self, part: Part) {
        if part.ended > 0 {
            *self.lengths.entry(part.iterations).or_default() += part.ended;
        }
        let all = &mut self.all;
        all.iterations = all.iterations.max(part.iterations);
        all.runs += part.runs;
        all.ended += part.ended;
        all.completed += part.completed;
        all.sent_back += part.sent_back;
        all.rejected += part.rejected;
        all.spent = all.spent.plus(part.spent);
        all.unpriced += part.unpriced;
        all.uncounted += part.uncounted;
        all.judges_micros = match (all.judges_micros, part.judges_micros) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (known, None) | (None, known) => known,
        };
        all.worked_ms = all.worked_ms.saturating_add(part.worked_ms);
        all.timed += part.timed;
    }

    /// Returns the part of the runs that are over and were not sent back that was completed.
    #[must_use]
    pub fn success_rate(&self) -> Option<f64> {
        ratio(self.all.completed, self.all.ended.checked_sub(self.all.sent_back)?)
    }

    /// Returns how long a run was at work on average.
    #[must_use]
    pub fn mean_ms(&self) -> Option<u64> {
        self.all.worked_ms.checked_div(self.all.timed)
    }

    /// Returns how many iterations a run that is over had: on average, in the middle, at most.
    #[must_use]
    pub fn iterations(&self) -> Option<Lengths> {
        let count: u64 = self.lengths.values().sum();
        let sum: u64 = self.lengths.iter().map(|(length, runs)| u64::from(*length) * runs).sum();
        Some(Lengths {
            mean: ratio(sum, count)?,
            median: (self.nth((count - 1) / 2)? + self.nth(count / 2)?) / 2.0,
            most: *self.lengths.keys().next_back()?,
        })
    }

    /// Returns the number of iterations of the run in this place, from 0, where they stand in order.
    fn nth(&self, place: u64) -> Option<f64> {
        let mut passed = 0;
        let mut lengths = self.lengths.iter();
        lengths.find_map(|(length, runs)| {
            passed += runs;
            (passed > place).then_some(f64::from(*length))
        })
    }
}

/// How many iterations runs had.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    pub mean: f64,
    pub median: f64,
    pub most: u32,
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(iterations: u32, runs: u64, completed: u64) -> Part {
        Part { iterations, runs, ended: runs, completed, ..Part::default() }
    }

    fn summary(parts: &[Part]) -> Summary {
        let mut summary = Summary::default();
        parts.iter().for_each(|part| summary.add(*part));
        summary
    }

    // spec: P9
    #[test]
    fn success_is_measured_by_the_runs_that_are_over_and_were_not_sent_back() {
        let running = Part { iterations: 9, runs: 5, ..Part::default() };
        let sent_back = Part { sent_back: 2, ..ended(1, 2, 0) };
        let summary = summary(&[ended(2, 4, 3), running, sent_back]);
        assert_eq!((summary.all.runs, summary.all.ended, summary.success_rate()), (11, 6, Some(0.75)));
        assert_eq!(Summary::default().success_rate(), None);
        assert_eq!(self::summary(&[running]).success_rate(), None, "nobody knows yet");
    }

    // spec: P9
    #[test]
    fn iterations_have_a_mean_a_median_and_a_maximum() {
        let odd = summary(&[ended(1, 2, 2), ended(10, 1, 0)]).iterations();
        assert_eq!(odd, Some(Lengths { mean: 4.0, median: 1.0, most: 10 }));
        let even = summary(&[ended(1, 1, 1), ended(4, 1, 1)]).iterations();
        assert_eq!(even, Some(Lengths { mean: 2.5, median: 2.5, most: 4 }));
        assert_eq!(Summary::default().iterations(), None);
    }

    // spec: O2, L8
    #[test]
    fn what_is_unknown_is_counted_and_adds_nothing() {
        let known = Spend { cost_micros: Some(5), ..Spend::default() };
        let known = Part { spent: known, judges_micros: Some(2), worked_ms: 300, timed: 2, ..ended(1, 2, 2) };
        let unknown = Part { unpriced: 3, uncounted: 3, ..ended(2, 3, 3) };
        let both = summary(&[known, unknown]);
        assert_eq!((both.all.spent.cost_micros, both.all.unpriced), (Some(5), 3));
        assert_eq!((both.all.judges_micros, both.mean_ms()), (Some(2), Some(150)));
        let none = summary(&[unknown]);
        assert_eq!((none.all.spent, none.all.judges_micros, none.mean_ms()), (Spend::default(), None, None));
    }
}
