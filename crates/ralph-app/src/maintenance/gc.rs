//! Removes logs of old runs, and work trees whose work is merged.
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::retention::{RetentionPolicy, RunLiveness, find_removable_runs};
use ralph_core::task::TaskStatus;
use ralph_engine::execution_log::ExecutionLog;
use ralph_engine::lock::{self, LockSharing, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::worktree::{self, TaskWorktree, WorktreeLayout, WorktreeRemoval};
use ralph_store::{RunActivity, Store, TaskListItem};
use ralph_util::session_log_file;

use super::retention::{
    RemovalMode, RetentionError, RunFolders, file_size, remove_notes, remove_old_execution_log, remove_session_logs,
};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::{is_orphaned, open_existing_store};
use crate::view::short_id;

#[derive(Debug, Clone, Copy)]
pub struct GcRequest {
    /// Only runs that ended at least this long ago.
    pub older_than: Duration,
    /// How many of the newest runs to spare, however old they are.
    pub keep_newest: u32,
    pub scope: GcScope,
    pub mode: RemovalMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcScope {
    /// Raw logs and session logs.
    Logs,
    /// Also journal, results and notes.
    WholeRuns,
}

/// The files and work trees that were removed, or would be.
#[derive(Debug, Default)]
pub struct GcReport {
    pub runs: Vec<CollectedRun>,
    /// The size of the removed old execution log.
    pub execution_log_bytes: u64,
    /// How many logs that a killed process left in pieces were joined.
    pub joined_logs: u64,
    pub worktrees: Vec<PathBuf>,
    /// The branches of tasks whose work is merged and whose work trees are gone.
    pub branches: Vec<String>,
    pub failures: Vec<RetentionError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedRun {
    pub id: String,
    pub freed_bytes: u64,
}

impl GcReport {
    #[must_use]
    pub fn freed_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.freed_bytes).sum::<u64>() + self.execution_log_bytes
    }

    /// Returns the first failure as an error.
    #[must_use]
    pub fn first_error(&self) -> Option<AppError> {
        let failure = self.failures.first()?;
        Some(AppError::from_error(ErrorKind::StateUnusable, failure).with_advice("the other runs were cleaned up"))
    }
}

/// Removes what the request names. Active runs are never touched, and links are never followed.
pub async fn collect_garbage(project: &Project, request: GcRequest) -> AppResult<GcReport> {
    let store = open_existing_store(project).await?;
    let folders = RunFolders::find(&project.state_folder()).map_err(|error| unsafe_state_folder_error(&error))?;
    match store {
        Some(store) => {
            let collector = GarbageCollector { request, project, store, folders, report: GcReport::default() };
            collector.collect_garbage().await
        }
        None => Ok(GcReport::default()),
    }
}

fn unsafe_state_folder_error(error: &RetentionError) -> AppError {
    AppError::from_error(ErrorKind::StateUnusable, error)
        .with_advice("nothing was removed; put a folder there, or remove the link")
}

pub(super) struct GarbageCollector<'a> {
    pub(super) request: GcRequest,
    pub(super) project: &'a Project,
    pub(super) store: Store,
    pub(super) folders: RunFolders,
    pub(super) report: GcReport,
}

impl GarbageCollector<'_> {
    async fn collect_garbage(mut self) -> AppResult<GcReport> {
        let runs = self.store.list_run_activity().await?;
        let liveness: Vec<RunLiveness> = runs.iter().map(|run| self.classify_run(run)).collect();
        let removable = find_removable_runs(&liveness, self.policy(), current_time());
        for (index, (run, liveness)) in runs.iter().zip(liveness).enumerate() {
            match liveness {
                RunLiveness::Running => {}
                RunLiveness::Ended { .. } if removable.binary_search(&index).is_ok() => {
                    self.remove_run(&run.id).await?;
                }
                RunLiveness::Ended { .. } => self.join_split_logs(&run.id),
            }
        }
        self.collect_workflow_runs().await?;
        self.remove_old_execution_log();
        self.report.worktrees = self.remove_merged_worktrees().await?;
        self.report.branches = self.remove_merged_branches().await?;
        Ok(self.report)
    }

    pub(super) fn policy(&self) -> RetentionPolicy {
        let keep_younger_than_ms = u64::try_from(self.request.older_than.as_millis()).unwrap_or(u64::MAX);
        RetentionPolicy { keep_younger_than_ms, keep_newest: self.request.keep_newest as usize }
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.request.mode == RemovalMode::DryRun
    }

    pub(super) fn forgets_runs(&self) -> bool {
        self.request.scope == GcScope::WholeRuns
    }

    /// The current execution log stays; its size is bounded.
    fn remove_old_execution_log(&mut self) {
        let path = ExecutionLog::new(&self.project.session_logs_folder()).old_path();
        match remove_old_execution_log(&path, self.request.older_than, self.request.mode) {
            Ok(size) => self.report.execution_log_bytes = size,
            Err(failure) => self.report.failures.push(failure),
        }
    }

    /// Removes work trees of closed tasks and ended runs whose work is merged.
    async fn remove_merged_worktrees(&self) -> AppResult<Vec<PathBuf>> {
        let tasks = self.store.list_tasks().await?;
        let active = self.store.unfinished_runs().await?;
        let open_workflows = self.store.open_workflow_runs().await?;
        let is_over = |name: &str| match tasks.iter().find(|task| task.id == name) {
            Some(task) => matches!(task.status, TaskStatus::Done | TaskStatus::Cancelled),
            None => {
                let active = active.iter().map(|run| &run.id).chain(&open_workflows);
                active.into_iter().all(|run| !name.ends_with(short_id(run)))
            }
        };
        // Where the work trees cannot be read, none is removed.
        let Ok(layout) = WorktreeLayout::for_project(self.project) else { return Ok(Vec::new()) };
        let trees = worktree::list_task_worktrees(&layout).unwrap_or_default();
        let over = trees.into_iter().filter(|tree| is_over(&tree.task_id));
        Ok(over.filter(|tree| self.remove_worktree(&layout, tree)).map(|tree| tree.path).collect())
    }

    /// Removes the branches of closed tasks whose work is merged and whose work trees are gone.
    async fn remove_merged_branches(&self) -> AppResult<Vec<String>> {
        let Ok(layout) = WorktreeLayout::for_project(self.project) else { return Ok(Vec::new()) };
        let is_over = |task: &&TaskListItem| matches!(task.status, TaskStatus::Done | TaskStatus::Cancelled);
        let is_removed = |task: &&TaskListItem| {
            let removed = if self.is_dry_run() {
                worktree::is_branch_removable(&layout, &task.id)
            } else {
                worktree::remove_merged_branch(&layout, &task.id)
            };
            removed.unwrap_or(false)
        };
        let tasks = self.store.list_tasks().await?;
        let removed = tasks.iter().filter(is_over).filter(is_removed);
        Ok(removed.map(|task| format!("ralph/{}", task.id)).collect())
    }

    /// Returns whether the work tree was removed, or would be.
    fn remove_worktree(&self, layout: &WorktreeLayout, tree: &TaskWorktree) -> bool {
        if self.is_dry_run() {
            return worktree::describe_loss(layout, tree).is_ok_and(|loss| loss.is_none());
        }
        worktree::remove_worktree(layout, &tree.task_id).is_ok_and(|removal| removal == WorktreeRemoval::Removed)
    }

    /// A run that is recorded as running without a driver has ended, unless it is the loop of a session. If its lock file was removed, its process decides.
    fn classify_run(&self, run: &RunActivity) -> RunLiveness {
        let driver = || run.owner_json.as_deref().and_then(RunOwner::parse);
        if run.is_open_session {
            return RunLiveness::Running;
        }
        let is_driven = match self.project.run_lock(&run.id).exists() {
            true => !is_orphaned(self.project, &run.id),
            false => driver().is_some_and(|driver| driver.process.is_alive_here()),
        };
        if is_driven { RunLiveness::Running } else { RunLiveness::Ended { at: run.last_active_at } }
    }

    pub(super) async fn remove_run(&mut self, run: &str) -> AppResult<()> {
        let size = match self.folders.logs_size(run) {
            Ok(None) if !self.forgets_runs() => return Ok(()),
            Ok(size) => size,
            Err(failure) => {
                self.report.failures.push(failure);
                return Ok(());
            }
        };
        let notes = if self.forgets_runs() { self.note_paths(run).iter().map(|file| file_size(file)).sum() } else { 0 };
        let sessions: u64 = self.session_log_paths(run).iter().map(|log| file_size(log)).sum();
        if !self.is_dry_run() && !self.delete_run(run, size.is_some()).await? {
            return Ok(());
        }
        let freed_bytes = size.unwrap_or(0) + notes + sessions;
        self.report.runs.push(CollectedRun { id: run.to_owned(), freed_bytes });
        Ok(())
    }

    /// Removes the logs first, then the record: a record without logs is valid. Holds the lock of the run, so that no
    /// process resumes it. Returns whether the run was removed.
    async fn delete_run(&mut self, run: &str, has_logs: bool) -> AppResult<bool> {
        if has_logs {
            let owner = RunOwner::for_this_process(run, current_time());
            let Ok(_lock) = lock::take_lock(&self.project.run_lock(run), LockSharing::Exclusive, &owner).await else {
                return Ok(false);
            };
            // The list of the session logs is in the folder, so the logs are removed before it.
            let removed =
                remove_session_logs(&self.session_log_paths(run)).and_then(|()| self.folders.remove_run_folder(run));
            if let Err(failure) = removed {
                self.report.failures.push(failure);
                return Ok(false);
            }
        }
        if !self.forgets_runs() {
            return Ok(true);
        }
        if let Err(failure) = self.note_paths(run).iter().try_for_each(|file| remove_notes(file)) {
            self.report.failures.push(failure);
            return Ok(false);
        }
        self.store.delete_run(run).await?;
        Ok(true)
    }

    /// Returns the files that the agents of a run wrote for others.
    fn note_paths(&self, run: &str) -> [PathBuf; 2] {
        [self.project.notes_file(run), self.project.generated_tasks_file(run)]
    }

    fn session_log_paths(&self, run: &str) -> Vec<PathBuf> {
        session_log_file::listed_session_logs(&self.project.session_logs_folder(), &self.project.session_list_file(run))
    }

    fn join_split_logs(&mut self, run: &str) {
        let joined = match self.request.mode {
            RemovalMode::DryRun => Ok(self.folders.count_unjoined_tails(run)),
            RemovalMode::Remove => self.folders.join_log_tails(run),
        };
        match joined {
            Ok(joined) => self.report.joined_logs += joined,
            Err(failure) => self.report.failures.push(failure),
        }
    }
}

pub(super) fn current_time() -> UnixMillis {
    UnixMillis(jiff::Timestamp::now().as_millisecond())
}
