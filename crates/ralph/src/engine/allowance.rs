//! What an agent may still use while it works.
use ralph_core::attempt::Spend;
use ralph_core::budget::{Budget, Used};

#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    budget: Budget,
    /// What the run had used when this attempt began.
    spent: Spend,
    is_told: bool,
}

impl Allowance {
    #[must_use]
    pub fn new(budget: Budget, spent: Spend) -> Self {
        Self { budget, spent, is_told: false }
    }

    /// Tells, once, that with so much more nothing is left.
    pub fn is_newly_used_up(&mut self, more: Spend) -> bool {
        let used = Used { spent: self.spent.plus(more), ..Used::default() };
        let is_new = !self.is_told && self.budget.used_up_by(used).is_some();
        self.is_told |= is_new;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L8
    #[test]
    fn the_end_of_an_allowance_is_told_once_and_counts_what_was_used_before() {
        let tokens = |number| Spend { input_tokens: Some(number), ..Spend::default() };
        let budget = Budget { max_tokens: Some(100), ..Budget::default() };
        let mut allowance = Allowance::new(budget, tokens(60));
        assert!(!allowance.is_newly_used_up(tokens(39)));
        assert!(allowance.is_newly_used_up(tokens(40)));
        assert!(!allowance.is_newly_used_up(tokens(50)));
    }
}
