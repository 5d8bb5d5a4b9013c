//! The budget that is left for an agent while it runs. A person can change the limits of the run meanwhile.
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::attempt::ModelSpend;
use ralph_core::budget::{Budget, BudgetScope, BudgetUsage, BudgetView, ScopedBudget};
use ralph_core::policy::Policy;

use crate::run_driver::cost_ledger::CostAccount;

/// The budget of the run, which the driver updates while an agent runs.
#[derive(Debug, Clone)]
pub struct LiveBudget(Arc<Mutex<Budget>>);

impl LiveBudget {
    fn new(budget: Budget) -> Self {
        Self(Arc::new(Mutex::new(budget)))
    }

    pub fn set(&self, budget: Budget) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = budget;
    }

    fn get(&self) -> Budget {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone)]
pub struct RemainingBudget {
    run_budget: LiveBudget,
    shared_budgets: Vec<ScopedBudget>,
    /// The usage of the shared budgets by other runs when this attempt started.
    others_used: Vec<BudgetUsage>,
    /// The spending of the run when this attempt started.
    spent_before: ModelSpend,
    cost_account: Option<CostAccount>,
    /// The budget of the run when an exhaustion was last reported. With other limits it is reported again.
    reported_budget: Option<Budget>,
}

impl RemainingBudget {
    #[must_use]
    pub fn new(
        policy: &Policy,
        spent_before: ModelSpend,
        others_used: &[BudgetUsage],
        cost_account: Option<CostAccount>,
    ) -> Self {
        Self {
            run_budget: LiveBudget::new(policy.budget),
            shared_budgets: policy.shared.clone(),
            others_used: others_used.to_vec(),
            spent_before,
            cost_account,
            reported_budget: None,
        }
    }

    /// Returns the handle with which the driver changes the budget of the run.
    #[must_use]
    pub fn live_budget(&self) -> LiveBudget {
        self.run_budget.clone()
    }

    /// Returns whether the spending of this attempt has exhausted a budget. Returns true only once for the same limits.
    pub fn is_newly_exhausted(&mut self, attempt_spend: ModelSpend) -> bool {
        let used = BudgetUsage { spent: self.spent_before.add_known(attempt_spend), ..BudgetUsage::default() };
        self.sync_cost_account(used.spent);
        let run_budget = self.run_budget.get();
        let budget_view = BudgetView {
            own_budget: &run_budget,
            shared_budgets: &self.shared_budgets,
            used_by_others: &self.others_used,
        };
        let is_new = self.reported_budget != Some(run_budget) && budget_view.exhaustion_reason(used).is_some();
        if is_new {
            self.reported_budget = Some(run_budget);
        }
        is_new
    }

    /// Records the spending of this run in the worker's ledger, and reads the spending of its other runs.
    fn sync_cost_account(&mut self, spent: ModelSpend) {
        let Some(account) = &self.cost_account else { return };
        account.record_spend(spent);
        for (shared, others) in self.shared_budgets.iter().zip(&mut self.others_used) {
            if shared.scope == BudgetScope::Worker {
                others.spent = account.other_runs_spend();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_driver::cost_ledger::CostLedger;

    // spec: L8
    #[test]
    fn an_exhausted_budget_is_reported_once_and_includes_earlier_spending() {
        let tokens = |number| ModelSpend { input_tokens: Some(number), ..ModelSpend::default() };
        let budget = Budget { max_tokens: Some(100), ..Budget::default() };
        let mut remaining = RemainingBudget::new(&Policy { budget, ..Policy::new(1) }, tokens(60), &[], None);
        assert!(!remaining.is_newly_exhausted(tokens(39)));
        assert!(remaining.is_newly_exhausted(tokens(40)));
        assert!(!remaining.is_newly_exhausted(tokens(50)));
        let shared = vec![ScopedBudget { scope: BudgetScope::Task("T-1".to_owned()), budget }];
        let others = [BudgetUsage { spent: tokens(30), ..BudgetUsage::default() }];
        let mut remaining = RemainingBudget::new(&Policy { shared, ..Policy::new(1) }, tokens(60), &others, None);
        assert!(!remaining.is_newly_exhausted(tokens(9)));
        assert!(remaining.is_newly_exhausted(tokens(10)), "the usage of other runs counts too");
    }

    // spec: L19
    #[test]
    fn limits_that_change_while_the_agent_runs_apply_at_once() {
        let cost = |micros| ModelSpend { cost_micros: Some(micros), ..ModelSpend::default() };
        let budget = |micros| Budget { max_cost_micros: Some(micros), ..Budget::default() };
        let policy = Policy { budget: budget(100), ..Policy::new(1) };
        let mut remaining = RemainingBudget::new(&policy, ModelSpend::default(), &[], None);
        let live = remaining.live_budget();
        assert!(remaining.is_newly_exhausted(cost(100)));
        live.set(budget(200));
        assert!(!remaining.is_newly_exhausted(cost(150)));
        live.set(budget(140));
        assert!(remaining.is_newly_exhausted(cost(150)), "a lower limit is reached");
        assert!(!remaining.is_newly_exhausted(cost(160)), "and reported once");
    }

    // spec: L8
    #[test]
    fn the_runs_of_a_worker_see_at_once_what_the_others_spend() {
        let cost = |micros| ModelSpend { cost_micros: Some(micros), ..ModelSpend::default() };
        let budget = Budget { max_cost_micros: Some(100), ..Budget::default() };
        let policy = Policy { shared: vec![ScopedBudget { scope: BudgetScope::Worker, budget }], ..Policy::new(1) };
        let ledger = CostLedger::default();
        let start_run = |run| {
            let account = Some(ledger.open_account(run, ModelSpend::default()));
            RemainingBudget::new(&policy, ModelSpend::default(), &[BudgetUsage::default()], account)
        };
        let (mut one, mut other) = (start_run("one"), start_run("other"));
        assert!(!one.is_newly_exhausted(cost(60)));
        assert!(other.is_newly_exhausted(cost(40)), "60 and 40 are 100");
    }
}
