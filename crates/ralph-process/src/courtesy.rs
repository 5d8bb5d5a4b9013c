//! A job that is asked in its own language to stop gets a moment for it before the signal, out of the same grace.
use std::future;
use std::time::Duration;

use tokio::time::Instant;

use super::{Control, Polite};

/// Longer than this no job needs that understands what it is asked.
const MOMENT: Duration = Duration::from_secs(3);

/// The signal that waits for its moment, if one does.
#[derive(Debug, Default)]
pub(super) struct Courtesy(Option<Pending>);

#[derive(Debug)]
struct Pending {
    signal: Polite,
    signal_at: Instant,
    kill_at: Instant,
}

impl Courtesy {
    /// Lets the signal wait.
    pub(super) fn extend(&mut self, signal: Polite, grace: Duration) {
        let now = Instant::now();
        let signal_at = now + MOMENT.min(grace / 2);
        self.0 = Some(Pending { signal, signal_at, kill_at: now + grace });
    }

    /// Waits until the moment is over. Never returns where nothing waits.
    pub(super) async fn over(&self) {
        match &self.0 {
            Some(pending) => tokio::time::sleep_until(pending.signal_at).await,
            None => future::pending().await,
        }
    }

    /// Sends the signal now.
    pub(super) fn insist(&mut self, control: &Control) {
        if let Some(Pending { signal, kill_at, .. }) = self.0.take() {
            control.stop(signal, kill_at.saturating_duration_since(Instant::now()));
        }
    }
}
