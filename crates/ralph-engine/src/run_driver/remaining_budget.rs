//! What an agent may still use while it works.
use ralph_core::attempt::ModelSpend;
use ralph_core::budget::{Budget, BudgetScope, BudgetUsage, BudgetView, ScopedBudget};
use ralph_core::policy::Policy;

use super::cost_ledger::CostAccount;

#[derive(Debug, Clone)]
pub struct RemainingBudget {
    run_budget: Budget,
    shared_budgets: Vec<ScopedBudget>,
    /// What other runs had used of what is shared when this attempt began.
    others_used: Vec<BudgetUsage>,
    /// What the run had used then.
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

    /// Tells, once, that with so much more nothing is left.
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

    /// Tells the worker what this run costs, and hears what the others do at this moment.
    fn sync_cost_account(&mut self, spent: ModelSpend) {
        let Some(account) = &self.cost_account else { return };
        account.record_spend(spent);
        let of_worker = |(shared, _): &(&ScopedBudget, &mut BudgetUsage)| shared.scope == BudgetScope::Worker;
        for (_, others) in self.shared_budgets.iter().zip(&mut self.others_used).filter(of_worker) {
            others.spent = account.other_runs_spend();
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
        let mut allowance = RemainingBudget::new(&Policy { budget, ..Policy::new(1) }, tokens(60), &[], None);
        assert!(!allowance.is_newly_exhausted(tokens(39)));
        assert!(allowance.is_newly_exhausted(tokens(40)));
        assert!(!allowance.is_newly_exhausted(tokens(50)));
        let shared = vec![ScopedBudget { scope: BudgetScope::Task("T-1".to_owned()), budget }];
        let others = [BudgetUsage { spent: tokens(30), ..BudgetUsage::default() }];
        let mut allowance = RemainingBudget::new(&Policy { shared, ..Policy::new(1) }, tokens(60), &others, None);
        assert!(!allowance.is_newly_exhausted(tokens(9)));
        assert!(allowance.is_newly_exhausted(tokens(10)), "others have used something, too");
    }

    // spec: L8
    #[test]
    fn the_loops_of_a_worker_see_at_once_what_the_others_spend() {
        let cost = |micros| ModelSpend { cost_micros: Some(micros), ..ModelSpend::default() };
        let budget = Budget { max_cost_micros: Some(100), ..Budget::default() };
        let policy = Policy { shared: vec![ScopedBudget { scope: BudgetScope::Worker, budget }], ..Policy::new(1) };
        let ledger = CostLedger::default();
        let begins = |run| {
            let account = Some(ledger.open_account(run, ModelSpend::default()));
            RemainingBudget::new(&policy, ModelSpend::default(), &[BudgetUsage::default()], account)
        };
        let (mut one, mut other) = (begins("one"), begins("other"));
        assert!(!one.is_newly_exhausted(cost(60)));
        assert!(other.is_newly_exhausted(cost(40)), "60 and 40 are 100");
    }
}
