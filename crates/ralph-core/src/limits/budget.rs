//! Budgets of a run: cost, tokens, time. An exhausted budget stops the running agent and prevents the next attempt. The
//! runs of a task, a spec or a worker can share a budget.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::attempt::ModelSpend;
use crate::event::UnixMillis;
use crate::text::format_duration_ms;

/// The limits of a run; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a dollar.
    pub max_cost_micros: Option<u64>,
    /// Input plus output tokens.
    pub max_tokens: Option<u64>,
    /// Milliseconds of work, without the time between an interruption and the resume.
    pub max_duration_ms: Option<u64>,
    /// Iterations of all runs that share the budget. The limit of a single run is in its policy.
    pub max_iterations: Option<u32>,
    pub unknown_cost: UnknownCostPolicy,
}

/// Whether a run continues if its agent does not report its cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownCostPolicy {
    /// It continues.
    #[default]
    #[serde(rename = "bear")]
    Allow,
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
    /// The runs of a task.
    Task(String),
    /// The runs of all tasks of a spec.
    Spec(String),
    /// The runs of one worker.
    Worker,
}

impl BudgetScope {
    /// Returns the display name, such as `task T-1`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Task(id) => format!("task {id}"),
            Self::Spec(id) => format!("spec {id}"),
            Self::Worker => "this worker".to_owned(),
        }
    }
}

/// All budgets of a run: its own, and the shared ones with the usage of other runs.
#[derive(Debug, Clone, Copy)]
pub struct BudgetView<'a> {
    pub own_budget: &'a Budget,
    pub shared_budgets: &'a [ScopedBudget],
    /// In the order of `shared_budgets`; a missing entry is zero.
    pub used_by_others: &'a [BudgetUsage],
}

impl<'a> BudgetView<'a> {
    /// Returns why a budget is exhausted, given the usage of this run, or `None` if there is budget left.
    #[must_use]
    pub fn exhaustion_reason(&self, used: BudgetUsage) -> Option<String> {
        let shared = || self.shared_budgets_with_usage(used).find_map(|(shared, used)| shared.exhaustion_reason(used));
        self.own_budget.exhaustion_reason(used).or_else(shared)
    }

    /// Returns why no other iteration may start, given the iterations of this run, or `None` if one may.
    #[must_use]
    pub fn iteration_limit_reason(&self, own_iterations: u32) -> Option<String> {
        let own = BudgetUsage { iterations: own_iterations, ..BudgetUsage::default() };
        self.shared_budgets_with_usage(own).find_map(|(shared, used)| shared.iteration_limit_reason(used.iterations))
    }

    /// Returns the time left to the run, or `None` without a time limit.
    #[must_use]
    pub fn remaining_time_ms(&self, used: BudgetUsage) -> Option<u64> {
        let shared = self
            .shared_budgets_with_usage(used)
            .filter_map(|(shared, used)| shared.budget.remaining_time_ms(used.worked_ms));
        self.own_budget.remaining_time_ms(used.worked_ms).into_iter().chain(shared).min()
    }

    /// Returns the reason of a reached time limit, for the budget with the least time left.
    #[must_use]
    pub fn describe_time_limit(&self, used: BudgetUsage) -> String {
        let own =
            self.own_budget.remaining_time_ms(used.worked_ms).map(|left| (left, self.own_budget.describe_time_limit()));
        let shared = self.shared_budgets_with_usage(used).filter_map(|(shared, used)| {
            Some((shared.budget.remaining_time_ms(used.worked_ms)?, shared.describe_time_limit()))
        });
        let tightest = own.into_iter().chain(shared).min_by_key(|(left, _)| *left);
        tightest.map_or_else(|| self.own_budget.describe_time_limit(), |(_, reason)| reason)
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
        let unknown = || budget.unknown_cost_reason(used.unpriced, "not all of its runs report their cost");
        budget
            .cost_limit_reason(used.spent)
            .or_else(|| budget.token_limit_reason(used.spent))
            .map(|reason| format!("the budget of {} is used up: {reason}", self.scope.describe()))
            .or_else(time)
            .or_else(unknown)
    }

    fn iteration_limit_reason(&self, started_iterations: u32) -> Option<String> {
        let limit = self.budget.max_iterations.filter(|limit| started_iterations >= *limit)?;
        let scope = self.scope.describe();
        Some(format!("the runs of {scope} have reached their limit of {limit} iterations (max_iterations)"))
    }

    fn describe_time_limit(&self) -> String {
        let limit = format_duration_ms(self.budget.max_duration_ms.unwrap_or_default());
        format!("the runs of {} have reached their time limit of {limit} (max_duration)", self.scope.describe())
    }
}

impl Budget {
    /// Returns why the budget is exhausted, or `None` if there is budget left.
    #[must_use]
    pub fn exhaustion_reason(&self, used: BudgetUsage) -> Option<String> {
        let BudgetUsage { spent, worked_ms, unpriced, .. } = used;
        self.cost_limit_reason(spent)
            .or_else(|| self.token_limit_reason(spent))
            .or_else(|| self.time_limit_reason(worked_ms, || self.describe_time_limit()))
            .or_else(|| self.unknown_cost_reason(unpriced, "the agent does not report its cost"))
    }

    /// Returns whether any limit is set.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        let limits = [self.max_cost_micros, self.max_tokens, self.max_duration_ms];
        limits.iter().any(Option::is_some) || self.max_iterations.is_some()
    }

    fn cost_limit_reason(&self, spent: ModelSpend) -> Option<String> {
        let (limit, used) = (self.max_cost_micros?, spent.cost_micros?);
        let reason = || format!("{} of {} spent (max_cost_usd)", format_dollars(used), format_dollars(limit));
        (used >= limit).then(reason)
    }

    fn token_limit_reason(&self, spent: ModelSpend) -> Option<String> {
        let (limit, used) = (self.max_tokens?, spent.total_tokens()?);
        (used >= limit).then(|| format!("{used} of {limit} tokens used (max_tokens)"))
    }

    fn time_limit_reason(&self, worked_ms: u64, describe_limit: impl FnOnce() -> String) -> Option<String> {
        let limit = self.max_duration_ms?;
        (worked_ms >= limit).then(describe_limit)
    }

    fn describe_time_limit(&self) -> String {
        let limit = format_duration_ms(self.max_duration_ms.unwrap_or_default());
        format!("the run has reached its time limit of {limit} (max_duration)")
    }

    fn remaining_time_ms(&self, worked_ms: u64) -> Option<u64> {
        self.max_duration_ms.map(|limit| limit.saturating_sub(worked_ms))
    }

    fn unknown_cost_reason(&self, unpriced: u32, problem: &str) -> Option<String> {
        match (self.unknown_cost, unpriced) {
            (UnknownCostPolicy::Refuse, 1..) => Some(format!("{problem}, but require_known_cost is set")),
            (UnknownCostPolicy::Refuse, 0) | (UnknownCostPolicy::Allow, _) => None,
        }
    }
}

/// The usage of one run, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUsage {
    pub spent: ModelSpend,
    pub worked_ms: u64,
    /// Finished attempts with unknown cost.
    pub unpriced: u32,
    /// Iterations that have started.
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

/// Formats an amount with two decimals, or more if it is smaller than a cent or not a whole number of cents.
#[must_use]
pub fn format_dollars(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    let digits = format!("{part:06}");
    let decimals = digits.trim_end_matches('0').len().max(2);
    format!("${whole}.{}", digits.get(..decimals).unwrap_or(&digits))
}

/// How long a run has worked, over all its drivers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkedTime {
    /// Time worked under earlier drivers.
    before_ms: u64,
    /// When the current driver started.
    since: UnixMillis,
    /// When the current driver last handled an event.
    #[serde(rename = "seen")]
    last_event: UnixMillis,
}

impl WorkedTime {
    /// Starts or resumes the count, without the time since the last driver ended.
    #[must_use]
    pub fn resume_at(self, at: UnixMillis) -> Self {
        Self { before_ms: self.total_ms(), since: at, last_event: at }
    }

    #[must_use]
    pub fn advance_to(self, at: UnixMillis) -> Self {
        Self { last_event: at, ..self }
    }

    #[must_use]
    pub fn total_ms(self) -> u64 {
        self.before_ms.saturating_add(self.last_event.elapsed_since(self.since))
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
    fn a_budget_is_exhausted_when_nothing_is_left_and_the_reason_names_its_limit() {
        let money = Budget { max_cost_micros: Some(5_000_000), ..Budget::default() };
        assert_eq!(money.exhaustion_reason(usage_of(4_999_999, 9, 9)), None);
        let reason = money.exhaustion_reason(usage_of(5_250_000, 9, 9));
        assert_eq!(reason.as_deref(), Some("$5.25 of $5.00 spent (max_cost_usd)"));
        let tokens = Budget { max_tokens: Some(100), ..Budget::default() };
        assert_eq!(tokens.exhaustion_reason(usage_of(9, 99, 9)), None);
        assert_eq!(
            tokens.exhaustion_reason(usage_of(9, 100, 9)).as_deref(),
            Some("100 of 100 tokens used (max_tokens)")
        );
        let time = Budget { max_duration_ms: Some(60_000), ..Budget::default() };
        assert_eq!(time.exhaustion_reason(usage_of(9, 9, 59_999)), None);
        assert!(time.exhaustion_reason(usage_of(9, 9, 60_000)).is_some());
        assert_eq!(time.remaining_time_ms(45_000), Some(15_000));
    }

    // spec: L8
    #[test]
    fn unknown_cost_counts_against_no_budget_and_ends_the_run_only_if_cost_must_be_known() {
        let allows = Budget { max_cost_micros: Some(1), max_tokens: Some(1), ..Budget::default() };
        let unknown = BudgetUsage { unpriced: 1, ..BudgetUsage::default() };
        assert_eq!(allows.exhaustion_reason(unknown), None);
        let refuses = Budget { unknown_cost: UnknownCostPolicy::Refuse, ..allows };
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
        let view = |others| BudgetView { own_budget: &own, shared_budgets: &shared, used_by_others: others };
        let others = [usage_of(0, 90, 0), usage_of(3_000_000, 0, 0)];
        assert_eq!(view(&others).exhaustion_reason(usage_of(1_999_999, 9, 0)), None);
        let spec = view(&others).exhaustion_reason(usage_of(2_250_000, 9, 0));
        assert_eq!(spec.as_deref(), Some("the budget of spec auth is used up: $5.25 of $5.00 spent (max_cost_usd)"));
        let task = view(&others).exhaustion_reason(usage_of(0, 10, 0));
        assert_eq!(task.as_deref(), Some("the budget of task T-1 is used up: 100 of 100 tokens used (max_tokens)"));
        assert_eq!(view(&[]).exhaustion_reason(usage_of(3_000_000, 9, 0)), None, "no other run has used anything");
        let alone = view(&[]).exhaustion_reason(usage_of(4_000_000, 9, 0));
        assert_eq!(alone.as_deref(), Some("$4.00 of $4.00 spent (max_cost_usd)"));
    }

    // spec: L8
    #[test]
    fn the_remaining_time_is_that_of_the_tightest_budget() {
        let hours = |hours: u64| Budget { max_duration_ms: Some(hours * 3_600_000), ..Budget::default() };
        let own = hours(12);
        let shared = [scoped_budget(BudgetScope::Task("T-1".into()), hours(3))];
        let view =
            BudgetView { own_budget: &own, shared_budgets: &shared, used_by_others: &[usage_of(0, 0, 2 * 3_600_000)] };
        assert_eq!(view.remaining_time_ms(usage_of(0, 0, 1_800_000)), Some(1_800_000));
        let reason = "the runs of task T-1 have reached their time limit of 3h (max_duration)";
        assert_eq!(view.describe_time_limit(usage_of(0, 0, 3_600_000)), reason);
        assert_eq!(view.exhaustion_reason(usage_of(0, 0, 3_600_000)).as_deref(), Some(reason));
        let alone = BudgetView { shared_budgets: &[], ..view };
        assert_eq!(alone.remaining_time_ms(usage_of(0, 0, 3_600_000)), Some(11 * 3_600_000));
        assert!(alone.describe_time_limit(usage_of(0, 0, 0)).starts_with("the run has reached its time limit of 12h"));
    }

    // spec: L8
    #[test]
    fn a_shared_cost_limit_can_require_known_costs_of_all_runs() {
        let known = Budget { max_cost_micros: Some(9), unknown_cost: UnknownCostPolicy::Refuse, ..Budget::default() };
        let shared = [scoped_budget(BudgetScope::Spec("auth".into()), known)];
        let own = Budget::default();
        let others = [BudgetUsage { unpriced: 1, ..BudgetUsage::default() }];
        let reason = BudgetView { own_budget: &own, shared_budgets: &shared, used_by_others: &others }
            .exhaustion_reason(usage_of(1, 0, 0));
        assert!(reason.is_some_and(|reason| reason.contains("require_known_cost")));
        assert_eq!(
            BudgetView { own_budget: &own, shared_budgets: &shared, used_by_others: &[] }
                .exhaustion_reason(usage_of(1, 0, 0)),
            None
        );
    }

    // spec: L8
    #[test]
    fn amounts_have_two_decimals_and_more_for_fractions_of_a_cent() {
        assert_eq!(format_dollars(0), "$0.00");
        assert_eq!(format_dollars(5_200_000), "$5.20");
        assert_eq!(format_dollars(1_234), "$0.001234");
        assert_eq!(format_dollars(12_000_000), "$12.00");
    }

    // spec: L8
    #[test]
    fn the_time_between_two_drivers_does_not_count_as_worked() {
        let first = WorkedTime::default().resume_at(UnixMillis(1_000)).advance_to(UnixMillis(4_000));
        assert_eq!(first.total_ms(), 3_000);
        let second = first.resume_at(UnixMillis(900_000)).advance_to(UnixMillis(900_500));
        assert_eq!(second.total_ms(), 3_500);
        assert_eq!(
            second.advance_to(UnixMillis(5)).total_ms(),
            3_000,
            "a clock that went backwards does not reduce earlier time"
        );
    }

    // spec: L8
    #[test]
    fn a_shared_iteration_limit_counts_the_iterations_of_all_runs() {
        let shared = [scoped_budget(BudgetScope::Worker, Budget { max_iterations: Some(5), ..Budget::default() })];
        let others = [BudgetUsage { iterations: 3, ..BudgetUsage::default() }];
        let view = BudgetView { own_budget: &Budget::default(), shared_budgets: &shared, used_by_others: &others };
        assert_eq!(view.iteration_limit_reason(1), None);
        let reason = "the runs of this worker have reached their limit of 5 iterations (max_iterations)";
        assert_eq!(view.iteration_limit_reason(2).as_deref(), Some(reason));
    }

    // spec: L8
    #[test]
    fn a_budget_with_any_limit_has_limits() {
        assert!(!Budget::default().has_limits());
        let limited = [
            Budget { max_cost_micros: Some(1), ..Budget::default() },
            Budget { max_tokens: Some(1), ..Budget::default() },
            Budget { max_duration_ms: Some(1), ..Budget::default() },
            Budget { max_iterations: Some(1), ..Budget::default() },
        ];
        assert!(limited.iter().all(Budget::has_limits));
        let refuses = Budget { unknown_cost: UnknownCostPolicy::Refuse, ..Budget::default() };
        assert!(!refuses.has_limits(), "that is a policy, not a limit");
    }
}
