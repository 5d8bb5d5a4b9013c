//! Removes old workflow runs that have ended, each with its children and the runs of their agents.
use ralph_core::event::UnixMillis;
use ralph_core::retention::{RunLiveness, find_removable_runs};
use ralph_engine::lock::{self, LockSharing, RunOwner};

use super::gc::{CollectedRun, GarbageCollector, current_time};
use super::retention::{file_size, remove_session_logs};
use crate::error::AppResult;
use crate::workflow_runs::WorkflowLog;

impl GarbageCollector<'_> {
    /// A run that waits or can be resumed after an interruption is kept. Artifacts are removed only with the whole run.
    pub(super) async fn collect_workflow_runs(&mut self) -> AppResult<()> {
        let runs = self.store.list_workflow_activity().await?;
        let liveness: Vec<RunLiveness> = runs
            .iter()
            .map(|run| run.ended_at.map_or(RunLiveness::Running, |at| RunLiveness::Ended { at: UnixMillis(at) }))
            .collect();
        for index in find_removable_runs(&liveness, self.policy(), current_time()) {
            if let Some(run) = runs.get(index) {
                self.remove_workflow_tree(&run.id).await?;
            }
        }
        Ok(())
    }

    async fn remove_workflow_tree(&mut self, root: &str) -> AppResult<()> {
        let owner = RunOwner::for_this_process(root, current_time());
        let lock_file = self.project.run_lock(root);
        let _lock = match lock_file.parent().is_some_and(std::path::Path::is_dir) {
            // Without its folder no process drives it.
            false => None,
            true => match lock::take_lock(&lock_file, LockSharing::Exclusive, &owner).await {
                Ok(lock) => Some(lock),
                Err(_) => return Ok(()),
            },
        };
        for pass in self.store.passes_of_workflow_tree(root).await? {
            self.remove_run(&pass.id).await?;
        }
        // Children first: what is left after a crash is found again through the root.
        for run in self.store.workflow_tree(root).await?.into_iter().rev() {
            self.remove_workflow_run(&run).await?;
        }
        Ok(())
    }

    async fn remove_workflow_run(&mut self, run: &str) -> AppResult<()> {
        let log = WorkflowLog::path_of(self.project, run);
        let folder = match self.forgets_runs() {
            true => self.folders.logs_size(run),
            false => Ok(None),
        };
        let folder = match folder {
            Ok(folder) => folder,
            Err(failure) => {
                self.report.failures.push(failure);
                return Ok(());
            }
        };
        if folder.is_none() && !log.exists() && !self.forgets_runs() {
            return Ok(());
        }
        let freed_bytes = folder.unwrap_or(0) + file_size(&log);
        if !self.is_dry_run() {
            let mut removed = remove_session_logs(std::slice::from_ref(&log));
            if folder.is_some() {
                removed = removed.and_then(|()| self.folders.remove_run_folder(run));
            }
            if let Err(failure) = removed {
                self.report.failures.push(failure);
                return Ok(());
            }
            if self.forgets_runs() {
                self.store.delete_workflow_run(run).await?;
            }
        }
        self.report.runs.push(CollectedRun { id: run.to_owned(), freed_bytes });
        Ok(())
    }
}
