//! What the loops of one worker have cost together, as it happens: while their agents are still at work.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::attempt::ModelSpend;

/// Millionths of a dollar for each run that this worker drives or drove.
#[derive(Debug, Clone, Default)]
pub struct CostLedger(Arc<Mutex<BTreeMap<String, u64>>>);

impl CostLedger {
    /// Opens the account of a run that has cost so much before this worker drove it.
    #[must_use]
    pub fn open_account(&self, run: &str, spent_before: ModelSpend) -> CostAccount {
        CostAccount { ledger: self.clone(), run_id: run.to_owned(), cost_before: spent_before.cost_micros.unwrap_or(0) }
    }

    /// Returns what all of them have cost.
    #[must_use]
    pub fn total_cost(&self) -> u64 {
        self.sum_costs(|_| true)
    }

    fn sum_costs(&self, is_included: impl Fn(&str) -> bool) -> u64 {
        let costs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        costs.iter().filter(|(run, _)| is_included(run)).fold(0, |sum, (_, cost)| sum.saturating_add(*cost))
    }
}

/// The part of one run in a ledger.
#[derive(Debug, Clone)]
pub struct CostAccount {
    ledger: CostLedger,
    run_id: String,
    cost_before: u64,
}

impl CostAccount {
    /// The run has cost so much by now, with what it had cost before. What was once noted is never taken back.
    pub fn record_spend(&self, spent: ModelSpend) {
        let cost = spent.cost_micros.unwrap_or(0).saturating_sub(self.cost_before);
        let mut costs = self.ledger.0.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = costs.entry(self.run_id.clone()).or_default();
        *noted = cost.max(*noted);
    }

    /// Returns what the other runs have cost.
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
        assert_eq!(
            new.other_runs_spend(),
            spend_of_cost(7),
            "an agent that tells less in the end has cost it all the same"
        );
    }
}
