//! What an agent may still use while it works.
use ralph_core::attempt::Spend;
use ralph_core::budget::{Budget, Purse, Scope, Shared, Used};
use ralph_core::policy::Policy;

use super::ledger::Account;

#[derive(Debug, Clone)]
pub struct Allowance {
    own: Budget,
    shared: Vec<Shared>,
    /// What other runs had used of what is shared when this attempt began.
    others: Vec<Used>,
    /// What the run had used then.
    spent: Spend,
    account: Option<Account>,
    is_told: bool,
}

impl Allowance {
    #[must_use]
    pub fn new(policy: &Policy, spent: Spend, others: &[Used], account: Option<Account>) -> Self {
        Self {
            own: policy.budget,
            shared: policy.shared.clone(),
            others: others.to_vec(),
            spent,
            account,
            is_told: false,
        }
    }

    /// Tells, once, that with so much more nothing is left.
    pub fn is_newly_used_up(&mut self, more: Spend) -> bool {
        let used = Used { spent: self.spent.plus(more), ..Used::default() };
        self.count(used.spent);
        let purse = Purse { own: &self.own, shared: &self.shared, others: &self.others };
        let is_new = !self.is_told && purse.used_up_by(used).is_some();
        self.is_told |= is_new;
        is_new
    }

    /// Tells the worker what this run costs, and hears what the others do at this moment.
    fn count(&mut self, spent: Spend) {
        let Some(account) = &self.account else { return };
        account.note(spent);
        let of_worker = |(shared, _): &(&Shared, &mut Used)| shared.scope == Scope::Worker;
        for (_, others) in self.shared.iter().zip(&mut self.others).filter(of_worker) {
            others.spent = account.others();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ledger::Ledger;

    // spec: L8
    #[test]
    fn the_end_of_an_allowance_is_told_once_and_counts_what_was_used_before() {
        let tokens = |number| Spend { input_tokens: Some(number), ..Spend::default() };
        let budget = Budget { max_tokens: Some(100), ..Budget::default() };
        let mut allowance = Allowance::new(&Policy { budget, ..Policy::new(1) }, tokens(60), &[], None);
        assert!(!allowance.is_newly_used_up(tokens(39)));
        assert!(allowance.is_newly_used_up(tokens(40)));
        assert!(!allowance.is_newly_used_up(tokens(50)));
        let shared = vec![Shared { scope: Scope::Task("T-1".to_owned()), budget }];
        let others = [Used { spent: tokens(30), ..Used::default() }];
        let mut allowance = Allowance::new(&Policy { shared, ..Policy::new(1) }, tokens(60), &others, None);
        assert!(!allowance.is_newly_used_up(tokens(9)));
        assert!(allowance.is_newly_used_up(tokens(10)), "others have used something, too");
    }

    // spec: L8
    #[test]
    fn the_loops_of_a_worker_hear_at_once_what_the_others_spend() {
        let cost = |micros| Spend { cost_micros: Some(micros), ..Spend::default() };
        let budget = Budget { max_cost_micros: Some(100), ..Budget::default() };
        let policy = Policy { shared: vec![Shared { scope: Scope::Worker, budget }], ..Policy::new(1) };
        let ledger = Ledger::default();
        let begins = |run| {
            let account = Some(ledger.account(run, Spend::default()));
            Allowance::new(&policy, Spend::default(), &[Used::default()], account)
        };
        let (mut one, mut other) = (begins("one"), begins("other"));
        assert!(!one.is_newly_used_up(cost(60)));
        assert!(other.is_newly_used_up(cost(40)), "60 and 40 are 100");
    }
}
