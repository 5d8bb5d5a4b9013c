//! Leaves an order where whoever drives the loop finds it, and tells him.
use ralph_core::event::Millis;
use ralph_core::order::Order;

use crate::lock::Owner;
use ralph_store::{Addressee, NewOrder, Store, StoreError};

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// It waits under this id.
    Waits { id: String },
    /// The run has ended.
    TooLate,
}

/// Leaves an order, and nudges whoever drives the loop, where that is known. He looks by himself before long.
pub async fn give(
    store: &Store,
    (to, order): (Addressee<'_>, &Order),
    at: Millis,
    owner: Option<&Owner>,
) -> Result<Given, StoreError> {
    let id = uuid::Uuid::now_v7().to_string();
    if !store.leave_order(NewOrder { id: &id, to, order, at }).await? {
        return Ok(Given::TooLate);
    }
    if let Some(owner) = owner {
        owner.process.nudge();
    }
    Ok(Given::Waits { id })
}
