//! The orders to a verification. Whatever looks at something when a stop comes is the last to look.
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::UnboundedReceiver;

use ralph_process::{Order, heeding};

pub struct Orders {
    received: UnboundedReceiver<Order>,
    /// Orders for the next program that runs.
    kept: VecDeque<Order>,
    stopped: bool,
}

impl Orders {
    #[must_use]
    pub fn new(received: UnboundedReceiver<Order>) -> Self {
        Self { received, kept: VecDeque::new(), stopped: false }
    }

    /// Waits for the next order. Who gives orders may be gone: then none comes.
    pub(super) async fn next(&mut self) -> Order {
        match self.kept.pop_front() {
            Some(order) => order,
            None => self.receive().await,
        }
    }

    async fn receive(&mut self) -> Order {
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

    /// Does something that holds up its thread. A stop kills the programs that it runs; other orders wait for the next job.
    pub async fn hold<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        let halt = Arc::new(AtomicBool::new(self.stopped));
        let heeded = halt.clone();
        let mut working = tokio::task::spawn_blocking(move || heeding(heeded, work));
        loop {
            tokio::select! {
                done = &mut working => return done.map_err(|error| error.to_string()),
                order = self.receive() => {
                    halt.store(self.stopped, Ordering::Relaxed);
                    self.kept.push_back(order);
                }
            }
        }
    }
}
