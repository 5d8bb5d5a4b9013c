//! What an agent may still use while it works.
use ralph_core::attempt::Spend;
use ralph_core::budget::{Budget, Purse, Shared, Used};
use ralph_core::policy::Policy;

#[derive(Debug, Clone)]
pub struct Allowance {
    own: Budget,
    shared: Vec<Shared>,
    /// What other runs had used of what is shared when this attempt began.
    others: Vec<Used>,
    /// What the run had used then.
    spent: Spend,
    is_told: bool,
}

impl Allowance {
    #[must_use]
    pub fn new(policy: &Policy, spent: Spend, others: &[Used]) -> Self {
        Self {
            own: policy.budget,
            shared: policy.shared.clone(),
            others: others.to_vec(),
            spent,
            is_told: false,
        }
    }

    /// Tells, once, that with so much more nothing is left.
    pub fn is_newly_used_up(&mut self, more: Spend) -> bool {
        let used = Used { spent: self.spent.plus(more), ..Used::default() };
        let purse = Purse { own: &self.own, shared: &self.shared, others: &self.others };
        let is_new = !self.is_told && purse.used_up_by(used).is_some();
        self.is_told |= is_new;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::budget::Scope;

    use super::*;

    // spec: L8
    #[test]
    fn the_end_of_an_allowance_is_told_once_and_counts_what_was_used_before() {
        let tokens = |number| Spend { input_tokens: Some(number), ..Spend::default() };
        let budget = Budget { max_tokens: Some(100), ..Budget::default() };
        let mut allowance = Allowance::new(&Policy { budget, ..Policy::new(1) }, tokens(60), &[]);
        assert!(!allowance.is_newly_used_up(tokens(39)));
        assert!(allowance.is_newly_used_up(tokens(40)));
        assert!(!allowance.is_newly_used_up(tokens(50)));
        let shared = vec![Shared { scope: Scope::Task("T-1".to_owned()), budget }];
        let others = [Used { spent: tokens(30), ..Used::default() }];
        let mut allowance = Allowance::new(&Policy { shared, ..Policy::new(1) }, tokens(60), &others);
        assert!(!allowance.is_newly_used_up(tokens(9)));
        assert!(allowance.is_newly_used_up(tokens(10)), "others have used something, too");
    }
}
