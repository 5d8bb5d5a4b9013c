//! A job that is asked in its own language to stop gets a moment for it before the signal, out of the same grace.
use std::future;
use std::time::Duration;

use tokio::time::Instant;

use super::{JobControl, TerminationSignal};

/// Longer than this no job needs that understands what it is asked.
const MAX_SIGNAL_DELAY: Duration = Duration::from_secs(3);

/// The signal that waits for its moment, if one does.
#[derive(Debug, Default)]
pub(super) struct GracefulStop(Option<PendingStop>);

#[derive(Debug)]
struct PendingStop {
    signal: TerminationSignal,
    signal_at: Instant,
    kill_at: Instant,
}

impl GracefulStop {
    /// Lets the signal wait.
    pub(super) fn schedule_signal(&mut self, signal: TerminationSignal, grace: Duration) {
        let now = Instant::now();
        let signal_at = now + MAX_SIGNAL_DELAY.min(grace / 2);
        self.0 = Some(PendingStop { signal, signal_at, kill_at: now + grace });
    }

    /// Waits until the moment is over. Never returns where nothing waits.
    pub(super) async fn wait_until_due(&self) {
        match &self.0 {
            Some(pending) => tokio::time::sleep_until(pending.signal_at).await,
            None => future::pending().await,
        }
    }

    /// Sends the signal now.
    pub(super) fn send_signal(&mut self, control: &JobControl) {
        if let Some(PendingStop { signal, kill_at, .. }) = self.0.take() {
            control.stop(signal, kill_at.saturating_duration_since(Instant::now()));
        }
    }
}
