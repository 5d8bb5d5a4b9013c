//! Follows the log of a background worker while it grows.
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use ralph_core::session_loop::SESSION_RUN_KIND;
use ralph_engine::project::Project;
use ralph_engine::run_driver::STAGE_RUN_KIND;
use ralph_util::private_files;

use super::worker_record::{BackgroundWorker, WorkerStatus, find_worker, is_worker_id, list_workers};
use crate::error::{AppError, AppResult};
use crate::run::{describe_candidate, is_orphaned, open_existing_store, several_candidates_error};

/// How much of a log is read at once.
const LOG_PAGE_BYTES: u64 = 64 * 1024;

/// A background worker whose log is read.
pub struct FollowedWorker {
    worker: BackgroundWorker,
    log: File,
    /// The beginning of a line that is not complete yet.
    partial_line: Vec<u8>,
}

/// Returns the worker with this id or, without an id, the only active worker. Returns `None` if the id is not the id of
/// a worker, or no worker is active. Fails if several loops and workers could be meant.
pub async fn find_worker_to_follow(project: &Project, id: Option<&str>) -> AppResult<Option<FollowedWorker>> {
    let worker = match id {
        Some(id) if is_worker_id(id) => Some(find_worker(project, id)?),
        Some(_) => None,
        None => find_only_worker(project).await?,
    };
    worker.map(FollowedWorker::open).transpose()
}

/// Returns the only worker, unless a run that belongs to no worker could also be meant.
async fn find_only_worker(project: &Project) -> AppResult<Option<BackgroundWorker>> {
    let mut workers = list_workers(project);
    workers.retain(|worker| worker.status().is_working());
    if workers.is_empty() {
        return Ok(None);
    }
    let mut runs = Vec::new();
    if let Some(store) = open_existing_store(project).await? {
        runs = store.unfinished_runs().await?;
        store.close().await;
    }
    runs.retain(|run| {
        ![STAGE_RUN_KIND, SESSION_RUN_KIND].contains(&run.kind.as_str()) && !is_orphaned(project, &run.id)
    });
    if workers.len() + runs.len() > 1 {
        let candidates = workers.into_iter().map(|worker| worker.id).chain(runs.iter().map(describe_candidate));
        return Err(several_candidates_error("several workers or runs are active", candidates));
    }
    Ok(workers.pop())
}

impl FollowedWorker {
    fn open(worker: BackgroundWorker) -> AppResult<Self> {
        let log = private_files::open_regular_file(&worker.log_path());
        let log = log.map_err(|error| {
            AppError::preflight(format!("cannot read {}", worker.log_path().display())).with_cause(error)
        })?;
        Ok(Self { worker, log, partial_line: Vec::new() })
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.worker.id
    }

    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.worker.log_path()
    }

    #[must_use]
    pub fn status(&self) -> WorkerStatus {
        self.worker.status()
    }

    /// Returns the lines that are complete and were not returned before.
    pub fn read_new_lines(&mut self) -> AppResult<Vec<String>> {
        loop {
            let mut page = Vec::new();
            let read = (&self.log).take(LOG_PAGE_BYTES).read_to_end(&mut page);
            read.map_err(|error| AppError::internal(&error))?;
            if page.is_empty() {
                break;
            }
            self.partial_line.append(&mut page);
        }
        let complete = self.partial_line.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.partial_line.drain(..complete).collect();
        Ok(String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect())
    }
}
