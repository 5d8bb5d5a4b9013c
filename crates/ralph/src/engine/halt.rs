//! Ctrl-Z for several loops in one process: each holds its agent, then the process stands still, then all go on.
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::signals::stop_self;

/// A loop that cannot hold its agent in this time does not keep the others from stopping.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks a loop to hold its agent until all go on.
#[derive(Debug, Clone)]
pub struct Halt {
    /// Dropped when the agent is held.
    holds: mpsc::UnboundedSender<()>,
    go_on: watch::Receiver<bool>,
}

/// Stops the process when every loop that was asked holds its agent.
#[derive(Debug)]
pub struct Halting {
    awaited: mpsc::UnboundedReceiver<()>,
    go: watch::Sender<bool>,
}

/// Returns what the loops are asked with, and what stops the process then.
#[must_use]
pub fn halt() -> (Halt, Halting) {
    let (holds, awaited) = mpsc::unbounded_channel();
    let (go, go_on) = watch::channel(false);
    (Halt { holds, go_on }, Halting { awaited, go })
}

impl Halt {
    /// The agent is held: returns when it may go on.
    pub(super) async fn held(mut self) {
        drop(self.holds);
        // Who is gone halts nobody.
        let _ = self.go_on.wait_for(|go| *go).await;
    }
}

impl Halting {
    /// Stands still until somebody continues the process.
    pub async fn stop(mut self) {
        let all = async { while self.awaited.recv().await.is_some() {} };
        let _ = tokio::time::timeout(PATIENCE, all).await;
        stop_self();
        let _ = self.go.send(true);
    }
}
