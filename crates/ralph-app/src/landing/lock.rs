//! The locks of a landing, and how long a landing waits for them.
use std::time::{Duration, Instant};

use ralph_core::event::StopSignal;
use ralph_engine::lock::HeldLock;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, EngineError, wait_for_stop_signal};
use tokio::sync::mpsc;

use crate::error::{AppResult, ErrorKind};
use crate::worktrees::lock_project;

/// How long a worker waits for the lock, and how often it tries.
const LAND_LOCK_TIMEOUT: Duration = Duration::from_secs(600);
const LAND_LOCK_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Waits for a lock that another process holds, until a deadline or a stop request.
pub struct LandLockWaiter {
    deadline: Option<Instant>,
    pub(super) control: ControlInput,
}

pub(super) enum LandLockResult {
    Acquired(HeldLock),
    Stopped(StopSignal),
}

impl LandLockWaiter {
    /// Fails at once if the lock is taken. Signals to this process stop the landing.
    pub fn without_waiting() -> AppResult<Self> {
        let control = ControlInput::from_signals().map_err(|source| EngineError::Signals { source })?;
        Ok(Self { deadline: None, control })
    }

    /// Waits for some minutes. Requests that arrive by `control` stop the landing.
    #[must_use]
    pub fn with_timeout(control: ControlInput) -> Self {
        Self { deadline: Some(Instant::now() + LAND_LOCK_TIMEOUT), control }
    }

    pub(super) async fn acquire_lock(&mut self, project: &Project, name: &str) -> AppResult<LandLockResult> {
        loop {
            let refused = match lock_project(project, name).await {
                Ok(held) => return Ok(LandLockResult::Acquired(held)),
                Err(refused) => refused,
            };
            let may_wait = self.deadline.is_some_and(|until| Instant::now() < until);
            if !may_wait || refused.kind != ErrorKind::StateUnusable {
                return Err(refused);
            }
            if let Some(signal) = wait_for_stop(&mut self.control).await {
                return Ok(LandLockResult::Stopped(signal));
            }
        }
    }
}

/// Waits one poll interval. Returns the signal if a stop is requested meanwhile.
async fn wait_for_stop(control: &mut ControlInput) -> Option<StopSignal> {
    let (commands, _) = mpsc::unbounded_channel();
    tokio::select! {
        signal = wait_for_stop_signal(control, &commands) => Some(signal),
        () = tokio::time::sleep(LAND_LOCK_POLL_INTERVAL) => None,
    }
}
