//! Runs contestants in turns (A B C, A B C), so that other load on the machine affects all of them equally.
use std::time::Duration;

use crate::error::Result;

/// Runs a contestant once and returns its time.
pub(super) type BenchContestant<'a> = &'a mut dyn FnMut() -> Result<Duration>;

/// The times of each contestant, round by round.
pub(super) struct RoundTimes {
    seconds: Vec<Vec<f64>>,
}

/// Runs each contestant once as a warm-up, then `rounds` times in turns.
pub(super) fn run_rounds(rounds: usize, contestants: &mut [BenchContestant<'_>]) -> Result<RoundTimes> {
    for contestant in contestants.iter_mut() {
        contestant()?;
    }
    let mut seconds = vec![Vec::new(); contestants.len()];
    for _ in 0..rounds {
        for (contestant, times) in contestants.iter_mut().zip(&mut seconds) {
            times.push(contestant()?.as_secs_f64());
        }
    }
    Ok(RoundTimes { seconds })
}

impl RoundTimes {
    /// Returns the median time of a contestant, in seconds.
    pub(super) fn median_seconds(&self, contestant: usize) -> f64 {
        self.seconds.get(contestant).map_or(f64::NAN, |times| median(times))
    }

    /// Returns the median over all rounds of the ratio between two contestants.
    pub(super) fn median_ratio(&self, one: usize, other: usize) -> f64 {
        let pair = self.seconds.get(one).zip(self.seconds.get(other));
        let ratios = pair.map(|(one, other)| one.iter().zip(other).map(|(one, other)| one / other).collect::<Vec<_>>());
        ratios.map_or(f64::NAN, |ratios| median(&ratios))
    }
}

/// Returns the median; for an even number of values, the mean of the two in the middle.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle.wrapping_sub(1)), sorted.get(middle)) {
        (Some(low), Some(high)) if sorted.len().is_multiple_of(2) => f64::midpoint(*low, *high),
        (_, Some(middle)) => *middle,
        (_, None) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(median(&[3.0, 1.0, 2.0]).to_string(), "2");
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]).to_string(), "2.5");
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn contestants_take_turns_after_a_warm_up_round() {
        let order = std::cell::RefCell::new(String::new());
        let run = |name: char, millis: u64| {
            order.borrow_mut().push(name);
            Ok(Duration::from_millis(millis))
        };
        let rounds = run_rounds(2, &mut [&mut || run('a', 10), &mut || run('b', 20)]).unwrap();
        assert_eq!(order.into_inner(), "ababab");
        assert_eq!(
            (rounds.median_ratio(0, 1).to_string(), rounds.median_seconds(1).to_string()),
            ("0.5".to_owned(), "0.02".to_owned())
        );
    }
}
