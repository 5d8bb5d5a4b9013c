//! Runs one stage of a task, as a new run or as a resumed one.
use std::sync::Arc;

use ralph_core::attempt::ModelSpend;
use ralph_core::event::UnixMillis;
use ralph_core::outcome::RunEnd;
use ralph_core::pipeline::{TaskProgress, open_rejection};
use ralph_core::receipt::Receipt;

use super::events::TaskEvent;
use super::pause_observer::PauseObserver;
use super::task_runner::TaskRunner;
use crate::error::AppResult;
use crate::run::RebuiltRun;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    self, Clock, ControlInput, ResumedRun, RunContext, RunLease, RunPlan, RunResources, StartMode,
};
use ralph_engine::verify::TaskSeal;
use ralph_store::{LeaseDisposition, RunRow, Store, StoredRun, TakeoverGuard, TaskLease, TaskProgressUpdate};
use ralph_util::failpoints::{self, FailPoint};

/// How a stage ended, and what is kept of it.
pub(super) struct FinishedStage {
    pub(super) ended: RunEnd,
    pub(super) iterations: u32,
    pub(super) last_output: String,
    /// The git tree of the verified files.
    pub(super) verified_tree: Option<String>,
    /// Until when the stage is parked, if it is.
    pub(super) parked_until: Option<UnixMillis>,
}

impl TaskRunner {
    /// Runs the current stage to its end. Resumes it if another worker has started it. Returns `None` if the budget is
    /// exhausted.
    pub(super) async fn run_stage(
        &self,
        progress: &mut TaskProgress,
        tree: &Project,
        task_seal: Option<&TaskSeal>,
    ) -> AppResult<Option<FinishedStage>> {
        if let Some((run, stored)) = self.find_started_run(progress).await? {
            if !stored.state.can_resume() {
                return self.load_finished_stage(&run.id, stored.state.run_end().cloned()).await.map(Some);
            }
            if self.budget.is_exhausted(self.services.as_ref()) {
                return Ok(None);
            }
            return self.resume_stage(run, &stored, tree, task_seal).await.map(Some);
        }
        if self.budget.is_exhausted(self.services.as_ref()) {
            return Ok(None);
        }
        let mut plan = self.services.plan_new_stage(&self.task_row, progress, tree, task_seal)?;
        self.budget.limit_policy(&mut plan.spec.policy, ModelSpend::default());
        plan.spec.policy.rate_limits.parking.is_possible = true;
        plan.spec.policy.protected_rejections = count_protected_rejections(&self.store, &self.lease.task_id).await?;
        if open_rejection(&progress.reports, &progress.stage).is_some() {
            // The work that was sent back is the one that was accepted last.
            plan.spec.acceptance.sent_back_commit = self.store.task_seal(&self.lease.task_id).await?.accepted_commit;
        }
        // A worker that takes over the task from now on finds the run.
        progress.run = Some(plan.context.id.clone());
        self.save_progress(progress).await?;
        self.start_stage(plan, StartMode::New).await.map(Some)
    }

    /// Returns until when the current stage is parked, if it is and that time has not come.
    pub(super) async fn find_parked_stage(&self, progress: &TaskProgress) -> AppResult<Option<UnixMillis>> {
        let started = self.find_started_run(progress).await?;
        let until = started.and_then(|(_, stored)| stored.state.parked_until());
        Ok(until.filter(|until| *until > Clock::wall_now()))
    }

    /// Returns the run of the stage, if it was started.
    async fn find_started_run(&self, progress: &TaskProgress) -> AppResult<Option<(RunRow, StoredRun)>> {
        let Some(id) = &progress.run else { return Ok(None) };
        let Some(row) = self.store.find_runs_by_id_part(id).await?.into_iter().find(|row| row.id == *id) else {
            return Ok(None);
        };
        let stored = self.store.load_run(id).await?;
        Ok(Some((row, stored)))
    }

    async fn resume_stage(
        &self,
        run: RunRow,
        stored: &StoredRun,
        tree: &Project,
        task_seal: Option<&TaskSeal>,
    ) -> AppResult<FinishedStage> {
        let RebuiltRun { mut plan, changes } = self.services.plan_resumed_stage(&run, stored, tree)?;
        plan.context.task_seal = task_seal.cloned();
        let spent_before = stored.state.spent;
        self.budget.limit_policy(&mut plan.spec.policy, spent_before);
        let settings = plan.spec.to_stored_json();
        let settings = settings.map_err(|source| run_driver::EngineError::RunSpec { source })?;
        let lease = RunLease::acquire_under_task_lease(&plan.context, Clock::wall_now()).await?;
        failpoints::reach_fail_point(FailPoint::UnfinishedStageFound);
        let owner = lease.owner().to_json();
        let take_over = || self.store.take_over_run(&run.id, &owner, &settings, TakeoverGuard::HoldsLease(&self.lease));
        let mut stored = self.retry_while_busy(take_over).await?;
        // Only from now on can no other process start anything for this run.
        self.services.kill_leftover_processes(&run.id);
        if !stored.state.can_resume() {
            return self.load_finished_stage(&run.id, stored.state.run_end().cloned()).await;
        }
        self.budget.limit_policy(&mut stored.state.policy, spent_before);
        stored.state.policy.rate_limits.parking.is_possible = true;
        let start_mode = StartMode::Recovered(Box::new(ResumedRun { stored_run: stored, changes }));
        self.drive_stage(plan, start_mode, lease, spent_before).await
    }

    async fn start_stage(&self, plan: RunPlan, start_mode: StartMode) -> AppResult<FinishedStage> {
        let lease = RunLease::acquire_under_task_lease(&plan.context, Clock::wall_now()).await?;
        self.drive_stage(plan, start_mode, lease, ModelSpend::default()).await
    }

    async fn drive_stage(
        &self,
        plan: RunPlan,
        start_mode: StartMode,
        lease: RunLease,
        spent_before: ModelSpend,
    ) -> AppResult<FinishedStage> {
        let plan = with_lease_fence(plan, &self.lease);
        failpoints::reach_fail_point(FailPoint::StageBegins);
        let mut observer = PauseObserver {
            inner: self.services.stage_observer(&plan)?,
            active_tasks: Arc::clone(&self.active_tasks),
            task_id: self.lease.task_id.clone(),
        };
        if let Some(stage) = &plan.spec.stage {
            self.services.report_event(&TaskEvent::StageStarted {
                task: &stage.task,
                stage: &stage.role,
                run: &plan.context.id,
            });
        }
        let id = plan.context.id.clone();
        let control = ControlInput::Channel(self.active_tasks.open_control_channel(&self.lease.task_id, &id));
        let account = Some(self.budget.open_account(&id, spent_before));
        let store = Arc::clone(&self.store);
        let resources = RunResources { keeper: self.keeper.clone(), lease, store, control, cost_account: account };
        let ended = run_driver::run_loop(plan, start_mode, resources, &mut observer).await?;
        self.load_finished_stage(&id, Some(ended)).await
    }

    async fn load_finished_stage(&self, run: &str, ended: Option<RunEnd>) -> AppResult<FinishedStage> {
        let row = self.store.find_runs_by_id_part(run).await?.into_iter().find(|row| row.id == run);
        let iterations = row.map_or(0, |row| u32::try_from(row.iterations).unwrap_or(u32::MAX));
        let ended = ended.unwrap_or_else(|| RunEnd::internal_fault("a stage has no end"));
        let receipt = self.store.receipt_of_run(run).await?;
        let receipt = receipt.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
        let verified = receipt.and_then(|receipt| receipt.input.repository).map(|snapshot| snapshot.tree);
        let parked_until = if ended.is_parked() { self.store.load_run(run).await?.state.parked_until() } else { None };
        Ok(FinishedStage {
            parked_until,
            ended,
            iterations,
            last_output: self.store.last_agent_message(run).await?,
            verified_tree: verified,
        })
    }

    /// Stores the progress of the task, and keeps the lease.
    pub(super) async fn save_progress(&self, progress: &TaskProgress) -> AppResult<()> {
        let update =
            TaskProgressUpdate { progress, status: None, metadata: None, lease_disposition: LeaseDisposition::Keep };
        Ok(self.advance_task(&update).await?)
    }
}

/// Returns how many claims of a task were rejected because of changed protected tests, in all its stages and attempts.
/// Each run starts with the count of the runs before it.
pub(crate) async fn count_protected_rejections(store: &Store, task: &str) -> AppResult<u32> {
    let Some(newest) = store.runs_of_task(task).await?.pop() else { return Ok(0) };
    Ok(store.load_run(&newest.id).await?.state.protected_rejections)
}

/// Adds the fence of the worker's lease to the plan of a stage.
fn with_lease_fence(plan: RunPlan, lease: &TaskLease) -> RunPlan {
    let context = RunContext { lease_fence: Some(lease.fence), ..plan.context };
    RunPlan { context, ..plan }
}
