//! What the worker asks of the command line: plans made of tasks and settings, and somebody to tell.
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use ralph_core::event::StopSignal;
use ralph_core::pipeline::{StageReport, TaskProgress};
use ralph_core::policy::{BaselineMode, Policy};
use ralph_core::task::{Role, TaskStatus};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::args::WorkArgs;
use super::reporter::WorkReporter;
use super::task_worktrees::TaskWorktrees;
use crate::commands::land::{WorkerLandResult, land_task_for_worker};
use crate::commands::resume::{kill_leftover_processes, rebuild_run_plan};
use crate::commands::task::{StagePlan, StageRequest, plan_stage};
use crate::commands::trust;
use crate::error::CommandError;
use ralph_app::config::{LandingMode, Settings, SettingsPart, SettingsUse};
use ralph_app::plan::preflight_resumed_run;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    ControlEvent, ControlInput, RunObserver, RunPlan, STAGE_RUN_KIND, SignalRequest, SuspendRequest,
};
use ralph_engine::scheduler::{AcceptedStage, SetupContext, TaskEvent, TaskServices, WorkAssignment, WorkSummary};
use ralph_engine::worktree::{AcceptanceBase, UnlandedWork};
use ralph_process::Keeper;
use ralph_store::{RunRow, Store, StoredRun, TaskListItem, TaskRow};

pub(super) struct WorkCommandServices {
    args: WorkArgs,
    settings: Settings,
    project: Project,
    worktrees: TaskWorktrees,
    reporter: WorkReporter,
    /// One task is landed at a time.
    landing_lock: Mutex<()>,
    /// Reaches the landing that is going on.
    landing_control: RefCell<Option<UnboundedSender<ControlEvent>>>,
    /// Somebody stopped the worker: nothing more is landed.
    is_stopped: Cell<bool>,
    /// What this worker has caught up on.
    landing_attempts: RefCell<BTreeSet<UnlandedWork>>,
}

impl WorkCommandServices {
    pub(super) fn new(args: WorkArgs, settings: Settings, project: Project) -> Result<Self, CommandError> {
        let teller = WorkReporter::new(&args.output);
        let trees = TaskWorktrees::new(&project)?;
        Ok(Self {
            args,
            settings,
            project,
            worktrees: trees,
            reporter: teller,
            landing_lock: Mutex::default(),
            landing_control: RefCell::default(),
            is_stopped: Cell::default(),
            landing_attempts: RefCell::default(),
        })
    }

    /// Asks for the user's consent before anything is taken, not in the middle of the night.
    pub(super) fn ensure_trust(&self, assignment: &WorkAssignment) -> Result<(), CommandError> {
        let stages = assignment.pipeline.stages();
        let of_roles: Vec<Settings> = stages.iter().map(|role| self.args.for_role(&self.settings, role)).collect();
        let agents = of_roles.iter().map(|settings| settings.agent.value.as_str());
        let used = SettingsUse {
            agents: agents.chain(self.settings.fallback.value.iter().map(String::as_str)).collect(),
            permission: SettingsPart::Used,
            checks: SettingsPart::Used,
            criteria: &[],
            templates: &[],
        };
        trust::ensure_use_approved(&self.project, &self.settings, &used)
    }

    pub(super) fn print_introduction(&self, assignment: &WorkAssignment) {
        self.reporter.print_introduction(assignment, &self.settings);
    }

    pub(super) async fn print_summary(&self, store: &Store, finish: &WorkSummary) -> Result<(), CommandError> {
        self.reporter.print_summary(store, finish).await?;
        if self.settings.pipeline.land.value == LandingMode::Manual {
            self.reporter.print_landing_hint(finish);
        }
        Ok(())
    }
}

impl WorkCommandServices {
    /// Settles what a stage of a task is held to, and whether it can begin here.
    fn plan_task_stage(
        &self,
        row: &TaskRow,
        role: &Role,
        earlier: Vec<StageReport>,
    ) -> Result<StagePlan, CommandError> {
        let settings = self.args.for_role(&self.settings, role);
        let request = StageRequest {
            settings: &settings,
            agent: &self.args.agent,
            audience: self.args.output.audience(),
            role,
            context: self.args.context(),
            max_iterations: None,
            earlier_results: earlier,
        };
        plan_stage(request, row, self.project.clone())
            .map_err(|failure| CommandError { message: format!("{role}: {}", failure.message), ..failure })
    }

    fn forward_to_landing(&self, ask: ControlEvent) {
        if let Some(line) = &*self.landing_control.borrow() {
            // One that has just ended hears nothing.
            let _ = line.send(ask);
        }
    }

    /// Lands a task after all others. Tells whether more can be landed: not once somebody has stopped it.
    async fn land_task(&self, id: &str, store: &Store, keeper: &Keeper) -> bool {
        let _turn = self.landing_lock.lock().await;
        if self.is_stopped.get() {
            return false;
        }
        let (line, asks) = unbounded_channel();
        self.landing_control.replace(Some(line));
        let said = land_task_for_worker((store, &self.project), id, keeper, ControlInput::Channel(asks)).await;
        self.landing_control.replace(None);
        let is_stopped = matches!(said, WorkerLandResult::Stopped(_));
        if is_stopped {
            self.is_stopped.set(true);
        }
        self.reporter.report_landing(id, &said.into_message());
        !is_stopped
    }

    /// Returns the tasks that are done and whose work is not in the user's branch, the oldest first. One that was tried and
    /// could not be landed is tried again when its work or the branch has changed.
    async fn find_unlanded_tasks(&self, named: &[String], store: &Store) -> Result<Vec<String>, CommandError> {
        let left = self.worktrees.list_unlanded().await?;
        if left.is_empty() {
            return Ok(Vec::new());
        }
        let heads = store.list_tasks().await?;
        let is_due = |head: &&TaskListItem| {
            let is_named = named.is_empty() || named.contains(&head.id);
            let work = left.iter().find(|work| work.task_id == head.id);
            head.status == TaskStatus::Done
                && is_named
                && work.is_some_and(|work| self.landing_attempts.borrow_mut().insert(work.clone()))
        };
        Ok(heads.iter().filter(is_due).map(|head| head.id.clone()).collect())
    }
}

impl TaskServices for WorkCommandServices {
    type Error = CommandError;
    type WorkPosition = AcceptanceBase;

    fn check_stages_can_start(&self, row: &TaskRow, ahead: &[Role]) -> Result<(), CommandError> {
        ahead.iter().try_for_each(|role| self.plan_task_stage(row, role, Vec::new()).map(drop))
    }

    fn describe_error(trouble: &CommandError) -> String {
        let hints = trouble.hints.iter().map(|hint| format!("; {hint}"));
        std::iter::once(trouble.to_string()).chain(hints).collect()
    }

    async fn prepare_worktree(&self, row: &TaskRow, with: SetupContext) -> Result<Project, CommandError> {
        let tree = self.worktrees.open_task_worktree(row).await?;
        self.worktrees.set_up_worktree(row, &self.settings.pipeline.setup.value, with).await?;
        Ok(tree)
    }

    async fn read_work_position(&self, row: &TaskRow) -> Result<AcceptanceBase, CommandError> {
        self.worktrees.read_acceptance_base(row).await
    }

    async fn accept_stage(&self, row: &TaskRow, done: AcceptedStage<AcceptanceBase>) -> Result<(), CommandError> {
        self.worktrees.accept_work(row, done).await
    }

    async fn land_finished_task(&self, row: &TaskRow, store: &Store, keeper: &Keeper) {
        match self.settings.pipeline.land.value {
            LandingMode::Manual => {}
            LandingMode::Auto => {
                self.land_task(&row.task.id, store, keeper).await;
                let left = self.worktrees.list_unlanded().await.unwrap_or_default();
                self.landing_attempts.borrow_mut().extend(left.into_iter().filter(|work| work.task_id == row.task.id));
            }
        }
    }

    async fn catch_up_landings(&self, named: &[String], store: &Store, keeper: &Keeper) {
        match self.settings.pipeline.land.value {
            LandingMode::Manual => {}
            LandingMode::Auto => {
                // What cannot be listed cannot be landed either; the tasks at work tell why.
                for id in self.find_unlanded_tasks(named, store).await.unwrap_or_default() {
                    if !self.land_task(&id, store, keeper).await {
                        return;
                    }
                }
            }
        }
    }

    fn plan_new_stage(&self, row: &TaskRow, progress: &TaskProgress, tree: &Project) -> Result<RunPlan, CommandError> {
        let StagePlan { plan, warnings } = self.plan_task_stage(row, &progress.stage, progress.reports.clone())?;
        warnings.iter().for_each(|warning| self.reporter.warn_once(&row.task.id, warning));
        let judge = plan.judge.map(|judge| self.worktrees.with_task_base(row, judge));
        let place = self.worktrees.assigned_worktree(row, &progress.stage);
        // What passes before a later stage shows that the stages before it have done their work, not that a check is empty.
        let baseline = if progress.reports.is_empty() { plan.policy.baseline } else { BaselineMode::Skip };
        let duty = plan.policy.duty.after_stages(&progress.reports);
        let policy = Policy { baseline, duty, ..plan.policy };
        Ok(RunPlan { kind: STAGE_RUN_KIND, project: tree.clone(), judge, own_worktree: place, policy, ..plan })
    }

    fn plan_resumed_stage(
        &self,
        run: &RunRow,
        stored: &StoredRun,
        tree: &Project,
    ) -> Result<(RunPlan, Vec<String>), CommandError> {
        let from = (&self.args.config, self.args.output.audience());
        let (plan, changed) = rebuild_run_plan(from, run, stored, tree.clone())?;
        preflight_resumed_run(&plan)?;
        Ok((plan, changed))
    }

    fn stage_observer(&self, plan: &RunPlan) -> Result<Box<dyn RunObserver>, CommandError> {
        self.reporter.start_stage_reporter(plan)
    }

    fn is_run_driven(&self, run: &str) -> bool {
        !ralph_app::run::is_orphaned(&self.project, run)
    }

    fn kill_leftover_processes(&self, run: &str) {
        kill_leftover_processes(run);
    }

    fn stop_background_work(&self, signal: StopSignal) {
        self.is_stopped.set(true);
        self.forward_to_landing(ControlEvent::Signal(SignalRequest::Stop(signal)));
    }

    fn suspend_background_work(&self, halt: &SuspendRequest) {
        self.forward_to_landing(ControlEvent::Suspend(halt.clone()));
    }

    fn report_event(&self, news: &TaskEvent<'_>) {
        self.reporter.report_event(news);
    }
}
