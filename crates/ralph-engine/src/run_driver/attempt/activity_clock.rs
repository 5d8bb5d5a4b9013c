//! Records when an agent last printed something. The listener writes it, and the driver's timers read it.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time of the agent's last output, in milliseconds since `started`. Clones share it.
#[derive(Debug, Clone)]
pub struct ActivityClock {
    started: Instant,
    last_activity_ms: Arc<AtomicU64>,
}

impl ActivityClock {
    #[must_use]
    pub fn new() -> Self {
        Self { started: Instant::now(), last_activity_ms: Arc::new(AtomicU64::new(0)) }
    }

    pub fn mark_activity(&self) {
        let ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_activity_ms.store(ms, Ordering::Relaxed);
    }

    /// Returns how long ago the last activity was.
    #[must_use]
    pub fn silence_duration(&self) -> Duration {
        let last = Duration::from_millis(self.last_activity_ms.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last)
    }
}
