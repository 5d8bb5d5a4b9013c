//! What a run may use: money, tokens, time. What is used up stops the next start, and the agent that is using it. Runs of one
//! task, and of one spec, may have a budget that they share.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::attempt::Spend;
use crate::event::Millis;
use crate::text::span_words;

/// The limits of a run; what is `None` has no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a dollar.
    pub max_cost_micros: Option<u64>,
    /// Tokens in and out together.
    pub max_tokens: Option<u64>,
    /// Milliseconds from the start to the end, without the time between a run that was cut short and its resumption.
    pub max_duration_ms: Option<u64>,
    /// Iterations of all runs that share it; a run has a limit of its own.
    pub max_iterations: Option<u32>,
    pub unknown_cost: UnknownCost,
}

/// What becomes of a run whose agent does not tell what it costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownCost {
    /// It goes on, and nobody knows what it cost.
    #[default]
    Bear,
    /// It ends.
    Refuse,
}

/// A budget that several runs share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    pub scope: Scope,
    pub budget: Budget,
}

/// The runs that share a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Those of a task.
    Task(String),
    /// Those of all tasks of a spec.
    Spec(String),
    /// Those that one worker drives.
    Worker,
}

impl Scope {
    /// Returns what people call it: `task T-1`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Task(id) => format!("task {id}"),
            Self::Spec(id) => format!("spec {id}"),
            Self::Worker => "this worker".to_owned(),
        }
    }
}

/// Everything that limits a run: its own budget, and those that it shares, with what the others have used of each.
#[derive(Debug, Clone, Copy)]
pub struct Purse<'a> {
    pub own: &'a Budget,
    pub shared: &'a [Shared],
    /// In the order of `shared`; what is missing is nothing.
    pub others: &'a [Used],
}

impl<'a> Purse<'a> {
    /// Says why nothing more may be used, if that is so, by a run that has used so much itself.
    #[must_use]
    pub fn used_up_by(&self, used: Used) -> Option<String> {
        let shared = || self.with_others(used).find_map(|(shared, used)| shared.used_up_by(used));
        self.own.used_up_by(used).or_else(shared)
    }

    /// Says why no other iteration may begin, if that is so, in a run that has had so many.
    #[must_use]
    pub fn out_of_iterations(&self, own: u32) -> Option<String> {
        let own = Used { iterations: own, ..Used::default() };
        self.with_others(own).find_map(|(shared, used)| shared.out_of_iterations(used.iterations))
    }

    /// Returns how long the run may still take, where that is limited.
    #[must_use]
    pub fn time_left_ms(&self, used: Used) -> Option<u64> {
        let shared =
            self.with_others(used).filter_map(|(shared, used)| shared.budget.time_left_ms(used.worked_ms));
        self.own.time_left_ms(used.worked_ms).into_iter().chain(shared).min()
    }

    /// Says that the time is over, of that budget which leaves the least.
    #[must_use]
    pub fn out_of_time(&self, used: Used) -> String {
        let left = self.own.time_left_ms(used.worked_ms).map(|left| (left, self.own.out_of_time()));
        let shared = self.with_others(used).filter_map(|(shared, used)| {
            Some((shared.budget.time_left_ms(used.worked_ms)?, shared.out_of_time()))
        });
        let least = left.into_iter().chain(shared).min_by_key(|(left, _)| *left);
        least.map_or_else(|| self.own.out_of_time(), |(_, words)| words)
    }

    fn with_others(&self, used: Used) -> impl Iterator<Item = (&'a Shared, Used)> {
        let others = self.others.iter().copied().chain(core::iter::repeat(Used::default()));
        self.shared.iter().zip(others).map(move |(shared, others)| (shared, others.and(used)))
    }
}

impl Shared {
    fn used_up_by(&self, used: Used) -> Option<String> {
        let budget = &self.budget;
        let time = || budget.time(used.worked_ms, || self.out_of_time());
        let unknown = || budget.unknown(used.unpriced, "not all of its runs tell what they cost");
        budget
            .money(used.spent)
            .or_else(|| budget.tokens(used.spent))
            .map(|why| format!("the budget of {} is used up: {why}", self.scope.words()))
            .or_else(time)
            .or_else(unknown)
    }

    fn out_of_iterations(&self, had: u32) -> Option<String> {
        let most = self.budget.max_iterations.filter(|most| had >= *most)?;
        let runs = self.scope.words();
        Some(format!("the runs of {runs} have had the {most} iterations that they may have (max_iterations)"))
    }

    fn out_of_time(&self) -> String {
        let most = span_words(self.budget.max_duration_ms.unwrap_or_default());
        format!("the runs of {} have taken the {most} that they may take (max_duration)", self.scope.words())
    }
}

impl Budget {
    /// Says why nothing more may be used, if that is so.
    #[must_use]
    pub fn used_up_by(&self, used: Used) -> Option<String> {
        let Used { spent, worked_ms, unpriced, .. } = used;
        self.money(spent)
            .or_else(|| self.tokens(spent))
            .or_else(|| self.time(worked_ms, || self.out_of_time()))
            .or_else(|| self.unknown(unpriced, "the agent does not tell what it costs"))
    }

    /// Tells whether it limits anything.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        let is_some =
            [self.max_cost_micros, self.max_tokens, self.max_duration_ms].iter().any(Option::is_some);
        is_some || self.max_iterations.is_some()
    }

    fn money(&self, spent: Spend) -> Option<String> {
        let (most, used) = (self.max_cost_micros?, spent.cost_micros?);
        let words = || format!("{} of {} are spent (max_cost_usd)", dollars(used), dollars(most));
        (used >= most).then(words)
    }

    fn tokens(&self, spent: Spend) -> Option<String> {
        let (most, used) = (self.max_tokens?, spent.tokens()?);
        (used >= most).then(|| format!("{used} of {most} tokens are used (max_tokens)"))
    }

    fn time(&self, worked_ms: u64, words: impl FnOnce() -> String) -> Option<String> {
        let most = self.max_duration_ms?;
        (worked_ms >= most).then(words)
    }

    /// Says that the time is over.
    fn out_of_time(&self) -> String {
        let most = span_words(self.max_duration_ms.unwrap_or_default());
        format!("the run has taken the {most} that it may take (max_duration)")
    }

    fn time_left_ms(&self, worked_ms: u64) -> Option<u64> {
        self.max_duration_ms.map(|most| most.saturating_sub(worked_ms))
    }

    fn unknown(&self, unpriced: u32, who: &str) -> Option<String> {
        match (self.unknown_cost, unpriced) {
            (UnknownCost::Refuse, 1..) => Some(format!("{who}, and that must be known (require_known_cost)")),
            (UnknownCost::Refuse, 0) | (UnknownCost::Bear, _) => None,
        }
    }
}

/// What a run, or several, have used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    pub spent: Spend,
    pub worked_ms: u64,
    /// Finished attempts of which nobody knows the cost.
    pub unpriced: u32,
    /// Iterations that have begun.
    #[serde(default)]
    pub iterations: u32,
}

impl Used {
    fn and(self, other: Self) -> Self {
        Self {
            spent: self.spent.plus(other.spent),
            worked_ms: self.worked_ms.saturating_add(other.worked_ms),
            unpriced: self.unpriced.saturating_add(other.unpriced),
            iterations: self.iterations.saturating_add(other.iterations),
        }
    }
}

/// Returns an amount of money as people write it: two digits after the point, more where it is that small.
#[must_use]
pub fn dollars(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    let digits = format!("{part:06}");
    let wanted = digits.trim_end_matches('0').len().max(2);
    format!("${whole}.{}", digits.get(..wanted).unwrap_or(&digits))
}

/// How long a run has been at work, over all the processes that drove it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worked {
    /// What earlier drivers brought.
    before_ms: u64,
    /// When this one began, and when it last decided something.
    since: Millis,
    seen: Millis,
}

impl Worked {
    /// Begins, or goes on after another driver left.
    #[must_use]
    pub fn taken_up(self, at: Millis) -> Self {
        Self { before_ms: self.ms(), since: at, seen: at }
    }

    #[must_use]
    pub fn seen(self, at: Millis) -> Self {
        Self { seen: at, ..self }
    }

    #[must_use]
    pub fn ms(self) -> u64 {
        self.before_ms.saturating_add(self.seen.since(self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(cost_micros: u64, tokens: u64, worked_ms: u64) -> Used {
        let spent = Spend { input_tokens: Some(tokens), output_tokens: None, cost_micros: Some(cost_micros) };
        Used { spent, worked_ms, ..Used::default() }
    }

    // spec: L8
    #[test]
    fn a_budget_is_used_up_when_nothing_of_it_is_left_and_says_which() {
        let money = Budget { max_cost_micros: Some(5_000_000), ..Budget::default() };
        assert_eq!(money.used_up_by(used(4_999_999, 9, 9)), None);
        let words = money.used_up_by(used(5_250_000, 9, 9));
        assert_eq!(words.as_deref(), Some("$5.25 of $5.00 are spent (max_cost_usd)"));
        let tokens = Budget { max_tokens: Some(100), ..Budget::default() };
        assert_eq!(tokens.used_up_by(used(9, 99, 9)), None);
        assert_eq!(
            tokens.used_up_by(used(9, 100, 9)).as_deref(),
            Some("100 of 100 tokens are used (max_tokens)")
        );
        let time = Budget { max_duration_ms: Some(60_000), ..Budget::default() };
        assert_eq!(time.used_up_by(used(9, 9, 59_999)), None);
        assert!(time.used_up_by(used(9, 9, 60_000)).is_some());
        assert_eq!(time.time_left_ms(45_000), Some(15_000));
    }

    // spec: L8
    #[test]
    fn what_nobody_knows_uses_nothing_up_and_is_refused_only_where_it_must_be_known() {
        let bears = Budget { max_cost_micros: Some(1), max_tokens: Some(1), ..Budget::default() };
        let unknown = Used { unpriced: 1, ..Used::default() };
        assert_eq!(bears.used_up_by(unknown), None);
        let refuses = Budget { unknown_cost: UnknownCost::Refuse, ..bears };
        assert!(refuses.used_up_by(unknown).is_some());
        assert_eq!(refuses.used_up_by(used(0, 0, 0)), None);
    }

    fn shared(scope: Scope, budget: Budget) -> Shared {
        Shared { scope, budget }
    }

    // spec: L8
    #[test]
    fn a_shared_budget_counts_what_other_runs_have_used_and_is_named() {
        let own = Budget { max_cost_micros: Some(4_000_000), ..Budget::default() };
        let five = Budget { max_cost_micros: Some(5_000_000), ..Budget::default() };
        let few = Budget { max_tokens: Some(100), ..Budget::default() };
        let shared = [shared(Scope::Task("T-1".into()), few), shared(Scope::Spec("auth".into()), five)];
        let purse = |others| Purse { own: &own, shared: &shared, others };
        let others = [used(0, 90, 0), used(3_000_000, 0, 0)];
        assert_eq!(purse(&others).used_up_by(used(1_999_999, 9, 0)), None);
        let spec = purse(&others).used_up_by(used(2_250_000, 9, 0));
        assert_eq!(
            spec.as_deref(),
            Some("the budget of spec auth is used up: $5.25 of $5.00 are spent (max_cost_usd)")
        );
        let task = purse(&others).used_up_by(used(0, 10, 0));
        assert_eq!(
            task.as_deref(),
            Some("the budget of task T-1 is used up: 100 of 100 tokens are used (max_tokens)")
        );
        assert_eq!(purse(&[]).used_up_by(used(3_000_000, 9, 0)), None, "nobody else has used anything");
        let alone = purse(&[]).used_up_by(used(4_000_000, 9, 0));
        assert_eq!(alone.as_deref(), Some("$4.00 of $4.00 are spent (max_cost_usd)"));
    }

    // spec: L8
    #[test]
    fn the_time_that_is_left_is_that_of_the_budget_which_leaves_the_least() {
        let hours = |hours: u64| Budget { max_duration_ms: Some(hours * 3_600_000), ..Budget::default() };
        let own = hours(12);
        let shared = [shared(Scope::Task("T-1".into()), hours(3))];
        let purse = Purse { own: &own, shared: &shared, others: &[used(0, 0, 2 * 3_600_000)] };
        assert_eq!(purse.time_left_ms(used(0, 0, 1_800_000)), Some(1_800_000));
        let over = "the runs of task T-1 have taken the 3h that they may take (max_duration)";
        assert_eq!(purse.out_of_time(used(0, 0, 3_600_000)), over);
        assert_eq!(purse.used_up_by(used(0, 0, 3_600_000)).as_deref(), Some(over));
        let alone = Purse { shared: &[], ..purse };
        assert_eq!(alone.time_left_ms(used(0, 0, 3_600_000)), Some(11 * 3_600_000));
        assert!(alone.out_of_time(used(0, 0, 0)).starts_with("the run has taken the 12h"));
    }

    // spec: L8
    #[test]
    fn a_shared_budget_of_money_may_have_to_know_the_cost_of_all_runs() {
        let known =
            Budget { max_cost_micros: Some(9), unknown_cost: UnknownCost::Refuse, ..Budget::default() };
        let shared = [shared(Scope::Spec("auth".into()), known)];
        let own = Budget::default();
        let others = [Used { unpriced: 1, ..Used::default() }];
        let words = Purse { own: &own, shared: &shared, others: &others }.used_up_by(used(1, 0, 0));
        assert!(words.is_some_and(|words| words.contains("require_known_cost")));
        assert_eq!(Purse { own: &own, shared: &shared, others: &[] }.used_up_by(used(1, 0, 0)), None);
    }

    // spec: L8
    #[test]
    fn money_is_written_with_two_digits_and_more_where_it_is_that_small() {
        assert_eq!(dollars(0), "$0.00");
        assert_eq!(dollars(5_200_000), "$5.20");
        assert_eq!(dollars(1_234), "$0.001234");
        assert_eq!(dollars(12_000_000), "$12.00");
    }

    // spec: L8
    #[test]
    fn the_time_between_two_drivers_is_not_time_of_the_run() {
        let first = Worked::default().taken_up(Millis(1_000)).seen(Millis(4_000));
        assert_eq!(first.ms(), 3_000);
        let second = first.taken_up(Millis(900_000)).seen(Millis(900_500));
        assert_eq!(second.ms(), 3_500);
        assert_eq!(
            second.seen(Millis(5)).ms(),
            3_000,
            "a clock that went back takes nothing away from before"
        );
    }
}
