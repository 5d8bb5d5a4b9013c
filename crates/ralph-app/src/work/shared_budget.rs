//! The budget that all tasks of a worker share. Each loop sees at once what the others spend.
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::attempt::ModelSpend;
use ralph_core::budget::{Budget, BudgetScope, ScopedBudget};
use ralph_core::policy::Policy;

use super::events::TaskEvent;
use super::services::WorkServices;
use ralph_engine::run_driver::{CostAccount, CostLedger};

pub(super) struct SharedBudget {
    limit_micros: Option<u64>,
    cost_ledger: CostLedger,
    is_exhaustion_reported: AtomicBool,
}

impl SharedBudget {
    pub(super) fn new(limit_micros: Option<u64>) -> Self {
        Self { limit_micros, cost_ledger: CostLedger::default(), is_exhaustion_reported: AtomicBool::new(false) }
    }

    /// Returns whether work was not started or not finished because the budget is exhausted.
    pub(super) fn has_blocked_work(&self) -> bool {
        self.is_exhaustion_reported.load(Ordering::Relaxed)
    }

    /// Returns whether the budget is exhausted. The first time, this is reported. Call it only before work that needs budget.
    pub(super) fn is_exhausted(&self, services: &WorkServices) -> bool {
        let spent = self.cost_ledger.total_cost();
        let Some(limit) = self.limit_micros.filter(|limit| spent >= *limit) else { return false };
        if !self.is_exhaustion_reported.swap(true, Ordering::Relaxed) {
            services.report_event(&TaskEvent::BudgetExhausted { spent_micros: spent, limit_micros: limit });
        }
        true
    }

    /// Sets the worker's limit in the policy of a stage. Spending before this worker drove the stage does not count.
    pub(super) fn limit_policy(&self, policy: &mut Policy, spent_before: ModelSpend) {
        policy.shared.retain(|shared| shared.scope != BudgetScope::Worker);
        policy.shared.extend(self.limit_micros.map(|limit| {
            let max_cost_micros = limit.saturating_add(spent_before.cost_micros.unwrap_or(0));
            let budget = Budget { max_cost_micros: Some(max_cost_micros), ..Budget::default() };
            ScopedBudget { scope: BudgetScope::Worker, budget }
        }));
    }

    /// Opens the account in which the cost of a stage is counted.
    pub(super) fn open_account(&self, run: &str, spent_before: ModelSpend) -> CostAccount {
        self.cost_ledger.open_account(run, spent_before)
    }
}
