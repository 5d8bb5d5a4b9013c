//! Runs the remaining stages of one leased task.
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::outcome::Outcome;
use ralph_core::pipeline::{Pipeline, PipelineAction, StageEnd, StageFailure, TaskProgress};
use ralph_core::task::TaskStatus;
use serde_json::{Map, Value, json};

use super::active_tasks::ActiveTasks;
use super::events::TaskEvent;
use super::services::{AcceptedStage, WorkServices};
use super::shared_budget::SharedBudget;
use super::task_sealing::TaskSealing;
use super::worktree_setup::WorktreeSetup;
use crate::error::{AppError, AppResult};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, STAGE_RUN_KIND};
use ralph_engine::verify::TaskSeal;
use ralph_process::Keeper;
use ralph_store::{LeaseDisposition, LeaseRelease, Store, StoreError, TaskLease, TaskProgressUpdate, TaskRow};
use ralph_util::failpoints::{self, FailPoint};

/// The metadata key under which the failure of a stage is stored.
const FAILURE_METADATA_KEY: &str = "ralph_failure";

/// The delay before a write to a busy database is retried.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A task in progress.
pub(super) struct TaskRunner {
    pub(super) services: Arc<WorkServices>,
    pub(super) store: Arc<Store>,
    pub(super) keeper: Keeper,
    pub(super) active_tasks: Arc<ActiveTasks>,
    pub(super) budget: Arc<SharedBudget>,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) lease: TaskLease,
    pub(super) task_row: TaskRow,
    /// Why this worker deferred the task the last time.
    pub(super) last_deferral_reason: Option<String>,
}

/// A task that this worker has finished with for now.
pub(super) struct EndedTask {
    pub(super) task_id: String,
    pub(super) end: TaskEnd,
}

/// How the work of this worker on a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnd {
    Finished {
        status: TaskStatus,
        reason: String,
        /// Whether the agent failed and its retries are used up.
        is_agent_failure: bool,
    },
    Interrupted,
    /// Its stage waits until this time, without a slot.
    Parked {
        until: UnixMillis,
    },
    /// Another worker has leased it.
    LeaseLost,
    /// It could not be started or resumed.
    Deferred {
        reason: String,
    },
}

impl TaskRunner {
    /// Runs the task and releases its lease.
    pub(super) async fn run(self, progress: Option<TaskProgress>) -> EndedTask {
        let task_id = self.lease.task_id.clone();
        let end = match self.run_stages(progress).await {
            Ok(end) => end,
            Err(_) if self.active_tasks.is_lease_lost(&task_id) => TaskEnd::LeaseLost,
            Err(error) => self.defer_after_error(&error).await,
        };
        if end == TaskEnd::LeaseLost {
            self.services.report_event(&TaskEvent::LeaseLost { task: &task_id });
        }
        self.active_tasks.remove(&task_id);
        EndedTask { task_id, end }
    }

    async fn run_stages(&self, before: Option<TaskProgress>) -> AppResult<TaskEnd> {
        if let Some(reason) = self.find_manual_run().await? {
            self.return_lease().await?;
            return Ok(self.report_deferred(reason));
        }
        let progress = self.pipeline.start_or_resume(self.task_row.task.status, before);
        if let Some(until) = self.find_parked_stage(&progress).await? {
            self.return_lease().await?;
            return Ok(self.report_parked(&progress, until));
        }
        self.services.check_stages_can_start(&self.task_row, self.pipeline.remaining_stages(&progress))?;
        let (task, attempt) = (&self.lease.task_id, progress.attempts + 1);
        self.services.report_event(&TaskEvent::Leased { task, stage: &progress.stage, attempt });
        let tree = match self.set_up_worktree().await? {
            WorktreeSetup::Ready(tree) => tree,
            WorktreeSetup::Stopped => return self.return_interrupted(&progress).await,
            WorktreeSetup::Cancelled => return self.finish_cancelled(&progress).await,
        };
        let task_seal = match self.seal_task(&tree).await? {
            TaskSealing::Ready(task_seal) => task_seal,
            TaskSealing::Stopped => return self.return_interrupted(&progress).await,
            TaskSealing::Cancelled => return self.finish_cancelled(&progress).await,
        };
        self.run_sealed_stages(progress, &tree, task_seal.as_deref()).await
    }

    async fn run_sealed_stages(
        &self,
        mut progress: TaskProgress,
        tree: &Project,
        task_seal: Option<&TaskSeal>,
    ) -> AppResult<TaskEnd> {
        loop {
            if self.active_tasks.stop_signal().is_some() {
                return self.return_interrupted(&progress).await;
            }
            if self.is_task_cancelled().await? {
                return self.finish_cancelled(&progress).await;
            }
            let Some(finished) = self.run_stage(&mut progress, tree, task_seal).await? else {
                return self.return_interrupted(&progress).await;
            };
            if finished.ended.outcome == Outcome::Completed {
                self.accept_stage(&progress, finished.verified_tree.clone()).await?;
            }
            let is_over_budget = finished.ended.outcome == Outcome::OverBudget;
            let end = StageEnd {
                run_end: &finished.ended,
                iterations: finished.iterations,
                last_output: &finished.last_output,
                is_worker_budget_spent: is_over_budget && self.budget.is_exhausted(self.services.as_ref()),
            };
            let (next, action) = progress.finish_stage(&self.pipeline, &end);
            progress = next;
            match action {
                PipelineAction::RunNextStage => self.start_next_stage(&progress).await?,
                PipelineAction::ResumeStage => {
                    return match finished.parked_until {
                        Some(until) => self.park_task(&progress, until).await,
                        None => self.return_interrupted(&progress).await,
                    };
                }
                PipelineAction::LeavePipeline { status: TaskStatus::Todo | TaskStatus::Blocked, .. }
                    if self.is_task_cancelled().await? =>
                {
                    return self.finish_cancelled(&progress).await;
                }
                PipelineAction::LeavePipeline { status, reason, failure } => {
                    self.finish_task(&progress, status, &reason, failure.as_ref()).await?;
                    let is_agent_failure = finished.ended.outcome == Outcome::Failed;
                    return Ok(TaskEnd::Finished { status, reason, is_agent_failure });
                }
            }
        }
    }

    /// Retries a write while the database is busy. After a stop it is tried once.
    pub(super) async fn retry_while_busy<T, W: Future<Output = Result<T, StoreError>>>(
        &self,
        write: impl Fn() -> W,
    ) -> Result<T, StoreError> {
        loop {
            let result = write().await;
            let is_busy = result.as_ref().is_err_and(StoreError::is_busy);
            if self.active_tasks.is_newly_busy(is_busy) {
                self.services.report_event(&TaskEvent::StoreBusy);
            }
            if !is_busy || self.active_tasks.stop_signal().is_some() {
                return result;
            }
            tokio::time::sleep(BUSY_RETRY_DELAY).await;
        }
    }

    pub(super) async fn advance_task(&self, update: &TaskProgressUpdate<'_>) -> Result<(), StoreError> {
        self.retry_while_busy(|| self.store.advance_task(&self.lease, update, Clock::wall_now())).await
    }

    /// Returns a reason to defer the task if a person has started a run for it.
    async fn find_manual_run(&self) -> AppResult<Option<String>> {
        let newest = self.store.runs_of_task(&self.lease.task_id).await?.pop();
        let driven = newest.filter(|run| {
            run.kind != STAGE_RUN_KIND && run.status == "running" && self.services.is_run_driven(&run.id)
        });
        Ok(driven.map(|run| format!("run {}, started by a person, is working on it", run.id)))
    }

    /// Accepts the work of a stage, unless another worker has leased the task. The position of the branch is therefore read
    /// before the lease is checked.
    async fn accept_stage(&self, progress: &TaskProgress, verified_tree: Option<String>) -> AppResult<()> {
        let position_before = self.services.read_work_position(&self.task_row).await?;
        self.save_progress(progress).await?;
        failpoints::reach_fail_point(FailPoint::AcceptBegins);
        let accepted = AcceptedStage { position_before, stage: progress.stage.clone(), verified_tree };
        let commit = self.services.accept_stage(&self.task_row, accepted).await?;
        Ok(self.retry_while_busy(|| self.store.store_accepted_commit(&self.lease, &commit)).await?)
    }

    async fn start_next_stage(&self, progress: &TaskProgress) -> AppResult<()> {
        let status = TaskStatus::while_in_role(&progress.stage);
        let update = TaskProgressUpdate { progress, status, metadata: None, lease_disposition: LeaseDisposition::Keep };
        self.advance_task(&update).await?;
        if let Some(ended) = progress.reports.last() {
            self.services.report_event(&TaskEvent::StageAdvanced {
                task: &self.lease.task_id,
                ended,
                stage: &progress.stage,
            });
        }
        Ok(())
    }

    async fn return_interrupted(&self, progress: &TaskProgress) -> AppResult<TaskEnd> {
        let update =
            TaskProgressUpdate { progress, status: None, metadata: None, lease_disposition: LeaseDisposition::Release };
        self.advance_task(&update).await?;
        self.services.report_event(&TaskEvent::Interrupted { task: &self.lease.task_id, stage: &progress.stage });
        Ok(TaskEnd::Interrupted)
    }

    /// Releases a task whose stage waits for long.
    async fn park_task(&self, progress: &TaskProgress, until: UnixMillis) -> AppResult<TaskEnd> {
        let update =
            TaskProgressUpdate { progress, status: None, metadata: None, lease_disposition: LeaseDisposition::Release };
        self.advance_task(&update).await?;
        Ok(self.report_parked(progress, until))
    }

    fn report_parked(&self, progress: &TaskProgress, until: UnixMillis) -> TaskEnd {
        let (task, stage) = (self.lease.task_id.as_str(), &progress.stage);
        self.services.report_event(&TaskEvent::Parked { task, stage, until });
        TaskEnd::Parked { until }
    }

    /// Finishes a task that was cancelled while it had no loop that could handle the command.
    async fn finish_cancelled(&self, progress: &TaskProgress) -> AppResult<TaskEnd> {
        let (status, reason) = (TaskStatus::Cancelled, "cancelled before its next loop started".to_owned());
        self.retry_while_busy(|| self.store.mark_cancel_applied(&self.lease.task_id, Clock::wall_now())).await?;
        self.finish_task(progress, status, &reason, None).await?;
        Ok(TaskEnd::Finished { status, reason, is_agent_failure: false })
    }

    async fn finish_task(
        &self,
        progress: &TaskProgress,
        status: TaskStatus,
        reason: &str,
        failure: Option<&StageFailure>,
    ) -> AppResult<()> {
        let metadata = updated_metadata(&self.task_row.metadata, status, failure);
        let update = TaskProgressUpdate {
            progress,
            status: Some(status),
            metadata: metadata.as_deref(),
            lease_disposition: LeaseDisposition::Release,
        };
        self.advance_task(&update).await?;
        if status != TaskStatus::Todo {
            // No loop follows that could carry them out.
            self.retry_while_busy(|| self.store.expire_task_commands(&self.lease.task_id, Clock::wall_now())).await?;
        }
        let proof = self.store.get_task(&self.lease.task_id).await?.and_then(|row| row.proof);
        let (task, proof) = (self.lease.task_id.as_str(), proof.as_deref());
        self.services.report_event(&TaskEvent::Finished { task, status, reason, failure, proof });
        // A stop must not wait for a landing; the next worker catches up.
        if status == TaskStatus::Done && self.active_tasks.stop_signal().is_none() {
            self.services.land_finished_task(&self.task_row, &self.store, &self.keeper).await;
        }
        Ok(())
    }

    async fn return_lease(&self) -> Result<LeaseRelease, StoreError> {
        self.retry_while_busy(|| self.store.release_lease(&self.lease)).await
    }

    /// Defers a task after an error, and leaves it unchanged.
    async fn defer_after_error(&self, error: &AppError) -> TaskEnd {
        let reason = self.services.describe_error(error);
        if let Ok(LeaseRelease::NotHeld) = self.return_lease().await {
            return TaskEnd::LeaseLost;
        }
        self.report_deferred(reason)
    }

    /// Reports why the task is deferred, unless the same reason was reported before.
    fn report_deferred(&self, reason: String) -> TaskEnd {
        if self.last_deferral_reason.as_ref() != Some(&reason) {
            self.services.report_event(&TaskEvent::Deferred { task: &self.lease.task_id, reason: &reason });
        }
        TaskEnd::Deferred { reason }
    }
}

/// Returns the new metadata of the task, if they change.
pub(crate) fn updated_metadata(before: &str, status: TaskStatus, failure: Option<&StageFailure>) -> Option<String> {
    let mut metadata: Map<String, Value> = serde_json::from_str(before).unwrap_or_default();
    match failure {
        Some(failure) => drop(metadata.insert(FAILURE_METADATA_KEY.to_owned(), json!(failure))),
        None if status == TaskStatus::Done => drop(metadata.remove(FAILURE_METADATA_KEY)?),
        None => return None,
    }
    Some(Value::Object(metadata).to_string())
}

#[cfg(test)]
mod tests {
    use ralph_core::task::Role;

    use super::*;

    // spec: P5
    #[test]
    fn a_failure_is_kept_with_other_metadata_until_the_task_is_done() {
        let failure = StageFailure {
            stage: Role::Coder,
            iterations_used: 15,
            last_output: "no idea".to_owned(),
            reason: "Max iterations reached without completion promise".to_owned(),
        };
        let after = updated_metadata(r#"{"team":"a"}"#, TaskStatus::Todo, Some(&failure)).unwrap();
        let read: Value = serde_json::from_str(&after).unwrap();
        assert_eq!(
            read,
            json!({"team": "a", "ralph_failure": {"stage": "coder", "iterations_used": 15,
                "last_output": "no idea", "reason": "Max iterations reached without completion promise"}})
        );
        assert_eq!(updated_metadata(&after, TaskStatus::Done, None).unwrap(), r#"{"team":"a"}"#);
        assert_eq!(updated_metadata(&after, TaskStatus::Blocked, None), None);
        assert_eq!(updated_metadata("{}", TaskStatus::Done, None), None);
    }
}
