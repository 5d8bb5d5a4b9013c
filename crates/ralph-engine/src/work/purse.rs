//! The money for everything that a worker drives: all its loops see at once what the others spend.
use std::cell::Cell;

use ralph_core::attempt::Spend;
use ralph_core::budget::{Budget, Scope, Shared};
use ralph_core::policy::Policy;

use super::shop::{News, Workshop};
use crate::engine::{Account, Ledger};

pub(super) struct Purse {
    limit: Option<u64>,
    ledger: Ledger,
    is_told: Cell<bool>,
}

impl Purse {
    pub(super) fn new(limit: Option<u64>) -> Self {
        Self { limit, ledger: Ledger::default(), is_told: Cell::new(false) }
    }

    /// Whether something was not done, or not finished, because the money is used up.
    pub(super) fn is_empty(&self) -> bool {
        self.is_told.get()
    }

    /// Tells whether nothing is left for what shall be done.
    pub(super) fn is_empty_for_more(&self, shop: &impl Workshop) -> bool {
        let spent = self.ledger.total();
        let Some(limit) = self.limit.filter(|limit| spent >= *limit) else { return false };
        if !self.is_told.replace(true) {
            shop.tell(&News::Spent { spent, limit });
        }
        true
    }

    /// Limits a stage that has cost so much before this worker drives it.
    pub(super) fn limit(&self, policy: &mut Policy, before: Spend) {
        policy.shared.retain(|shared| shared.scope != Scope::Worker);
        policy.shared.extend(self.limit.map(|limit| {
            let most = limit.saturating_add(before.cost_micros.unwrap_or(0));
            let budget = Budget { max_cost_micros: Some(most), ..Budget::default() };
            Shared { scope: Scope::Worker, budget }
        }));
    }

    /// Returns where the cost of such a stage is counted.
    pub(super) fn account(&self, run: &str, before: Spend) -> Account {
        self.ledger.account(run, before)
    }
}
