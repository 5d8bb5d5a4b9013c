//! Delays the termination signal of a job that was asked to stop through its stdin. The delay is part of the grace.
use std::future;
use std::time::Duration;

use tokio::time::Instant;

use crate::{JobControl, TerminationSignal};

/// The longest delay between the request on stdin and the signal.
const MAX_SIGNAL_DELAY: Duration = Duration::from_secs(3);

/// The pending termination signal, if there is one.
#[derive(Debug, Default)]
pub(crate) struct GracefulStop(Option<PendingStop>);

#[derive(Debug)]
struct PendingStop {
    signal: TerminationSignal,
    signal_at: Instant,
    kill_at: Instant,
}

impl GracefulStop {
    /// Schedules the signal for half of the grace from now, or after [`MAX_SIGNAL_DELAY`] if that is sooner.
    pub(crate) fn schedule_signal(&mut self, signal: TerminationSignal, grace: Duration) {
        let now = Instant::now();
        let signal_at = now + MAX_SIGNAL_DELAY.min(grace / 2);
        self.0 = Some(PendingStop { signal, signal_at, kill_at: now + grace });
    }

    /// Waits until the signal is due. Never returns if none is pending.
    pub(crate) async fn wait_until_due(&self) {
        match &self.0 {
            Some(pending) => tokio::time::sleep_until(pending.signal_at).await,
            None => future::pending().await,
        }
    }

    /// Sends the pending signal now, with the rest of the grace.
    pub(crate) fn send_signal(&mut self, control: &JobControl) {
        if let Some(PendingStop { signal, kill_at, .. }) = self.0.take() {
            control.stop(signal, kill_at.saturating_duration_since(Instant::now()));
        }
    }
}
