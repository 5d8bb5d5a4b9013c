//! Keeps two orders for the same run or task apart.
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;

use crate::problem::Problem;

/// The runs and tasks that an order is carried out for.
#[derive(Default)]
pub(crate) struct OrderLocks {
    taken: Mutex<BTreeSet<String>>,
}

/// An order that is carried out. Dropped, it allows the next one.
pub(super) struct OrderLock {
    locks: Arc<OrderLocks>,
    target: String,
}

impl OrderLocks {
    /// Takes the lock of a run or task. Fails if another order holds it.
    pub(super) fn take(self: &Arc<Self>, target: String) -> Result<OrderLock, Problem> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.insert(target.clone()) {
            return Ok(OrderLock { locks: Arc::clone(self), target });
        }
        Err(Problem::new(StatusCode::CONFLICT, format!("another order for {target} is being carried out"))
            .with_hint("wait for its answer, then read the state again"))
    }
}

impl Drop for OrderLock {
    fn drop(&mut self) {
        self.locks.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.target);
    }
}
