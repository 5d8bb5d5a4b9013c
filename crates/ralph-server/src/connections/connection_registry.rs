//! The open connections. If there are too many, the one that has waited longest without a request makes room.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Connections that may be open at the same time.
pub(super) const MAX_CONNECTIONS: usize = 400;

#[derive(Default)]
pub(super) struct ConnectionRegistry {
    state: Mutex<RegistryState>,
    changed: Notify,
}

#[derive(Default)]
struct RegistryState {
    next_number: u64,
    open: BTreeMap<u64, Arc<OpenConnection>>,
}

/// An open connection.
#[derive(Default)]
pub(super) struct OpenConnection {
    /// The requests that are not answered completely.
    unanswered: AtomicUsize,
    close: Notify,
}

/// Removes its connection from the registry when it is dropped.
pub(super) struct RegisteredConnection {
    registry: Arc<ConnectionRegistry>,
    number: u64,
    pub connection: Arc<OpenConnection>,
}

/// A request that is not answered completely.
pub(super) struct UnansweredRequest(Arc<OpenConnection>);

impl ConnectionRegistry {
    /// Adds a connection. If there are too many, closes the oldest one that has no request. Returns `None` if all have one.
    pub(super) fn register(self: &Arc<Self>) -> Option<RegisteredConnection> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.open.len() >= MAX_CONNECTIONS {
            let idle = state.open.iter().find(|(_, open)| open.unanswered.load(Ordering::Acquire) == 0);
            let number = idle.map(|(number, _)| *number)?;
            if let Some(oldest) = state.open.remove(&number) {
                oldest.close.notify_one();
            }
        }
        let (number, connection) = (state.next_number, Arc::new(OpenConnection::default()));
        state.next_number += 1;
        state.open.insert(number, Arc::clone(&connection));
        drop(state);
        Some(RegisteredConnection { registry: Arc::clone(self), number, connection })
    }

    /// Waits until no connection is open.
    pub(super) async fn wait_until_empty(&self) {
        loop {
            let changed = self.changed.notified();
            if self.state.lock().unwrap_or_else(PoisonError::into_inner).open.is_empty() {
                return;
            }
            changed.await;
        }
    }
}

impl OpenConnection {
    pub(super) fn begin_request(self: &Arc<Self>) -> UnansweredRequest {
        self.unanswered.fetch_add(1, Ordering::AcqRel);
        UnansweredRequest(Arc::clone(self))
    }

    /// Waits until the connection must close to make room for another one.
    pub(super) async fn must_close(&self) {
        self.close.notified().await;
    }
}

impl Drop for UnansweredRequest {
    fn drop(&mut self) {
        self.0.unanswered.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for RegisteredConnection {
    fn drop(&mut self) {
        self.registry.state.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&self.number);
        self.registry.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 102
    #[tokio::test]
    async fn the_oldest_connection_without_a_request_makes_room() {
        let registry = Arc::new(ConnectionRegistry::default());
        let open: Vec<_> = (0..MAX_CONNECTIONS).map(|_| registry.register().unwrap()).collect();
        let busy = open[0].connection.begin_request();
        let newest = registry.register().unwrap();
        open[1].connection.must_close().await;
        let requests: Vec<_> = open.iter().map(|open| open.connection.begin_request()).collect();
        let _own = newest.connection.begin_request();
        assert!(registry.register().is_none());
        drop((busy, requests));
        assert!(registry.register().is_some());
    }
}
