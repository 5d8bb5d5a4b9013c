//! Starts a worker in the background, where it survives the terminal and the caller.
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ralph_engine::lock::HeldLock;
use ralph_process::StartupPipe;

use super::worker_record::BackgroundWorker;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::{BackgroundLog, ForkedProcess, fork_into_background};
use crate::work::PreparedWork;

/// How the start of a worker in the background ended.
#[derive(Debug, PartialEq, Eq)]
pub enum BackgroundWorkerStart {
    /// A process with this id is the worker.
    Started { worker: String, pid: u32, log: PathBuf },
    /// The process ended before it could work, after it had reported why.
    EndedEarly { code: u8 },
}

/// A worker in the background that has not announced itself yet.
pub struct WorkerStartup {
    worker: BackgroundWorker,
    startup_pipe: Option<StartupPipe>,
    /// Held until the exit code is recorded, so that the worker never seems to have died.
    lock: Arc<OnceLock<HeldLock>>,
}

impl WorkerStartup {
    /// Records that this process is the worker, and lets the caller return. Messages go to the log from now on.
    pub async fn announce(self) -> AppResult<()> {
        let lock = self.worker.take_lock().await?;
        self.lock.get_or_init(|| lock);
        self.startup_pipe.into_iter().for_each(StartupPipe::release_parent);
        Ok(())
    }
}

/// Forks a process that continues with `work` and ends with the code that `work` returns. Returns as soon as the worker is
/// recorded, or has failed before that. Must be called while this process has only one thread.
pub fn start_worker_in_background(
    prepared: PreparedWork,
    work: impl FnOnce(PreparedWork, AppResult<WorkerStartup>) -> u8,
) -> AppResult<BackgroundWorkerStart> {
    let worker = BackgroundWorker::new(prepared.project());
    let log = BackgroundLog::open(worker.folder())?;
    let started = fork_into_background(log, |output| {
        let lock = Arc::new(OnceLock::new());
        let startup = output.map(|output| WorkerStartup {
            worker: worker.clone(),
            startup_pipe: output.startup_pipe,
            lock: Arc::clone(&lock),
        });
        let code = work(prepared, startup);
        if lock.get().is_some() {
            worker.record_end(code);
        }
        code
    })?;
    match started {
        ForkedProcess::Started { pid, log } => Ok(BackgroundWorkerStart::Started { worker: worker.id, pid, log }),
        ForkedProcess::EndedEarly { code } => Ok(BackgroundWorkerStart::EndedEarly { code }),
        ForkedProcess::KilledEarly { signal } => {
            let message = format!("the worker was killed by signal {signal} before it could start");
            Err(AppError::from_message(ErrorKind::Internal, message).with_advice("nothing was started; try again"))
        }
    }
}
