//! Statistics over many runs: completions, iterations, cost. Runs with unknown cost are counted separately, not as
//! zero.
use alloc::collections::BTreeMap;

use crate::attempt::ModelSpend;

/// Runs of one group with the same number of iterations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunStatsBucket {
    /// The iterations of each of them.
    pub iterations: u32,
    pub runs: u64,
    /// Runs that have ended: neither running nor interrupted.
    pub ended_runs: u64,
    pub completed_runs: u64,
    /// Runs that ended because a reviewing role sent the work back. Such a run is not a failure.
    pub sent_back_runs: u64,
    /// Claims that were rejected.
    pub rejected_claims: u64,
    /// The known spending.
    pub spent: ModelSpend,
    /// Runs whose cost is not fully known.
    pub unpriced_runs: u64,
    /// Runs whose tokens are unknown.
    pub runs_without_tokens: u64,
    /// The cost of judges, which is included in `spent`.
    pub judge_cost_micros: Option<u64>,
    /// The total work time of the timed runs.
    pub worked_ms: u64,
    pub timed_runs: u64,
}

/// A group of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunStatsSummary {
    pub totals: RunStatsBucket,
    /// The number of ended runs, by their number of iterations.
    runs_by_iterations: BTreeMap<u32, u64>,
}

impl RunStatsSummary {
    pub fn add_bucket(&mut self, bucket: RunStatsBucket) {
        if bucket.ended_runs > 0 {
            *self.runs_by_iterations.entry(bucket.iterations).or_default() += bucket.ended_runs;
        }
        let all = &mut self.totals;
        all.iterations = all.iterations.max(bucket.iterations);
        all.runs += bucket.runs;
        all.ended_runs += bucket.ended_runs;
        all.completed_runs += bucket.completed_runs;
        all.sent_back_runs += bucket.sent_back_runs;
        all.rejected_claims += bucket.rejected_claims;
        all.spent = all.spent.add_known(bucket.spent);
        all.unpriced_runs += bucket.unpriced_runs;
        all.runs_without_tokens += bucket.runs_without_tokens;
        all.judge_cost_micros = match (all.judge_cost_micros, bucket.judge_cost_micros) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (known, None) | (None, known) => known,
        };
        all.worked_ms = all.worked_ms.saturating_add(bucket.worked_ms);
        all.timed_runs += bucket.timed_runs;
    }

    /// Returns the share of completed runs among the ended runs that were not sent back.
    #[must_use]
    pub fn success_rate(&self) -> Option<f64> {
        compute_ratio(self.totals.completed_runs, self.totals.ended_runs.checked_sub(self.totals.sent_back_runs)?)
    }

    /// Returns the mean work time of a run.
    #[must_use]
    pub fn mean_work_ms(&self) -> Option<u64> {
        self.totals.worked_ms.checked_div(self.totals.timed_runs)
    }

    /// Returns mean, median and maximum of the iterations of ended runs.
    #[must_use]
    pub fn iteration_stats(&self) -> Option<IterationStats> {
        let count: u64 = self.runs_by_iterations.values().sum();
        let sum: u64 = self.runs_by_iterations.iter().map(|(length, runs)| u64::from(*length) * runs).sum();
        Some(IterationStats {
            mean: compute_ratio(sum, count)?,
            median: (self.nth_iteration_count((count - 1) / 2)? + self.nth_iteration_count(count / 2)?) / 2.0,
            max: *self.runs_by_iterations.keys().next_back()?,
        })
    }

    /// Returns the iterations of the run at this index (from 0), sorted by iterations.
    fn nth_iteration_count(&self, place: u64) -> Option<f64> {
        let mut passed = 0;
        let mut lengths = self.runs_by_iterations.iter();
        lengths.find_map(|(length, runs)| {
            passed += runs;
            (passed > place).then_some(f64::from(*length))
        })
    }
}

/// Statistics of the iterations per run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterationStats {
    pub mean: f64,
    pub median: f64,
    pub max: u32,
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn compute_ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended_bucket(iterations: u32, runs: u64, completed: u64) -> RunStatsBucket {
        RunStatsBucket { iterations, runs, ended_runs: runs, completed_runs: completed, ..RunStatsBucket::default() }
    }

    fn summarize_buckets(parts: &[RunStatsBucket]) -> RunStatsSummary {
        let mut summary = RunStatsSummary::default();
        parts.iter().for_each(|part| summary.add_bucket(*part));
        summary
    }

    // spec: P9
    #[test]
    fn the_success_rate_counts_ended_runs_that_were_not_sent_back() {
        let running = RunStatsBucket { iterations: 9, runs: 5, ..RunStatsBucket::default() };
        let sent_back = RunStatsBucket { sent_back_runs: 2, ..ended_bucket(1, 2, 0) };
        let summary = summarize_buckets(&[ended_bucket(2, 4, 3), running, sent_back]);
        assert_eq!((summary.totals.runs, summary.totals.ended_runs, summary.success_rate()), (11, 6, Some(0.75)));
        assert_eq!(RunStatsSummary::default().success_rate(), None);
        assert_eq!(summarize_buckets(&[running]).success_rate(), None, "no run has ended");
    }

    // spec: P9
    #[test]
    fn iterations_have_a_mean_a_median_and_a_maximum() {
        let odd = summarize_buckets(&[ended_bucket(1, 2, 2), ended_bucket(10, 1, 0)]).iteration_stats();
        assert_eq!(odd, Some(IterationStats { mean: 4.0, median: 1.0, max: 10 }));
        let even = summarize_buckets(&[ended_bucket(1, 1, 1), ended_bucket(4, 1, 1)]).iteration_stats();
        assert_eq!(even, Some(IterationStats { mean: 2.5, median: 2.5, max: 4 }));
        assert_eq!(RunStatsSummary::default().iteration_stats(), None);
    }

    // spec: O2, L8
    #[test]
    fn unknown_costs_are_counted_and_add_nothing() {
        let known = ModelSpend { cost_micros: Some(5), ..ModelSpend::default() };
        let known = RunStatsBucket {
            spent: known,
            judge_cost_micros: Some(2),
            worked_ms: 300,
            timed_runs: 2,
            ..ended_bucket(1, 2, 2)
        };
        let unknown = RunStatsBucket { unpriced_runs: 3, runs_without_tokens: 3, ..ended_bucket(2, 3, 3) };
        let both = summarize_buckets(&[known, unknown]);
        assert_eq!((both.totals.spent.cost_micros, both.totals.unpriced_runs), (Some(5), 3));
        assert_eq!((both.totals.judge_cost_micros, both.mean_work_ms()), (Some(2), Some(150)));
        let none = summarize_buckets(&[unknown]);
        assert_eq!(
            (none.totals.spent, none.totals.judge_cost_micros, none.mean_work_ms()),
            (ModelSpend::default(), None, None)
        );
    }
}
