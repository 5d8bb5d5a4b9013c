//! The counts of the rules and their limits, such as `3 of 15 iterations`.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{DecidingRule, RunRecord};
use crate::attempt::ModelSpend;
use crate::budget::{Budget, BudgetScope, BudgetUsage, UnknownCostPolicy, format_dollars};
use crate::loop_state::LoopState;
use crate::policy::ClaimVerification;
use crate::step::{MAX_PROTECTED_REJECTIONS, MAX_UNEVALUATED_VERDICTS};
use crate::text::format_duration_ms;

/// A count of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleNumber {
    /// The name of the count, which is stable; with its unit if it has one.
    pub name: &'static str,
    /// `None` if it is unknown.
    pub used: Option<u64>,
    /// `None` if it is unlimited.
    pub limit: Option<u64>,
    pub unit: NumberUnit,
    /// The task, spec or worker whose runs share the budget.
    pub scope: Option<String>,
}

/// The unit of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberUnit {
    /// Counts things with this name.
    Count(&'static str),
    /// Millionths of a dollar.
    Dollars,
    Milliseconds,
}

/// A rule that did not decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnappliedRule {
    pub rule: DecidingRule,
    /// `None` if the rule counts nothing.
    pub number: Option<RuleNumber>,
    /// The state of a rule that counts nothing, such as `off`.
    pub note: &'static str,
}

impl RuleNumber {
    /// Returns a count of things.
    #[must_use]
    pub fn count(name: &'static str, used: u64, limit: Option<u64>, things: &'static str) -> Self {
        Self { name, used: Some(used), limit, unit: NumberUnit::Count(things), scope: None }
    }

    /// Returns the text: `3 of 15 iterations`.
    #[must_use]
    pub fn text(&self) -> String {
        let used = self.used.map(|used| self.format_amount(used));
        let amount = match (used, self.limit.map(|limit| self.format_amount(limit))) {
            (Some(used), Some(limit)) => format!("{used} of {limit}"),
            (Some(used), None) => used,
            (None, Some(limit)) => format!("unknown, at most {limit}"),
            (None, None) => String::from("unknown"),
        };
        let things = match self.unit {
            NumberUnit::Count(things) => format!(" {things}"),
            NumberUnit::Dollars | NumberUnit::Milliseconds => String::new(),
        };
        let scope = self.scope.as_ref().map(|scope| format!(" ({scope})")).unwrap_or_default();
        format!("{amount}{things}{scope}")
    }

    fn format_amount(&self, amount: u64) -> String {
        match self.unit {
            NumberUnit::Count(_) => amount.to_string(),
            NumberUnit::Dollars => format_dollars(amount),
            NumberUnit::Milliseconds => format_duration_ms(amount),
        }
    }
}

impl UnappliedRule {
    /// Returns the text: `iteration limit: 3 of 15 iterations`.
    #[must_use]
    pub fn text(&self) -> String {
        let number = self.number.as_ref().map_or_else(|| String::from(self.note), RuleNumber::text);
        let is_unlimited = self.rule.is_limit() && self.number.as_ref().is_some_and(|number| number.limit.is_none());
        let unlimited = if is_unlimited { ", no limit" } else { "" };
        format!("{}: {number}{unlimited}", self.rule.label())
    }
}

/// Returns all rules of a run that have a limit, with their counts.
pub(super) fn limits_of_run(record: &RunRecord<'_>, iterations: u32, retries: u32) -> Vec<UnappliedRule> {
    let Some(state) = record.state else { return Vec::new() };
    let policy = &state.policy;
    let mut rules = Vec::from([
        counted(
            DecidingRule::IterationLimit,
            RuleNumber::count("iterations", iterations.into(), Some(policy.max_iterations.into()), "iterations"),
        ),
        stall_rule(state),
    ]);
    rules.extend(budget_rules(&policy.budget, &own_usage(state), None));
    for (index, shared) in policy.shared.iter().enumerate() {
        let others = record.used_by_others.get(index).copied().unwrap_or_default();
        let own = BudgetUsage { iterations, ..own_usage(state) };
        let rules_of_scope = budget_rules(&shared.budget, &add_usage(own, others), Some(&shared.scope));
        // A limit that is not set is listed once, for the run itself.
        rules.extend(rules_of_scope.into_iter().filter(is_limited));
    }
    rules.push(counted(
        DecidingRule::RetryLimit,
        RuleNumber::count("retries", retries.into(), Some(policy.max_retries.into()), "retries in this iteration"),
    ));
    rules.extend(wait_rules(state));
    if policy.proof == ClaimVerification::Checks {
        rules.extend(claim_rules(state));
    }
    rules
}

fn counted(rule: DecidingRule, number: RuleNumber) -> UnappliedRule {
    UnappliedRule { rule, number: Some(number), note: "" }
}

fn is_limited(rule: &UnappliedRule) -> bool {
    rule.number.as_ref().is_some_and(|number| number.limit.is_some())
}

fn stall_rule(state: &LoopState) -> UnappliedRule {
    let limit = state.policy.stall_after;
    let number = RuleNumber::count(
        "unchanged_iterations",
        state.stall.still.into(),
        Some(limit.into()),
        "iterations in a row without a change",
    );
    UnappliedRule { rule: DecidingRule::StallLimit, number: (limit > 0).then_some(number), note: "off" }
}

fn own_usage(state: &LoopState) -> BudgetUsage {
    let (spent, worked_ms, unpriced) = (state.spent, state.worked.total_ms(), state.unpriced);
    BudgetUsage { spent, worked_ms, unpriced, ..BudgetUsage::default() }
}

fn add_usage(own: BudgetUsage, others: BudgetUsage) -> BudgetUsage {
    BudgetUsage {
        spent: own.spent.add_known(others.spent),
        worked_ms: own.worked_ms.saturating_add(others.worked_ms),
        unpriced: own.unpriced.saturating_add(others.unpriced),
        iterations: own.iterations.saturating_add(others.iterations),
    }
}

fn budget_rules(budget: &Budget, used: &BudgetUsage, scope: Option<&BudgetScope>) -> Vec<UnappliedRule> {
    let ModelSpend { cost_micros, .. } = used.spent;
    let number =
        |name, used, limit, unit| RuleNumber { name, used, limit, unit, scope: scope.map(BudgetScope::describe) };
    let unpriced = number(
        "attempts_with_unknown_cost",
        Some(used.unpriced.into()),
        Some(1),
        NumberUnit::Count("attempts with unknown cost"),
    );
    let shared_iterations = budget.max_iterations.map(|limit| {
        let iterations = Some(used.iterations.into());
        let unit = NumberUnit::Count("iterations");
        counted(DecidingRule::SharedIterationLimit, number("shared_iterations", iterations, Some(limit.into()), unit))
    });
    let mut rules = Vec::from([
        counted(DecidingRule::CostLimit, number("cost_usd", cost_micros, budget.max_cost_micros, NumberUnit::Dollars)),
        counted(
            DecidingRule::TokenLimit,
            number("tokens", used.spent.total_tokens(), budget.max_tokens, NumberUnit::Count("tokens")),
        ),
        counted(
            DecidingRule::TimeLimit,
            number("worked_ms", Some(used.worked_ms), budget.max_duration_ms, NumberUnit::Milliseconds),
        ),
        UnappliedRule {
            rule: DecidingRule::UnknownCost,
            number: (budget.unknown_cost == UnknownCostPolicy::Refuse).then_some(unpriced),
            note: "off",
        },
    ]);
    rules.extend(shared_iterations);
    rules
}

fn wait_rules(state: &LoopState) -> [UnappliedRule; 2] {
    let policy = &state.policy.rate_limits;
    let wait = |name, used, limit| RuleNumber {
        name,
        used: Some(used),
        limit: Some(limit),
        unit: NumberUnit::Milliseconds,
        scope: None,
    };
    [
        counted(
            DecidingRule::RateLimitWaitLimit,
            wait("rate_limit_wait_ms", state.limits.waited_ms, policy.max_wait_ms),
        ),
        counted(
            DecidingRule::AgentWaitLimit,
            wait("agent_wait_ms", state.limits.agent_waited_ms, policy.max_agent_wait_ms),
        ),
    ]
}

fn claim_rules(state: &LoopState) -> [UnappliedRule; 2] {
    let unevaluated = RuleNumber::count(
        "unevaluated_claims",
        state.unevaluated_verdicts.into(),
        Some(MAX_UNEVALUATED_VERDICTS.into()),
        "claims in a row that could not be evaluated",
    );
    let changed = RuleNumber::count(
        "claims_with_changed_tests",
        state.protected_rejections.into(),
        Some(MAX_PROTECTED_REJECTIONS.into()),
        "claims with changed protected tests",
    );
    [counted(DecidingRule::ChecksUnevaluated, unevaluated), counted(DecidingRule::ChangedTests, changed)]
}
