//! Ctrl-Z: whatever this process has started is held, then the process stands still, then all go on. Where it drives several
//! loops, each holds its own.
use std::time::Duration;

use ralph_core::event::StopSignal;
use tokio::sync::{mpsc, oneshot, watch};

use super::signals::{Ask, Asked, Asks, stop_self};
use ralph_process::Order;

/// How long a supervisor may take to pass on a pause.
const PASS_ON: Duration = Duration::from_secs(1);

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
    pub async fn held(mut self) {
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

/// Holds a job that gets its orders so. Returns when the order has left, or when there is nobody to hold.
pub async fn hold_job(order: impl FnOnce(Order) -> bool) {
    let (passed_on, passed) = oneshot::channel();
    if order(Order::Pause { passed_on }) {
        let _ = tokio::time::timeout(PASS_ON, passed).await;
    }
}

/// Waits for a stop while commands run that get their orders on this way. While the process stands still, they do.
pub async fn stop_for_commands(asks: &mut Asks, orders: &mpsc::UnboundedSender<Order>) -> StopSignal {
    loop {
        match asks.next().await {
            Ask::Signal(Asked::Stop(signal)) => return signal,
            Ask::Signal(Asked::Suspend) => {
                hold_job(|order| orders.send(order).is_ok()).await;
                stop_self();
                let _ = orders.send(Order::Resume);
            }
            Ask::Halt(halt) => halt_commands(halt, orders).await,
            Ask::Signal(Asked::Look) | Ask::Lost => {}
        }
    }
}

/// Holds commands while the process stands still with everything else that it drives.
pub async fn halt_commands(halt: Halt, orders: &mpsc::UnboundedSender<Order>) {
    hold_job(|order| orders.send(order).is_ok()).await;
    halt.held().await;
    let _ = orders.send(Order::Resume);
}
