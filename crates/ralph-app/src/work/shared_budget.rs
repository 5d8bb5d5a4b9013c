//! The money for everything that a worker drives: all its loops see at once what the others spend.
use std::cell::Cell;

use ralph_core::attempt::ModelSpend;
use ralph_core::budget::{Budget, BudgetScope, ScopedBudget};
use ralph_core::policy::Policy;

use super::events::TaskEvent;
use super::services::WorkServices;
use ralph_engine::run_driver::{CostAccount, CostLedger};

pub(super) struct SharedBudget {
    limit_micros: Option<u64>,
    cost_ledger: CostLedger,
    is_exhaustion_reported: Cell<bool>,
}

impl SharedBudget {
    pub(super) fn new(limit_micros: Option<u64>) -> Self {
        Self { limit_micros, cost_ledger: CostLedger::default(), is_exhaustion_reported: Cell::new(false) }
    }

    /// Whether something was not done, or not finished, because the money is used up.
    pub(super) fn has_blocked_work(&self) -> bool {
        self.is_exhaustion_reported.get()
    }

    /// Tells whether nothing is left for what shall be done.
    pub(super) fn is_exhausted(&self, services: &WorkServices) -> bool {
        let spent = self.cost_ledger.total_cost();
        let Some(limit) = self.limit_micros.filter(|limit| spent >= *limit) else { return false };
        if !self.is_exhaustion_reported.replace(true) {
            services.report_event(&TaskEvent::BudgetExhausted { spent_micros: spent, limit_micros: limit });
        }
        true
    }

    /// Limits a stage that has cost so much before this worker drives it.
    pub(super) fn limit_policy(&self, policy: &mut Policy, spent_before: ModelSpend) {
        policy.shared.retain(|shared| shared.scope != BudgetScope::Worker);
        policy.shared.extend(self.limit_micros.map(|limit| {
            let max_cost_micros = limit.saturating_add(spent_before.cost_micros.unwrap_or(0));
            let budget = Budget { max_cost_micros: Some(max_cost_micros), ..Budget::default() };
            ScopedBudget { scope: BudgetScope::Worker, budget }
        }));
    }

    /// Returns where the cost of such a stage is counted.
    pub(super) fn open_account(&self, run: &str, spent_before: ModelSpend) -> CostAccount {
        self.cost_ledger.open_account(run, spent_before)
    }
}
