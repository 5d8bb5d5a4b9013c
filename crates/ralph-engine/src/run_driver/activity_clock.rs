//! When an agent was last heard: written by whoever listens, read by whoever keeps the time.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// When the agent last printed something, in milliseconds since `base`.
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

    /// Returns how long it has been silent.
    #[must_use]
    pub fn silence_duration(&self) -> Duration {
        let last = Duration::from_millis(self.last_activity_ms.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last)
    }
}
