//! Services for the tasks of a worker: work trees, plans of stages, landings.
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::event::StopSignal;
use ralph_core::pipeline::{StageReport, TaskProgress};
use ralph_core::policy::{BaselineMode, ContextMode, MinimumProof, Policy};
use ralph_core::task::{Role, TaskStatus};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    ControlEvent, ControlInput, OutputVisibility, RunContext, RunObserver, RunPlan, RunSpec, STAGE_RUN_KIND,
    SignalRequest, SuspendRequest,
};
use ralph_engine::verify::{AcceptancePolicy, TaskSeal};
use ralph_engine::worktree::{AcceptanceBase, UnlandedWork};
use ralph_process::Keeper;
use ralph_store::{RunRow, Store, StoredRun, TaskListItem, TaskRow};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::events::{TaskEvent, WorkObserver};
use super::task_worktrees::TaskWorktrees;
use super::worker::WorkAssignment;
use super::worktree_setup::SetupContext;
use crate::config::{ConfigSource, LandingMode, Settings, SettingsPart, SettingsUse};
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::landing::{LandLockWaiter, LandResult, LandingContext};
use crate::plan::{StagePlan, StageRequest, plan_stage, preflight_resumed_run};
use crate::run::{RebuiltRun, ResumeRequest, is_orphaned, kill_leftover_processes};
use crate::trust::ensure_use_approved;

/// Returns the settings of a role from those for all roles.
pub type RoleSettingsSource = Box<dyn Fn(&Settings, &Role) -> Settings + Send + Sync>;

/// The settings and interfaces of a worker, in addition to its assignment.
pub struct WorkRequest {
    pub project: Project,
    pub config: ConfigSource,
    /// The settings for all roles.
    pub settings: Settings,
    /// Returns the settings of a role, with those of the request on top.
    pub settings_for_role: RoleSettingsSource,
    /// Additional arguments for the agents.
    pub extra_agent_args: Vec<String>,
    pub visibility: OutputVisibility,
    pub context: ContextMode,
    pub person: Box<dyn Interaction + Send>,
    pub observer: Arc<dyn WorkObserver>,
}

/// The accepted work of a stage.
#[derive(Debug)]
pub(super) struct AcceptedStage {
    /// Where the branch was before the stage.
    pub(super) position_before: AcceptanceBase,
    pub(super) stage: Role,
    /// The git tree of the verified files, if it is known.
    pub(super) verified_tree: Option<String>,
}

pub struct WorkServices {
    request: WorkRequest,
    worktrees: TaskWorktrees,
    /// One task is landed at a time.
    landing_lock: tokio::sync::Mutex<()>,
    /// Reaches the landing in progress.
    landing_control: Mutex<Option<UnboundedSender<ControlEvent>>>,
    /// The worker was stopped: nothing more is landed.
    is_stopped: AtomicBool,
    /// The work that this worker has tried to land.
    landing_attempts: Mutex<BTreeSet<UnlandedWork>>,
}

impl WorkServices {
    pub fn new(request: WorkRequest) -> AppResult<Self> {
        let worktrees = TaskWorktrees::new(&request.project)?;
        Ok(Self {
            request,
            worktrees,
            landing_lock: tokio::sync::Mutex::default(),
            landing_control: Mutex::default(),
            is_stopped: AtomicBool::default(),
            landing_attempts: Mutex::default(),
        })
    }

    /// Asks for approval of the project's commands before any task is leased, while a person can still answer.
    pub fn ensure_trust(&self, assignment: &WorkAssignment) -> AppResult<()> {
        let settings = &self.request.settings;
        let role_settings: Vec<Settings> =
            assignment.pipeline.stages().iter().map(|role| self.settings_for_role(role)).collect();
        let agents = role_settings.iter().map(|settings| settings.agent.value.as_str());
        let used = SettingsUse {
            agents: agents.chain(settings.fallback.value.iter().map(String::as_str)).collect(),
            permission: SettingsPart::Used,
            checks: SettingsPart::Used,
            criteria: &[],
            templates: &[],
        };
        ensure_use_approved(&self.request.project, settings, &used, self.request.person.as_ref())
    }

    fn settings_for_role(&self, role: &Role) -> Settings {
        (self.request.settings_for_role)(&self.request.settings, role)
    }

    pub(super) fn wrap_observer(&mut self, wrap: impl FnOnce(Arc<dyn WorkObserver>) -> Arc<dyn WorkObserver>) {
        self.request.observer = wrap(Arc::clone(&self.request.observer));
    }

    pub(super) fn report_event(&self, event: &TaskEvent<'_>) {
        self.request.observer.on_task_event(event);
    }

    pub(super) fn stage_observer(&self, plan: &RunPlan) -> AppResult<Box<dyn RunObserver>> {
        self.request.observer.stage_observer(plan)
    }

    pub(super) fn describe_error(&self, error: &AppError) -> String {
        self.request.observer.describe_error(error)
    }

    /// Returns whether another process drives a run without holding the lease of its task.
    pub(super) fn is_run_driven(&self, run: &str) -> bool {
        !is_orphaned(&self.request.project, run)
    }

    /// Kills what a dead or stopped driver of a run left running.
    pub(super) fn kill_leftover_processes(&self, run: &str) {
        kill_leftover_processes(run, self.request.person.as_ref());
    }
}

/// Plans of stages.
impl WorkServices {
    /// Refuses a task if one of these stages could not start, before anything is created for it or spent on it.
    pub(super) fn check_stages_can_start(&self, row: &TaskRow, ahead: &[Role]) -> AppResult<()> {
        ahead.iter().try_for_each(|role| self.plan_task_stage(row, role, Vec::new()).map(drop))
    }

    pub(super) fn plan_task_stage(
        &self,
        row: &TaskRow,
        role: &Role,
        earlier_results: Vec<StageReport>,
    ) -> AppResult<StagePlan> {
        let settings = self.settings_for_role(role);
        let request = StageRequest {
            settings: &settings,
            extra_agent_args: self.request.extra_agent_args.clone(),
            visibility: self.request.visibility,
            role,
            context: self.request.context,
            max_iterations: None,
            earlier_results,
        };
        plan_stage(request, row, self.request.project.clone(), self.request.person.as_ref())
            .map_err(|error| AppError { message: format!("{role}: {}", error.message), ..error })
    }

    /// Plans a stage that starts.
    pub(super) fn plan_new_stage(
        &self,
        row: &TaskRow,
        progress: &TaskProgress,
        tree: &Project,
        task_seal: Option<&TaskSeal>,
    ) -> AppResult<RunPlan> {
        let StagePlan { plan, warnings } = self.plan_task_stage(row, &progress.stage, progress.reports.clone())?;
        warnings.iter().for_each(|warning| self.request.observer.on_warning(&row.task.id, warning));
        let RunPlan { spec, context } = match self.worktrees.task_base(row) {
            Some(base) => plan.with_judge_base(base),
            None => plan,
        };
        // A check that passes before a later stage shows that earlier stages did their work, not that it is empty. The
        // baseline of the task was run before all stages.
        let is_before_work = progress.reports.is_empty() || task_seal.is_some();
        let baseline = if is_before_work { spec.policy.baseline } else { BaselineMode::Skip };
        // Without a baseline no claim can be proven: the proof comes from the stage that did the work.
        let required_proof = match baseline {
            BaselineMode::Run => spec.policy.required_proof,
            BaselineMode::Skip => MinimumProof::Any,
        };
        let duty = spec.policy.duty.after_stages(&progress.reports);
        let accepted_by_person = progress.accepted_by_person.clone();
        let acceptance = AcceptancePolicy { accepted_by_person, ..spec.acceptance };
        let spec = RunSpec { policy: Policy { baseline, required_proof, duty, ..spec.policy }, acceptance, ..spec };
        let task_seal = task_seal.cloned();
        let context = RunContext { kind: STAGE_RUN_KIND, project: tree.clone(), task_seal, ..context };
        let plan = RunPlan { spec, context };
        Ok(match self.worktrees.assigned_worktree(row, &progress.stage) {
            Some(assigned) => plan.with_own_worktree(assigned),
            None => plan,
        })
    }

    /// Plans a stage that is resumed.
    pub(super) fn plan_resumed_stage(&self, run: &RunRow, stored: &StoredRun, tree: &Project) -> AppResult<RebuiltRun> {
        let request = ResumeRequest {
            config: &self.request.config,
            visibility: self.request.visibility,
            person: self.request.person.as_ref(),
        };
        let rebuilt = request.rebuild_plan(run, stored, tree)?;
        preflight_resumed_run(&rebuilt.plan)?;
        Ok(rebuilt)
    }
}

/// Work trees.
impl WorkServices {
    /// Creates or opens the work tree of a task and sets it up. The returned project has it as its root.
    pub(super) async fn prepare_worktree(&self, row: &TaskRow, context: SetupContext) -> AppResult<Project> {
        let tree = self.worktrees.open_task_worktree(row).await?;
        let commands = &self.request.settings.pipeline.setup.value;
        if !commands.is_empty() {
            // A worker that died or sleeps may have started them.
            self.kill_leftover_processes(&self.worktrees.setup_run_id(row));
            self.worktrees.set_up_worktree(row, commands, context).await?;
        }
        Ok(tree)
    }

    /// Returns the run id that marks the processes which start before the first stage of a task.
    pub(super) fn setup_run_id(&self, row: &TaskRow) -> String {
        self.worktrees.setup_run_id(row)
    }

    /// Returns the commit from which the work on a task started, if its work tree is open.
    pub(super) fn task_base(&self, row: &TaskRow) -> Option<String> {
        self.worktrees.task_base(row)
    }

    /// Reads where the branch of a task is.
    pub(super) async fn read_work_position(&self, row: &TaskRow) -> AppResult<AcceptanceBase> {
        self.worktrees.read_acceptance_base(row).await
    }

    /// Moves the branch to the work of a stage, and returns its commit. If the branch has moved meanwhile, another worker has
    /// the task, and nothing changes.
    pub(super) async fn accept_stage(&self, row: &TaskRow, accepted: AcceptedStage) -> AppResult<String> {
        self.worktrees.accept_work(row, accepted).await
    }
}

/// Landings.
impl WorkServices {
    /// Lands a task that is done, if the settings say so. The result is reported and does not change the task.
    pub(super) async fn land_finished_task(&self, row: &TaskRow, store: &Store, keeper: &Keeper) {
        match self.request.settings.pipeline.land.value {
            LandingMode::Manual => {}
            LandingMode::Auto => {
                self.land_task(&row.task.id, store, keeper).await;
                let left = self.worktrees.list_unlanded().await.unwrap_or_default();
                let of_task = left.into_iter().filter(|work| work.task_id == row.task.id);
                self.landing_attempts.lock().unwrap_or_else(PoisonError::into_inner).extend(of_task);
            }
        }
    }

    /// Lands finished tasks whose worker died or was stopped before it could: the named ones, or all.
    pub(super) async fn catch_up_landings(&self, named: &[String], store: &Store, keeper: &Keeper) {
        match self.request.settings.pipeline.land.value {
            LandingMode::Manual => {}
            LandingMode::Auto => {
                // If they cannot be listed they cannot be landed either; the tasks in progress report the reason.
                for id in self.find_unlanded_tasks(named, store).await.unwrap_or_default() {
                    if !self.land_task(&id, store, keeper).await {
                        return;
                    }
                }
            }
        }
    }

    /// The worker stops: no other landing starts, and the one in progress ends.
    pub(super) fn stop_background_work(&self, signal: StopSignal) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.forward_to_landing(ControlEvent::Signal(SignalRequest::Stop(signal)));
    }

    /// The process is about to be suspended: so is the landing in progress.
    pub(super) fn suspend_background_work(&self, request: &SuspendRequest) {
        self.forward_to_landing(ControlEvent::Suspend(request.clone()));
    }

    fn forward_to_landing(&self, event: ControlEvent) {
        if let Some(sender) = &*self.landing_control.lock().unwrap_or_else(PoisonError::into_inner) {
            // A landing that has just ended receives nothing.
            let _ = sender.send(event);
        }
    }

    fn set_landing_control(&self, sender: Option<UnboundedSender<ControlEvent>>) {
        *self.landing_control.lock().unwrap_or_else(PoisonError::into_inner) = sender;
    }

    /// Lands a task after those before it. Returns whether more can be landed: not after a stop.
    async fn land_task(&self, id: &str, store: &Store, keeper: &Keeper) -> bool {
        let _turn = self.landing_lock.lock().await;
        if self.is_stopped.load(Ordering::Relaxed) {
            return false;
        }
        let (sender, receiver) = unbounded_channel();
        self.set_landing_control(Some(sender));
        let person = self.request.person.as_ref();
        let context = LandingContext { store, project: &self.request.project, keeper, person };
        let mut lock_waiter = LandLockWaiter::with_timeout(ControlInput::Channel(receiver));
        let result = context.land_task(id, &mut lock_waiter).await;
        self.set_landing_control(None);
        let is_stopped = matches!(result, Ok(LandResult::Stopped(_)));
        if is_stopped {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        self.request.observer.on_landing(id, &result);
        !is_stopped
    }

    /// Returns the finished tasks whose work is not in the user's branch, oldest first. One that could not be landed is tried
    /// again when its work or the branch has changed.
    async fn find_unlanded_tasks(&self, named: &[String], store: &Store) -> AppResult<Vec<String>> {
        let unlanded = self.worktrees.list_unlanded().await?;
        if unlanded.is_empty() {
            return Ok(Vec::new());
        }
        let tasks = store.list_tasks().await?;
        let mut attempts = self.landing_attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_due = |task: &TaskListItem| {
            let is_named = named.is_empty() || named.contains(&task.id);
            let work = unlanded.iter().find(|work| work.task_id == task.id);
            task.status == TaskStatus::Done && is_named && work.is_some_and(|work| attempts.insert(work.clone()))
        };
        Ok(tasks.iter().filter(|task| is_due(task)).map(|task| task.id.clone()).collect())
    }
}
