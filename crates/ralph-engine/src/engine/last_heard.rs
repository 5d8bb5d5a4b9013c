//! When an agent was last heard: written by whoever listens, read by whoever keeps the time.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// When the agent last printed something, in milliseconds since `base`.
#[derive(Debug, Clone)]
pub struct LastHeard {
    base: Instant,
    ms: Arc<AtomicU64>,
}

impl LastHeard {
    #[must_use]
    pub fn new() -> Self {
        Self { base: Instant::now(), ms: Arc::new(AtomicU64::new(0)) }
    }

    pub fn now(&self) {
        let ms = u64::try_from(self.base.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.ms.store(ms, Ordering::Relaxed);
    }

    /// Returns how long it has been silent.
    #[must_use]
    pub fn silence(&self) -> Duration {
        let last = Duration::from_millis(self.ms.load(Ordering::Relaxed));
        self.base.elapsed().saturating_sub(last)
    }
}
