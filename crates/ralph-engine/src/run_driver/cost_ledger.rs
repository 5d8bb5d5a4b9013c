//! The total cost of one worker's runs, updated while their agents are still running.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::attempt::ModelSpend;

/// The cost of each run of this worker, in millionths of a dollar.
#[derive(Debug, Clone, Default)]
pub struct CostLedger(Arc<Mutex<BTreeMap<String, u64>>>);

impl CostLedger {
    /// Opens the account of a run. Spending before this worker drove the run does not count.
    #[must_use]
    pub fn open_account(&self, run: &str, spent_before: ModelSpend) -> CostAccount {
        CostAccount { ledger: self.clone(), run_id: run.to_owned(), cost_before: spent_before.cost_micros.unwrap_or(0) }
    }

    /// Returns the cost of all runs.
    #[must_use]
    pub fn total_cost(&self) -> u64 {
        self.sum_costs(|_| true)
    }

    fn sum_costs(&self, is_included: impl Fn(&str) -> bool) -> u64 {
        let costs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        costs.iter().filter(|(run, _)| is_included(run)).fold(0, |sum, (_, cost)| sum.saturating_add(*cost))
    }
}

/// The account of one run in a ledger.
#[derive(Debug, Clone)]
pub struct CostAccount {
    ledger: CostLedger,
    run_id: String,
    cost_before: u64,
}

impl CostAccount {
    /// Records the total spending of the run so far, including earlier workers. A recorded cost never decreases.
    pub fn record_spend(&self, spent: ModelSpend) {
        let cost = spent.cost_micros.unwrap_or(0).saturating_sub(self.cost_before);
        let mut costs = self.ledger.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = costs.entry(self.run_id.clone()).or_default();
        *recorded = cost.max(*recorded);
    }

    /// Returns the cost of the other runs.
    #[must_use]
    pub fn other_runs_spend(&self) -> ModelSpend {
        ModelSpend { cost_micros: Some(self.ledger.sum_costs(|run| run != self.run_id)), ..ModelSpend::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend_of_cost(micros: u64) -> ModelSpend {
        ModelSpend { cost_micros: Some(micros), ..ModelSpend::default() }
    }

    // spec: L8
    #[test]
    fn each_run_sees_what_the_others_cost_and_earlier_spending_does_not_count() {
        let ledger = CostLedger::default();
        let (new, old) =
            (ledger.open_account("new", ModelSpend::default()), ledger.open_account("old", spend_of_cost(100)));
        new.record_spend(spend_of_cost(5));
        old.record_spend(spend_of_cost(107));
        assert_eq!(
            (new.other_runs_spend(), old.other_runs_spend(), ledger.total_cost()),
            (spend_of_cost(7), spend_of_cost(5), 12)
        );
        old.record_spend(spend_of_cost(103));
        assert_eq!(new.other_runs_spend(), spend_of_cost(7), "a lower cost in a later report does not count");
    }
}
