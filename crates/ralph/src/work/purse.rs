//! The money for everything that a worker begins. What is spent is asked of the store, so that nothing is forgotten that was
//! recorded; what stages at work at the same time use can only be seen when they have recorded it.
use std::cell::Cell;

use ralph_core::event::Millis;

use super::shop::{News, Workshop};
use crate::engine::RunPlan;
use crate::store::{Store, StoreError};

pub(super) struct Purse {
    limit: Option<u64>,
    since: Millis,
    is_empty: Cell<bool>,
}

impl Purse {
    pub(super) fn new(limit: Option<u64>, since: Millis) -> Self {
        Self { limit, since, is_empty: Cell::new(false) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_empty.get()
    }

    /// Limits a stage to what is left. `None`: nothing is.
    pub(super) async fn allow(
        &self,
        mut plan: RunPlan,
        store: &Store,
        shop: &impl Workshop,
    ) -> Result<Option<RunPlan>, StoreError> {
        let Some(limit) = self.limit else { return Ok(Some(plan)) };
        let spent = store.cost_of_stages(self.since).await?;
        let left = limit.saturating_sub(spent);
        if left == 0 {
            if !self.is_empty.replace(true) {
                shop.tell(&News::Spent { spent, limit });
            }
            return Ok(None);
        }
        let own = &mut plan.policy.budget.max_cost_micros;
        *own = Some(own.map_or(left, |own| own.min(left)));
        Ok(Some(plan))
    }
}
