//! What the loops of one worker have cost together, as it happens: while their agents are still at work.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::attempt::Spend;

/// Millionths of a dollar for each run that this worker drives or drove.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Mutex<BTreeMap<String, u64>>>);

impl Ledger {
    /// Opens the account of a run that has cost so much before this worker drove it.
    #[must_use]
    pub fn account(&self, run: &str, before: Spend) -> Account {
        Account { ledger: self.clone(), run: run.to_owned(), before: before.cost_micros.unwrap_or(0) }
    }

    /// Returns what all of them have cost.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.sum(|_| true)
    }

    fn sum(&self, is_meant: impl Fn(&str) -> bool) -> u64 {
        let costs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        costs.iter().filter(|(run, _)| is_meant(run)).fold(0, |sum, (_, cost)| sum.saturating_add(*cost))
    }
}

/// The part of one run in a ledger.
#[derive(Debug, Clone)]
pub struct Account {
    ledger: Ledger,
    run: String,
    before: u64,
}

impl Account {
    /// The run has cost so much by now, with what it had cost before. What was once noted is never taken back.
    pub fn note(&self, spent: Spend) {
        let cost = spent.cost_micros.unwrap_or(0).saturating_sub(self.before);
        let mut costs = self.ledger.0.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = costs.entry(self.run.clone()).or_default();
        *noted = cost.max(*noted);
    }

    /// Returns what the other runs have cost.
    #[must_use]
    pub fn others(&self) -> Spend {
        Spend { cost_micros: Some(self.ledger.sum(|run| run != self.run)), ..Spend::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(micros: u64) -> Spend {
        Spend { cost_micros: Some(micros), ..Spend::default() }
    }

    // spec: L8
    #[test]
    fn each_run_sees_what_the_others_cost_and_nothing_counts_that_was_spent_before() {
        let ledger = Ledger::default();
        let (new, old) = (ledger.account("new", Spend::default()), ledger.account("old", cost(100)));
        new.note(cost(5));
        old.note(cost(107));
        assert_eq!((new.others(), old.others(), ledger.total()), (cost(7), cost(5), 12));
        old.note(cost(103));
        assert_eq!(new.others(), cost(7), "an agent that tells less in the end has cost it all the same");
    }
}
