//! What a run may use: money, tokens, time. What is used up stops the next start, and the agent that is using it. Runs of one
//! task, and of one spec, may have a budget that they share.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::attempt::ModelSpend;
use crate::event::UnixMillis;
use crate::text::format_duration_ms;

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
    pub unknown_cost: UnknownCostPolicy,
}

/// What becomes of a run whose agent does not tell what it costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownCostPolicy {
    /// It goes on, and nobody knows what it cost.
    #[default]
    Bear,
    /// It ends.
    Refuse,
}

/// A budget that several runs share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopedBudget {
    pub scope: BudgetScope,
    pub budget: Budget,
}

/// The runs that share a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetScope {
    /// Those of a task.
    Task(String),
    /// Those of all tasks of a spec.
    Spec(String),
    /// Those that one worker drives.
    Worker,
}

impl BudgetScope {
    /// Returns what people call it: `task T-1`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Task(id) => format!("task {id}"),
            Self::Spec(id) => format!("spec {id}"),
            Self::Worker => "this worker".to_owned(),
        }
    }
}

/// Everything that limits a run: its own budget, and those that it shares, with what the others have used of each.
#[derive(Debug, Clone, Copy)]
pub struct BudgetView<'a> {
    pub own_budget: &'a Budget,
    pub shared_budgets: &'a [ScopedBudget],
    /// In the order of `shared`; what is missing is nothing.
    pub used_by_others: &'a [BudgetUsage],
}

impl<'a> BudgetView<'a> {
    /// Says why nothing more may be used, if that is so, by a run that has used so much itself.
    #[must_use]
    pub fn exhaustion_reason(&self, used: BudgetUsage) -> Option<String> {
        let shared = || self.shared_budgets_with_usage(used).find_map(|(shared, used)| shared.exhaustion_reason(used));
        self.own_budget.exhaustion_reason(used).or_else(shared)
    }

    /// Says why no other iteration may begin, if that is so, in a run that has had so many.
    #[must_use]
    pub fn iteration_limit_reason(&self, own_iterations: u32) -> Option<String> {
        let own = BudgetUsage { iterations: own_iterations, ..BudgetUsage::default() };
        self.shared_budgets_with_usage(own).find_map(|(shared, used)| shared.iteration_limit_reason(used.iterations))
    }

    /// Returns how long the run may still take, where that is limited.
    #[must_use]
    pub fn remaining_time_ms(&self, used: BudgetUsage) -> Option<u64> {
        let shared = self
            .shared_budgets_with_usage(used)
            .filter_map(|(shared, used)| shared.budget.remaining_time_ms(used.worked_ms));
        self.own_budget.remaining_time_ms(used.worked_ms).into_iter().chain(shared).min()
    }

    /// Says that the time is over, of that budget which leaves the least.
    #[must_use]
    pub fn describe_time_limit(&self, used: BudgetUsage) -> String {
        let left =
            self.own_budget.remaining_time_ms(used.worked_ms).map(|left| (left, self.own_budget.describe_time_limit()));
        let shared = self.shared_budgets_with_usage(used).filter_map(|(shared, used)| {
            Some((shared.budget.remaining_time_ms(used.worked_ms)?, shared.describe_time_limit()))
        });
        let least = left.into_iter().chain(shared).min_by_key(|(left, _)| *left);
        least.map_or_else(|| self.own_budget.describe_time_limit(), |(_, words)| words)
    }

    fn shared_budgets_with_usage(&self, used: BudgetUsage) -> impl Iterator<Item = (&'a ScopedBudget, BudgetUsage)> {
        let others = self.used_by_others.iter().copied().chain(core::iter::repeat(BudgetUsage::default()));
        self.shared_budgets.iter().zip(others).map(move |(shared, others)| (shared, others.add_usage(used)))
    }
}

impl ScopedBudget {
    fn exhaustion_reason(&self, used: BudgetUsage) -> Option<String> {
        let budget = &self.budget;
        let time = || budget.time_limit_reason(used.worked_ms, || self.describe_time_limit());
        let unknown = || budget.unknown_cost_reason(used.unpriced, "not all of its runs tell what they cost");
        budget
            .cost_limit_reason(used.spent)
            .or_else(|| budget.token_limit_reason(used.spent))
            .map(|why| format!("the budget of {} is used up: {why}", self.scope.describe()))
            .or_else(time)
            .or_else(unknown)
    }

    fn iteration_limit_reason(&self, begun_iterations: u32) -> Option<String> {
        let most = self.budget.max_iterations.filter(|most| begun_iterations >= *most)?;
        let runs = self.scope.describe();
        Some(format!("the runs of {runs} have had the {most} iterations that they may have (max_iterations)"))
    }

    fn describe_time_limit(&self) -> String {
        let most = format_duration_ms(self.budget.max_duration_ms.unwrap_or_default());
        format!("the runs of {} have taken the {most} that they may take (max_duration)", self.scope.describe())
    }
}

impl Budget {
    /// Says why nothing more may be used, if that is so.
    #[must_use]
    pub fn exhaustion_reason(&self, used: BudgetUsage) -> Option<String> {
        let BudgetUsage { spent, worked_ms, unpriced, .. } = used;
        self.cost_limit_reason(spent)
            .or_else(|| self.token_limit_reason(spent))
            .or_else(|| self.time_limit_reason(worked_ms, || self.describe_time_limit()))
            .or_else(|| self.unknown_cost_reason(unpriced, "the agent does not tell what it costs"))
    }

    /// Tells whether it limits anything.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        let is_some = [self.max_cost_micros, self.max_tokens, self.max_duration_ms].iter().any(Option::is_some);
        is_some || self.max_iterations.is_some()
    }

    fn cost_limit_reason(&self, spent: ModelSpend) -> Option<String> {
        let (most, used) = (self.max_cost_micros?, spent.cost_micros?);
        let words = || format!("{} of {} are spent (max_cost_usd)", format_dollars(used), format_dollars(most));
        (used >= most).then(words)
    }

    fn token_limit_reason(&self, spent: ModelSpend) -> Option<String> {
        let (most, used) = (self.max_tokens?, spent.total_tokens()?);
        (used >= most).then(|| format!("{used} of {most} tokens are used (max_tokens)"))
    }

    fn time_limit_reason(&self, worked_ms: u64, describe_limit: impl FnOnce() -> String) -> Option<String> {
        let most = self.max_duration_ms?;
        (worked_ms >= most).then(describe_limit)
    }

    /// Says that the time is over.
    fn describe_time_limit(&self) -> String {
        let most = format_duration_ms(self.max_duration_ms.unwrap_or_default());
        format!("the run has taken the {most} that it may take (max_duration)")
    }

    fn remaining_time_ms(&self, worked_ms: u64) -> Option<u64> {
        self.max_duration_ms.map(|most| most.saturating_sub(worked_ms))
    }

    fn unknown_cost_reason(&self, unpriced: u32, subject: &str) -> Option<String> {
        match (self.unknown_cost, unpriced) {
            (UnknownCostPolicy::Refuse, 1..) => Some(format!("{subject}, and that must be known (require_known_cost)")),
            (UnknownCostPolicy::Refuse, 0) | (UnknownCostPolicy::Bear, _) => None,
        }
    }
}

/// What a run, or several, have used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUsage {
    pub spent: ModelSpend,
    pub worked_ms: u64,
    /// Finished attempts of which nobody knows the cost.
    pub unpriced: u32,
    /// Iterations that have begun.
    #[serde(default)]
    pub iterations: u32,
}

impl BudgetUsage {
    fn add_usage(self, other: Self) -> Self {
        Self {
            spent: self.spent.add_known(other.spent),
            worked_ms: self.worked_ms.saturating_add(other.worked_ms),
            unpriced: self.unpriced.saturating_add(other.unpriced),
            iterations: self.iterations.saturating_add(other.iterations),
        }
    }
}

/// Returns an amount of money as people write it: two digits after the point, more where it is that small.
#[must_use]
pub fn format_dollars(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    let digits = format!("{part:06}");
    let wanted = digits.trim_end_matches('0').len().max(2);
    format!("${whole}.{}", digits.get(..wanted).unwrap_or(&digits))
}

/// How long a run has been at work, over all the processes that drove it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkedTime {
    /// What earlier drivers brought.
    before_ms: u64,
    /// When this one began, and when it last decided something.
    since: UnixMillis,
    seen: UnixMillis,
}

impl WorkedTime {
    /// Begins, or goes on after another driver left.
    #[must_use]
    pub fn resume_at(self, at: UnixMillis) -> Self {
        Self { before_ms: self.total_ms(), since: at, seen: at }
    }

    #[must_use]
    pub fn advance_to(self, at: UnixMillis) -> Self {
        Self { seen: at, ..self }
    }

    #[must_use]
    pub fn total_ms(self) -> u64 {
        self.before_ms.saturating_add(self.seen.elapsed_since(self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_of(cost_micros: u64, tokens: u64, worked_ms: u64) -> BudgetUsage {
        let spent = ModelSpend { input_tokens: Some(tokens), output_tokens: None, cost_micros: Some(cost_micros) };
        BudgetUsage { spent, worked_ms, ..BudgetUsage::default() }
    }

    // spec: L8
    #[test]
    fn a_budget_is_used_up_when_nothing_of_it_is_left_and_says_which() {
        let money = Budget { max_cost_micros: Some(5_000_000), ..Budget::default() };
        assert_eq!(money.exhaustion_reason(usage_of(4_999_999, 9, 9)), None);
        let words = money.exhaustion_reason(usage_of(5_250_000, 9, 9));
        assert_eq!(words.as_deref(), Some("$5.25 of $5.00 are spent (max_cost_usd)"));
        let tokens = Budget { max_tokens: Some(100), ..Budget::default() };
        assert_eq!(tokens.exhaustion_reason(usage_of(9, 99, 9)), None);
        assert_eq!(
            tokens.exhaustion_reason(usage_of(9, 100, 9)).as_deref(),
            Some("100 of 100 tokens are used (max_tokens)")
        );
        let time = Budget { max_duration_ms: Some(60_000), ..Budget::default() };
        assert_eq!(time.exhaustion_reason(usage_of(9, 9, 59_999)), None);
        assert!(time.exhaustion_reason(usage_of(9, 9, 60_000)).is_some());
        assert_eq!(time.remaining_time_ms(45_000), Some(15_000));
    }

    // spec: L8
    #[test]
    fn unknown_cost_uses_up_no_budget_and_is_refused_only_if_cost_must_be_known() {
        let bears = Budget { max_cost_micros: Some(1), max_tokens: Some(1), ..Budget::default() };
        let unknown = BudgetUsage { unpriced: 1, ..BudgetUsage::default() };
        assert_eq!(bears.exhaustion_reason(unknown), None);
        let refuses = Budget { unknown_cost: UnknownCostPolicy::Refuse, ..bears };
        assert!(refuses.exhaustion_reason(unknown).is_some());
        assert_eq!(refuses.exhaustion_reason(usage_of(0, 0, 0)), None);
    }

    fn scoped_budget(scope: BudgetScope, budget: Budget) -> ScopedBudget {
        ScopedBudget { scope, budget }
    }

    // spec: L8
    #[test]
    fn a_shared_budget_counts_what_other_runs_have_used_and_is_named() {
        let own = Budget { max_cost_micros: Some(4_000_000), ..Budget::default() };
        let five = Budget { max_cost_micros: Some(5_000_000), ..Budget::default() };
        let few = Budget { max_tokens: Some(100), ..Budget::default() };
        let shared = [
            scoped_budget(BudgetScope::Task("T-1".into()), few),
            scoped_budget(BudgetScope::Spec("auth".into()), five),
        ];
        let purse = |others| BudgetView { own_budget: &own, shared_budgets: &shared, used_by_others: others };
        let others = [usage_of(0, 90, 0), usage_of(3_000_000, 0, 0)];
        assert_eq!(purse(&others).exhaustion_reason(usage_of(1_999_999, 9, 0)), None);
        let spec = purse(&others).exhaustion_reason(usage_of(2_250_000, 9, 0));
        assert_eq!(
            spec.as_deref(),
            Some("the budget of spec auth is used up: $5.25 of $5.00 are spent (max_cost_usd)")
        );
        let task = purse(&others).exhaustion_reason(usage_of(0, 10, 0));
        assert_eq!(task.as_deref(), Some("the budget of task T-1 is used up: 100 of 100 tokens are used (max_tokens)"));
        assert_eq!(purse(&[]).exhaustion_reason(usage_of(3_000_000, 9, 0)), None, "nobody else has used anything");
        let alone = purse(&[]).exhaustion_reason(usage_of(4_000_000, 9, 0));
        assert_eq!(alone.as_deref(), Some("$4.00 of $4.00 are spent (max_cost_usd)"));
    }

    // spec: L8
    #[test]
    fn the_remaining_time_is_that_of_the_tightest_budget() {
        let hours = |hours: u64| Budget { max_duration_ms: Some(hours * 3_600_000), ..Budget::default() };
        let own = hours(12);
        let shared = [scoped_budget(BudgetScope::Task("T-1".into()), hours(3))];
        let purse =
            BudgetView { own_budget: &own, shared_budgets: &shared, used_by_others: &[usage_of(0, 0, 2 * 3_600_000)] };
        assert_eq!(purse.remaining_time_ms(usage_of(0, 0, 1_800_000)), Some(1_800_000));
        let over = "the runs of task T-1 have taken the 3h that they may take (max_duration)";
        assert_eq!(purse.describe_time_limit(usage_of(0, 0, 3_600_000)), over);
        assert_eq!(purse.exhaustion_reason(usage_of(0, 0, 3_600_000)).as_deref(), Some(over));
        let alone = BudgetView { shared_budgets: &[], ..purse };
        assert_eq!(alone.remaining_time_ms(usage_of(0, 0, 3_600_000)), Some(11 * 3_600_000));
        assert!(alone.describe_time_limit(usage_of(0, 0, 0)).starts_with("the run has taken the 12h"));
    }

    // spec: L8
    #[test]
    fn a_shared_budget_of_money_may_have_to_know_the_cost_of_all_runs() {
        let known = Budget { max_cost_micros: Some(9), unknown_cost: UnknownCostPolicy::Refuse, ..Budget::default() };
        let shared = [scoped_budget(BudgetScope::Spec("auth".into()), known)];
        let own = Budget::default();
        let others = [BudgetUsage { unpriced: 1, ..BudgetUsage::default() }];
        let words = BudgetView { own_budget: &own, shared_budgets: &shared, used_by_others: &others }
            .exhaustion_reason(usage_of(1, 0, 0));
        assert!(words.is_some_and(|words| words.contains("require_known_cost")));
        assert_eq!(
            BudgetView { own_budget: &own, shared_budgets: &shared, used_by_others: &[] }
                .exhaustion_reason(usage_of(1, 0, 0)),
            None
        );
    }

    // spec: L8
    #[test]
    fn money_is_written_with_two_digits_and_more_where_it_is_that_small() {
        assert_eq!(format_dollars(0), "$0.00");
        assert_eq!(format_dollars(5_200_000), "$5.20");
        assert_eq!(format_dollars(1_234), "$0.001234");
        assert_eq!(format_dollars(12_000_000), "$12.00");
    }

    // spec: L8
    #[test]
    fn the_time_between_two_drivers_is_not_time_of_the_run() {
        let first = WorkedTime::default().resume_at(UnixMillis(1_000)).advance_to(UnixMillis(4_000));
        assert_eq!(first.total_ms(), 3_000);
        let second = first.resume_at(UnixMillis(900_000)).advance_to(UnixMillis(900_500));
        assert_eq!(second.total_ms(), 3_500);
        assert_eq!(
            second.advance_to(UnixMillis(5)).total_ms(),
            3_000,
            "a clock that went back takes nothing away from before"
        );
    }
}
