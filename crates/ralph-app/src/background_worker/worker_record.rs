//! The record of a background worker on disk.
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ralph_engine::lock::{HeldLock, LockSharing, RunOwner, is_lock_free, take_lock};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, new_run_id};
use ralph_util::private_files;

use crate::control::ControlAdvice;
use crate::error::{AppError, AppResult};
use crate::run::BACKGROUND_LOG_FILE;
use crate::view::short_id;

/// How the id of every worker begins, so that it cannot be confused with the id of a run.
const WORKER_ID_PREFIX: &str = "worker-";
const LOCK_FILE: &str = "lock";
const EXIT_CODE_FILE: &str = "exit-code";
/// The maximum size of a lock file or exit code file.
const MAX_RECORD_BYTES: u64 = 4_096;
/// How many ended workers are kept.
const MAX_ENDED_WORKERS: usize = 10;

/// A worker that was started in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundWorker {
    pub id: String,
    folder: PathBuf,
}

/// The state of a background worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerStatus {
    Working(RunOwner),
    Ended {
        exit_code: u8,
    },
    /// Its process ended without an exit code.
    Died,
}

impl WorkerStatus {
    #[must_use]
    pub fn is_working(&self) -> bool {
        matches!(self, Self::Working(_))
    }
}

impl BackgroundWorker {
    /// Returns a worker that has not started yet.
    pub(super) fn new(project: &Project) -> Self {
        let id = format!("{WORKER_ID_PREFIX}{}", short_id(&new_run_id()));
        Self { folder: workers_folder(project).join(&id), id }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.folder.join(BACKGROUND_LOG_FILE)
    }

    /// Takes the lock that shows that this process is the worker.
    pub(super) async fn take_lock(&self) -> AppResult<HeldLock> {
        let owner = RunOwner::for_this_process(&self.id, Clock::wall_now());
        let lock = take_lock(&self.folder.join(LOCK_FILE), LockSharing::Exclusive, &owner).await;
        lock.map_err(|error| AppError::internal(&error))
    }

    /// Records the end. If that fails, the worker counts as died.
    pub(super) fn record_end(&self, exit_code: u8) {
        let opened = private_files::open_folder(&self.folder);
        let file = opened.and_then(|folder| folder.create_new_file(EXIT_CODE_FILE));
        let _ = file.and_then(|mut file| file.write_all(exit_code.to_string().as_bytes()));
    }

    #[must_use]
    pub fn status(&self) -> WorkerStatus {
        let lock = self.folder.join(LOCK_FILE);
        if !is_lock_free(&lock)
            && let Some(owner) = self.read_file(LOCK_FILE).as_deref().and_then(RunOwner::parse)
        {
            return WorkerStatus::Working(owner);
        }
        let exit_code = self.read_file(EXIT_CODE_FILE).and_then(|text| text.parse().ok());
        exit_code.map_or(WorkerStatus::Died, |exit_code| WorkerStatus::Ended { exit_code })
    }

    fn read_file(&self, name: &str) -> Option<String> {
        let file = private_files::open_regular_file(&self.folder.join(name)).ok()?;
        let mut text = String::new();
        file.take(MAX_RECORD_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    }
}

fn workers_folder(project: &Project) -> PathBuf {
    project.state_folder().join("workers")
}

/// Returns whether a text has the form of the id of a worker.
#[must_use]
pub fn is_worker_id(text: &str) -> bool {
    text.starts_with(WORKER_ID_PREFIX)
}

/// Returns the background workers of the project, oldest first. One that has not taken its lock yet is not included.
#[must_use]
pub fn list_workers(project: &Project) -> Vec<BackgroundWorker> {
    let Ok(entries) = std::fs::read_dir(workers_folder(project)) else { return Vec::new() };
    let worker = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let id = entry.file_name().into_string().ok().filter(|id| is_worker_id(id))?;
        let worker = BackgroundWorker { id, folder: entry.path() };
        let owner = worker.read_file(LOCK_FILE).as_deref().and_then(RunOwner::parse)?;
        Some((owner.since, worker))
    };
    let mut workers: Vec<_> = entries.filter_map(worker).collect();
    workers.sort_by_key(|(since, _)| *since);
    workers.into_iter().map(|(_, worker)| worker).collect()
}

/// Returns the worker with this id.
pub(super) fn find_worker(project: &Project, id: &str) -> AppResult<BackgroundWorker> {
    let known = list_workers(project).into_iter().find(|worker| worker.id == id);
    known.ok_or_else(|| {
        AppError::invalid_request(format!("there is no worker {id:?} here")).with_advice(ControlAdvice::ShowStatus)
    })
}

/// Removes the records of workers that died, and of the oldest that ended.
pub(crate) fn forget_old_workers(project: &Project) {
    let workers = list_workers(project);
    let is_ended = |worker: &&BackgroundWorker| matches!(worker.status(), WorkerStatus::Ended { .. });
    let ended: Vec<&BackgroundWorker> = workers.iter().filter(is_ended).collect();
    let oldest = ended.iter().take(ended.len().saturating_sub(MAX_ENDED_WORKERS)).copied();
    let died = workers.iter().filter(|worker| worker.status() == WorkerStatus::Died);
    for worker in died.chain(oldest) {
        // The next worker tries again.
        let _ = std::fs::remove_dir_all(&worker.folder);
    }
}
