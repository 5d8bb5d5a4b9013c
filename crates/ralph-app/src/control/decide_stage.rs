//! The decision on a stage that a worker ran: the task moves on, or its stage continues.
use ralph_core::continuation::Continuation;
use ralph_core::decision::{PersonDecision, WaitingClaim};
use ralph_core::event::PersonVerdict;
use ralph_core::limit_change::ChangedLimits;
use ralph_core::pipeline::{Pipeline, PipelineAction, TaskProgress};
use ralph_core::receipt::Receipt;
use ralph_core::task::{Role, TaskStatus};
use ralph_engine::run_driver::{Clock, STAGE_RUN_KIND};
use ralph_store::{LeaseDisposition, RunRow, TakeoverGuard, TaskLease, TaskProgressUpdate};
use ralph_util::failpoints::{self, FailPoint};

use super::claimed_files::ClaimedFiles;
use super::continue_run::record_continuation;
use super::decide::{ensure_blocked, record_decision};
use super::{ControlAdvice, LoopTarget};
use crate::config::ConfigSource;
use crate::error::{AppError, AppResult};
use crate::view::short_id;
use crate::work::updated_metadata;
use crate::worktrees::{WorktreeOwner, WorktreeReservation};

/// The stage of a task whose claim waits for a decision.
pub(super) struct StageDecision<'a> {
    target: &'a LoopTarget,
    row: &'a RunRow,
    pub(super) task: String,
    pub(super) role: Role,
}

impl<'a> StageDecision<'a> {
    /// Returns the stage, if a worker ran it.
    pub(super) fn of_run(target: &'a LoopTarget, row: &'a RunRow) -> AppResult<Option<Self>> {
        match (row.kind.as_str(), &row.task, &row.role) {
            (STAGE_RUN_KIND, Some(task), Some(role)) => {
                let role = Role::parse(role).map_err(AppError::invalid_request)?;
                Ok(Some(Self { target, row, task: task.clone(), role }))
            }
            _ => Ok(None),
        }
    }

    /// Accepts the stage and queues the next one, which it returns. Nothing is landed.
    pub(super) async fn accept(
        &self,
        files: &ClaimedFiles,
        claim: &WaitingClaim,
        decision: PersonDecision,
        config: &ConfigSource,
    ) -> AppResult<Option<Role>> {
        let settings = config.load_settings(Some(&self.target.project))?;
        let pipeline = settings.pipeline().map_err(AppError::preflight)?;
        let lease = self.lease_task().await?;
        let accepted = async {
            let progress = self.load_progress().await?;
            // The files may have changed before the task was leased.
            files.ensure_unchanged(claim).await?;
            let commit = files.accept_work(claim).await?;
            let guard = TakeoverGuard::HoldsLease(&lease);
            record_decision(self.target, self.row, PersonVerdict::Accepted, decision, guard).await?;
            failpoints::reach_fail_point(FailPoint::DecisionRecorded);
            self.leave_stage(&lease, progress, &pipeline, commit).await
        };
        self.release_after(accepted.await, &lease).await
    }

    /// Queues the next stage after an acceptance that was recorded by a process that ended before it could do that.
    pub(super) async fn finish_acceptance(&self, config: &ConfigSource) -> AppResult<Option<Role>> {
        let settings = config.load_settings(Some(&self.target.project))?;
        let pipeline = settings.pipeline().map_err(AppError::preflight)?;
        let lease = self.lease_task().await?;
        let finished = async {
            let progress = self.load_progress().await?;
            let files = ClaimedFiles::find(&self.target.project, self.row)?;
            let commit = files.accept_tree(Some(self.load_accepted_tree().await?)).await?;
            self.leave_stage(&lease, progress, &pipeline, commit).await
        };
        self.release_after(finished.await, &lease).await
    }

    /// Returns the tree that was accepted. The references of the work tree may have been moved since.
    async fn load_accepted_tree(&self) -> AppResult<String> {
        let stored = self.target.store.receipt_of_run(&self.row.id).await?;
        let receipt = stored.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
        let tree = receipt.and_then(|receipt| receipt.input.repository).map(|repository| repository.tree);
        tree.ok_or_else(|| {
            AppError::preflight(format!("the receipt of run {} does not name its files", short_id(&self.row.id)))
        })
    }

    /// Stores the accepted commit and queues the next stage, which it returns.
    async fn leave_stage(
        &self,
        lease: &TaskLease,
        progress: TaskProgress,
        pipeline: &Pipeline,
        commit: Option<String>,
    ) -> AppResult<Option<Role>> {
        if let Some(commit) = &commit {
            self.target.store.store_accepted_commit(lease, commit).await?;
        }
        let last_output = self.target.store.last_agent_message(&self.row.id).await?;
        let (mut progress, action) = progress.accept_stage(pipeline, &last_output);
        progress.accepted_by_person = commit.or(progress.accepted_by_person);
        self.queue_next_stage(lease, &progress, &action).await
    }

    /// Continues the run of the stage, with the reason in its next prompt.
    pub(super) async fn reject(&self, decision: PersonDecision) -> AppResult<()> {
        let lease = self.lease_task().await?;
        let rejected = async {
            let progress = self.load_progress().await?.continue_run(self.row.id.clone());
            let guard = TakeoverGuard::HoldsLease(&lease);
            record_decision(self.target, self.row, PersonVerdict::Rejected, decision, guard).await?;
            self.advance(&lease, &progress, TaskStatus::before_stage(&self.role), None).await
        };
        self.release_after(rejected.await, &lease).await
    }

    /// Continues the run of the stage with other limits or guidance. A worker resumes it.
    pub(super) async fn continue_run(&self, continuation: Continuation) -> AppResult<ChangedLimits> {
        let lease = self.lease_task().await?;
        let continued = async {
            let progress = self.load_ended_progress().await?.reopen_stage(self.role.clone(), self.row.id.clone());
            let guard = TakeoverGuard::HoldsLease(&lease);
            let limits = record_continuation(self.target, self.row, continuation, guard).await?;
            self.advance(&lease, &progress, TaskStatus::before_stage(&self.role), None).await?;
            Ok(limits)
        };
        self.release_after(continued.await, &lease).await
    }

    /// Returns the progress of the task, if this run is its newest and the task is not finished.
    async fn load_ended_progress(&self) -> AppResult<TaskProgress> {
        let store = &self.target.store;
        let status = store.get_task(&self.task).await?.map_or(TaskStatus::Cancelled, |row| row.task.status);
        if let TaskStatus::Done | TaskStatus::Cancelled = status {
            return Err(AppError::preflight(format!("{} is {}", self.task, status.as_str())));
        }
        let newest = store.runs_of_task(&self.task).await?.pop();
        match (newest, store.task_progress(&self.task).await?) {
            (Some(newest), Some(progress)) if newest.id == self.row.id => Ok(progress),
            (_, _) => Err(AppError::preflight(format!(
                "run {} is not the last stage of {}, so it cannot be continued",
                short_id(&self.row.id),
                self.task
            ))
            .with_advice(ControlAdvice::ShowStatus)),
        }
    }

    async fn queue_next_stage(
        &self,
        lease: &TaskLease,
        progress: &TaskProgress,
        action: &PipelineAction,
    ) -> AppResult<Option<Role>> {
        let (status, next) = match action {
            PipelineAction::RunNextStage | PipelineAction::ResumeStage => {
                (TaskStatus::before_stage(&progress.stage), Some(progress.stage.clone()))
            }
            PipelineAction::LeavePipeline { status, .. } => (*status, None),
        };
        let row = self.target.store.get_task(&self.task).await?;
        let metadata = row.and_then(|row| updated_metadata(&row.metadata, status, None));
        self.advance(lease, progress, status, metadata.as_deref()).await?;
        Ok(next)
    }

    async fn advance(
        &self,
        lease: &TaskLease,
        progress: &TaskProgress,
        status: TaskStatus,
        metadata: Option<&str>,
    ) -> AppResult<()> {
        let update = TaskProgressUpdate {
            progress,
            status: Some(status),
            metadata,
            lease_disposition: LeaseDisposition::Release,
        };
        Ok(self.target.store.advance_task(lease, &update, Clock::wall_now()).await?)
    }

    /// Keeps workers away from the task.
    async fn lease_task(&self) -> AppResult<TaskLease> {
        let owner = WorktreeOwner::find(&self.target.store, &self.task).await?;
        match owner.reserve_worktree(&self.target.store, &self.target.project).await? {
            WorktreeReservation::Task(lease) => Ok(lease),
            reservation @ WorktreeReservation::Run(_) => {
                reservation.release(&self.target.store).await?;
                Err(AppError::preflight(format!("there is no task {}", self.task)))
            }
        }
    }

    /// Returns the progress of the task, if it is blocked by this run.
    async fn load_progress(&self) -> AppResult<TaskProgress> {
        let store = &self.target.store;
        let status = store.get_task(&self.task).await?.map_or(TaskStatus::Cancelled, |row| row.task.status);
        ensure_blocked(&self.task, status)?;
        let newest = store.runs_of_task(&self.task).await?.pop();
        let progress = store.task_progress(&self.task).await?.filter(|progress| progress.stage == self.role);
        match (newest, progress) {
            (Some(newest), Some(progress)) if newest.id == self.row.id => Ok(progress),
            (_, _) => Err(AppError::preflight(format!(
                "run {} is not the last stage of {}, so nothing waits for a decision",
                short_id(&self.row.id),
                self.task
            ))
            .with_advice(ControlAdvice::ShowStatus)),
        }
    }

    /// Releases the lease of a task whose decision failed.
    async fn release_after<T>(&self, result: AppResult<T>, lease: &TaskLease) -> AppResult<T> {
        if result.is_err() {
            // The error of the decision is the one to report; the lease expires.
            drop(self.target.store.release_lease(lease).await);
        }
        result
    }
}
