//! Whose turn it is: the locks of a landing, and how long somebody waits for them.
use std::time::{Duration, Instant};

use ralph_core::outcome::{RunEnd, exit_code};
use tokio::sync::mpsc;

use crate::error::CommandError;
use ralph_engine::lock::HeldLock;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, wait_for_stop_signal};

/// How long a worker waits for its turn, and how often it looks.
const LAND_LOCK_TIMEOUT: Duration = Duration::from_secs(600);
const LAND_LOCK_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a lock is waited for that somebody else has, and who is heard meanwhile.
pub struct LandLockWaiter {
    deadline: Option<Instant>,
    pub control: ControlInput,
}

pub enum LandLockResult {
    Acquired(HeldLock),
    /// A signal stopped it: the exit code.
    Stopped(u8),
}

impl LandLockWaiter {
    /// Waits for nobody, and hears every signal from now on.
    pub fn without_waiting() -> Result<Self, CommandError> {
        let control = ControlInput::from_signals()
            .map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
        Ok(Self { deadline: None, control })
    }

    /// Waits for a while, and hears what is passed on.
    pub fn with_timeout(control: ControlInput) -> Self {
        Self { deadline: Some(Instant::now() + LAND_LOCK_TIMEOUT), control }
    }

    /// Takes a lock of the project that nobody else may have meanwhile.
    pub async fn acquire_lock(&mut self, project: &Project, name: &str) -> Result<LandLockResult, CommandError> {
        loop {
            let refused = match try_lock_project(project, name).await {
                Ok(held) => return Ok(LandLockResult::Acquired(held)),
                Err(refused) => refused,
            };
            let waits = self.deadline.is_some_and(|until| Instant::now() < until);
            if !waits || refused.exit_code != exit_code::STATE_UNUSABLE {
                return Err(refused);
            }
            if let Some(code) = wait_for_stop(&mut self.control).await {
                return Ok(LandLockResult::Stopped(code));
            }
        }
    }
}

/// Waits a moment. Returns the exit code if somebody asks for a stop.
async fn wait_for_stop(control: &mut ControlInput) -> Option<u8> {
    let (orders, _) = mpsc::unbounded_channel();
    tokio::select! {
        signal = wait_for_stop_signal(control, &orders) => Some(RunEnd::interrupted_by_signal(signal).exit_code),
        () = tokio::time::sleep(LAND_LOCK_POLL_INTERVAL) => None,
    }
}

/// Takes a lock of the project, unless somebody has it.
pub async fn try_lock_project(project: &Project, name: &str) -> Result<HeldLock, CommandError> {
    Ok(ralph_app::worktrees::lock_project(project, name).await?)
}
