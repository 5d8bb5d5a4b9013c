//! The orders to a verification. Whatever looks at something when a stop comes is the last to look.
use tokio::sync::mpsc::UnboundedReceiver;

use crate::process::Order;

pub(super) struct Orders {
    received: UnboundedReceiver<Order>,
    stopped: bool,
}

impl Orders {
    pub(super) fn new(received: UnboundedReceiver<Order>) -> Self {
        Self { received, stopped: false }
    }

    /// Waits for the next order. Who gives orders may be gone: then none comes.
    pub(super) async fn next(&mut self) -> Order {
        match self.received.recv().await {
            Some(order) => {
                self.stopped |= order.ends_the_job();
                order
            }
            None => std::future::pending().await,
        }
    }

    /// Tells whether the verification was told to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }
}
