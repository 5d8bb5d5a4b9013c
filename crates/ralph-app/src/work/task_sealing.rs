//! Seals a task before its first stage, over the criteria of all stages. Later stages and attempts use the stored seal.
use std::path::PathBuf;
use std::pin::pin;

use ralph_core::criterion::Criterion;
use ralph_engine::project::Project;
use ralph_engine::verify::{
    CheckCache, CheckContext, CheckEnvironment, SealMonitor, SubmittedClaim, TaskSeal, TaskSealSource, TaskSealTerms,
};
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_store::TaskRow;
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;
use tokio::sync::mpsc::unbounded_channel;

use super::services::WorkServices;
use super::task_runner::TaskRunner;
use super::worktree_setup::WorktreeSetup;
use crate::error::{AppError, AppResult, ErrorKind};

/// The result of sealing a task.
pub(super) enum TaskSealing {
    /// The seal; `None` if the task cannot be sealed. Its stages report the reason then.
    Ready(Option<Box<TaskSeal>>),
    /// The worker was stopped.
    Stopped,
    /// The task was cancelled.
    Cancelled,
}

impl TaskRunner {
    /// Returns the stored seal of the task, or seals it. If agents have worked in the work tree, the files of its base
    /// commit are sealed.
    pub(super) async fn seal_task(&self, tree: &Project) -> AppResult<TaskSealing> {
        let Some(base) = self.services.task_base(&self.task_row) else { return Ok(TaskSealing::Ready(None)) };
        let terms = self.services.task_seal_terms(&self.task_row, self.pipeline.stages())?;
        let digest = terms.digest().map_err(|error| AppError::internal(&error))?;
        let row = self.store.task_seal(&self.lease.task_id).await?;
        let stored = row.seal.as_deref().and_then(|text| serde_json::from_str::<TaskSeal>(text).ok());
        if let Some(stored) = stored.filter(|stored| stored.terms_digest == digest)
            && row.base_commit.as_deref() == Some(base.as_str())
        {
            return Ok(TaskSealing::Ready(Some(Box::new(stored))));
        }
        let is_fresh = row.seal.is_none() && self.store.runs_of_task(&self.lease.task_id).await?.is_empty();
        let source = if is_fresh { TaskSealSource::FreshWorktree } else { TaskSealSource::BaseCommit(base.clone()) };
        let sealing = self.make_seal(terms, source, tree).await?;
        if let TaskSealing::Ready(Some(seal)) = &sealing {
            let text = serde_json::to_string(seal).map_err(|error| AppError::internal(&error))?;
            self.retry_while_busy(|| self.store.store_task_seal(&self.lease, &base, &text)).await?;
        }
        Ok(sealing)
    }

    async fn make_seal(&self, terms: TaskSealTerms, source: TaskSealSource, tree: &Project) -> AppResult<TaskSealing> {
        let mut events = self.active_tasks.open_control_channel(&self.lease.task_id, "");
        let (command_sender, commands) = unbounded_channel();
        let context = self.services.task_check_context(&self.task_row, tree, self.keeper.clone())?;
        let is_from_base = source != TaskSealSource::FreshWorktree;
        let mut sealing = pin!(terms.seal_task(source, tree, context, commands));
        let sealed = tokio::select! {
            sealed = &mut sealing => sealed,
            end = self.wait_for_setup_end(&mut events, &command_sender) => {
                let end = end?;
                let _ = command_sender.send(JobCommand::Kill);
                let sealed = sealing.await;
                match end {
                    Some(WorktreeSetup::Cancelled) => return Ok(TaskSealing::Cancelled),
                    Some(WorktreeSetup::Stopped | WorktreeSetup::Ready(_)) => return Ok(TaskSealing::Stopped),
                    None => sealed,
                }
            }
        };
        match sealed {
            Ok(seal) => Ok(TaskSealing::Ready(Some(Box::new(seal)))),
            Err(reason) if is_from_base => {
                let message = format!("cannot seal task {} from its base commit: {reason}", self.lease.task_id);
                Err(AppError::from_message(ErrorKind::GitFailed, message))
            }
            Err(_) => Ok(TaskSealing::Ready(None)),
        }
    }
}

impl WorkServices {
    /// Returns the criteria of all stages, and the rules for accepting claims.
    fn task_seal_terms(&self, row: &TaskRow, stages: &[ralph_core::task::Role]) -> AppResult<TaskSealTerms> {
        let mut criteria: Vec<Criterion> = Vec::new();
        let mut terms = TaskSealTerms {
            criteria: Vec::new(),
            acceptance: Default::default(),
            baseline: ralph_core::policy::BaselineMode::Skip,
        };
        for (role, number) in stages.iter().zip(0..) {
            let spec = self.plan_task_stage(row, role, Vec::new())?.plan.spec;
            for criterion in spec.criteria {
                if !criteria.contains(&criterion) {
                    criteria.push(criterion);
                }
            }
            if number == 0 {
                (terms.acceptance, terms.baseline) = (spec.acceptance, spec.policy.baseline);
            }
        }
        Ok(TaskSealTerms { criteria, ..terms })
    }

    /// Returns the context in which the baseline of a task runs.
    fn task_check_context(&self, row: &TaskRow, tree: &Project, keeper: Keeper) -> AppResult<CheckContext> {
        let log_folder = tree.state_folder().join("baseline").join(&row.task.id);
        private_files::ensure_folder(&log_folder).map_err(|error| AppError::from_error(ErrorKind::Internal, &error))?;
        Ok(CheckContext {
            keeper,
            environment: CheckEnvironment {
                root: tree.root.clone(),
                env: std::env::vars_os().collect(),
                run_id: self.setup_run_id(row),
            },
            cache: CheckCache::default(),
            seal_monitor: SealMonitor::default(),
            log_budget: LogBudget::new(MemorySize::GIGABYTE.as_byte_count(), &log_folder),
            log_folder,
            log_prefix: "baseline".to_owned(),
            plugin_folder: PathBuf::new(),
            claim: SubmittedClaim::default(),
            judge: None,
        })
    }
}
