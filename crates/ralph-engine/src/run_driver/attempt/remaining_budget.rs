//! The budget that is left for an agent while it runs.
use ralph_core::attempt::ModelSpend;
use ralph_core::budget::{Budget, BudgetScope, BudgetUsage, BudgetView, ScopedBudget};
use ralph_core::policy::Policy;

use crate::run_driver::cost_ledger::CostAccount;

#[derive(Debug, Clone)]
pub struct RemainingBudget {
    run_budget: Budget,
    shared_budgets: Vec<ScopedBudget>,
    /// The usage of the shared budgets by other runs when this attempt started.
    others_used: Vec<BudgetUsage>,
    /// The spending of the run when this attempt started.
    spent_before: ModelSpend,
    cost_account: Option<CostAccount>,
    is_exhaustion_reported: bool,
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
            run_budget: policy.budget,
            shared_budgets: policy.shared.clone(),
            others_used: others_used.to_vec(),
            spent_before,
            cost_account,
            is_exhaustion_reported: false,
        }
    }

    /// Returns whether the spending of this attempt has exhausted a budget. Returns true only once.
    pub fn is_newly_exhausted(&mut self, attempt_spend: ModelSpend) -> bool {
        let used = BudgetUsage { spent: self.spent_before.add_known(attempt_spend), ..BudgetUsage::default() };
        self.sync_cost_account(used.spent);
        let budget_view = BudgetView {
            own_budget: &self.run_budget,
            shared_budgets: &self.shared_budgets,
            used_by_others: &self.others_used,
        };
        let is_new = !self.is_exhaustion_reported && budget_view.exhaustion_reason(used).is_some();
        self.is_exhaustion_reported |= is_new;
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
