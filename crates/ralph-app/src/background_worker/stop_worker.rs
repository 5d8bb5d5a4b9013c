//! Stops a background worker. Its tasks keep their progress, and the next worker resumes them.
use std::time::Duration;

use ralph_engine::project::Project;

use super::worker_record::{WorkerStatus, find_worker};
use crate::control::{ANSWER_TIMEOUT, CancelMode, ControlAdvice, poll_with_timeout};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::refuse_command_by_agent;

/// How long the agents and checks of a worker may take to stop.
const WORKER_STOP_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopWorkerResult {
    /// The worker was asked to stop.
    Stopping {
        worker: String,
    },
    Stopped {
        worker: String,
    },
}

/// Asks the worker with this id to stop, and waits until it has. Dropping the future ends the waiting only.
pub async fn stop_worker(project: &Project, id: &str, mode: CancelMode) -> AppResult<StopWorkerResult> {
    refuse_command_by_agent(project, "stop a worker of the project that it works on")?;
    let worker = find_worker(project, id)?;
    let name = worker.id.clone();
    let WorkerStatus::Working(owner) = worker.status() else {
        return Err(
            AppError::preflight(format!("{name} does not work any more")).with_advice("there is nothing to stop")
        );
    };
    owner.process.terminate();
    if mode == CancelMode::NoWait {
        return Ok(StopWorkerResult::Stopping { worker: name });
    }
    let stopped = async || Ok((!worker.status().is_working()).then_some(()));
    let mut has_stopped = poll_with_timeout(WORKER_STOP_TIMEOUT, stopped).await?.is_some();
    if !has_stopped && mode == CancelMode::WaitThenKill {
        owner.process.kill();
        has_stopped = poll_with_timeout(ANSWER_TIMEOUT, stopped).await?.is_some();
    }
    if has_stopped {
        return Ok(StopWorkerResult::Stopped { worker: name });
    }
    let message = format!("{name} does not stop: {owner}");
    Err(AppError::from_message(ErrorKind::StateUnusable, message)
        .with_advice("the request stays: the worker stops as soon as its agents and checks have ended")
        .with_advice(ControlAdvice::KillWorker))
}
