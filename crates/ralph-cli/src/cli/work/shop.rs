//! What the worker asks of the command line: plans made of tasks and settings, and somebody to tell.
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use ralph_core::event::StopSignal;
use ralph_core::pipeline::{Progress, Said};
use ralph_core::policy::{Baseline, Policy};
use ralph_core::task::{Role, Status};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::args::WorkArgs;
use super::tell::Teller;
use super::trees::Trees;
use crate::cli::land::{InTurn, land_in_turn};
use crate::cli::resume::{plan_again, sweep};
use crate::cli::run::preflight_again;
use crate::cli::task::{StagePlan, StageWanted, stage_plan};
use crate::cli::{pick, trust};
use crate::error::Failure;
use ralph_app::config::{Landing, Part, Settings, Use};
use ralph_engine::engine::{Ask, Asked, Asks, Halt, KIND_STAGE, RunPlan, Watcher};
use ralph_engine::project::Project;
use ralph_engine::tree::{NotLanded, Standing};
use ralph_engine::work::{Assignment, Done, Finish, Fitting, News, Workshop};
use ralph_process::Keeper;
use ralph_store::{RunRow, Store, StoredRun, TaskHead, TaskRow};

pub(super) struct Shop {
    args: WorkArgs,
    settings: Settings,
    project: Project,
    trees: Trees,
    teller: Teller,
    /// One task is landed at a time.
    queue: Mutex<()>,
    /// Reaches the landing that is going on.
    landing: RefCell<Option<UnboundedSender<Ask>>>,
    /// Somebody stopped the worker: nothing more is landed.
    is_stopped: Cell<bool>,
    /// What this worker has caught up on.
    tried: RefCell<BTreeSet<NotLanded>>,
}

impl Shop {
    pub(super) fn new(args: WorkArgs, settings: Settings, project: Project) -> Result<Self, Failure> {
        let teller = Teller::new(&args.output);
        let trees = Trees::of(&project)?;
        Ok(Self {
            args,
            settings,
            project,
            trees,
            teller,
            queue: Mutex::default(),
            landing: RefCell::default(),
            is_stopped: Cell::default(),
            tried: RefCell::default(),
        })
    }

    /// Asks for the user's consent before anything is taken, not in the middle of the night.
    pub(super) fn ensure_trust(&self, assignment: &Assignment) -> Result<(), Failure> {
        let stages = assignment.pipeline.stages();
        let of_roles: Vec<Settings> =
            stages.iter().map(|role| self.args.for_role(&self.settings, role)).collect();
        let agents = of_roles.iter().map(|settings| settings.agent.value.as_str());
        let used = Use {
            agents: agents.chain(self.settings.fallback.value.iter().map(String::as_str)).collect(),
            permission: Part::Used,
            checks: Part::Used,
            criteria: &[],
            templates: &[],
        };
        trust::ensure_use(&self.project, &self.settings, &used)
    }

    pub(super) fn introduce(&self, assignment: &Assignment) {
        self.teller.introduce(assignment, &self.settings);
    }

    pub(super) async fn summarise(&self, store: &Store, finish: &Finish) -> Result<(), Failure> {
        self.teller.summarise(store, finish).await?;
        if self.settings.pipeline.land.value == Landing::Manual {
            self.teller.to_land(finish);
        }
        Ok(())
    }
}

impl Shop {
    /// Settles what a stage of a task is held to, and whether it can begin here.
    fn stage(&self, row: &TaskRow, role: &Role, earlier: Vec<Said>) -> Result<StagePlan, Failure> {
        let settings = self.args.for_role(&self.settings, role);
        let wanted = StageWanted {
            settings: &settings,
            agent: &self.args.agent,
            audience: self.args.output.audience(),
            role,
            context: self.args.context(),
            max_iterations: None,
            earlier,
        };
        stage_plan(wanted, row, self.project.clone())
            .map_err(|failure| Failure { message: format!("{role}: {}", failure.message), ..failure })
    }

    fn pass_on(&self, ask: Ask) {
        if let Some(line) = &*self.landing.borrow() {
            // One that has just ended hears nothing.
            let _ = line.send(ask);
        }
    }

    /// Lands a task after all others. Tells whether more can be landed: not once somebody has stopped it.
    async fn land(&self, id: &str, store: &Store, keeper: &Keeper) -> bool {
        let _turn = self.queue.lock().await;
        if self.is_stopped.get() {
            return false;
        }
        let (line, asks) = unbounded_channel();
        self.landing.replace(Some(line));
        let said = land_in_turn((store, &self.project), id, keeper, Asks::Passed(asks)).await;
        self.landing.replace(None);
        let is_stopped = matches!(said, InTurn::Stopped(_));
        if is_stopped {
            self.is_stopped.set(true);
        }
        self.teller.landed(id, &said.told());
        !is_stopped
    }

    /// Returns the tasks that are done and whose work is not in the user's branch, the oldest first. One that was tried and
    /// could not be landed is tried again when its work or the branch has changed.
    async fn left_to_land(&self, named: &[String], store: &Store) -> Result<Vec<String>, Failure> {
        let left = self.trees.not_landed().await?;
        if left.is_empty() {
            return Ok(Vec::new());
        }
        let heads = store.tasks().await?;
        let is_due = |head: &&TaskHead| {
            let is_named = named.is_empty() || named.contains(&head.id);
            let work = left.iter().find(|work| work.name == head.id);
            head.status == Status::Done
                && is_named
                && work.is_some_and(|work| self.tried.borrow_mut().insert(work.clone()))
        };
        Ok(heads.iter().filter(is_due).map(|head| head.id.clone()).collect())
    }
}

impl Workshop for Shop {
    type Trouble = Failure;
    type Standing = Standing;

    fn refuse(&self, row: &TaskRow, ahead: &[Role]) -> Result<(), Failure> {
        ahead.iter().try_for_each(|role| self.stage(row, role, Vec::new()).map(drop))
    }

    fn reason(trouble: &Failure) -> String {
        let hints = trouble.hints.iter().map(|hint| format!("; {hint}"));
        std::iter::once(trouble.to_string()).chain(hints).collect()
    }

    async fn tree(&self, row: &TaskRow, with: Fitting) -> Result<Project, Failure> {
        let tree = self.trees.of_task(row).await?;
        self.trees.set_up(row, &self.settings.pipeline.setup.value, with).await?;
        Ok(tree)
    }

    async fn standing(&self, row: &TaskRow) -> Result<Standing, Failure> {
        self.trees.standing(row).await
    }

    async fn accept(&self, row: &TaskRow, done: Done<Standing>) -> Result<(), Failure> {
        self.trees.accept(row, done).await
    }

    async fn deliver(&self, row: &TaskRow, store: &Store, keeper: &Keeper) {
        match self.settings.pipeline.land.value {
            Landing::Manual => {}
            Landing::Auto => {
                self.land(&row.task.id, store, keeper).await;
                let left = self.trees.not_landed().await.unwrap_or_default();
                self.tried.borrow_mut().extend(left.into_iter().filter(|work| work.name == row.task.id));
            }
        }
    }

    async fn catch_up(&self, named: &[String], store: &Store, keeper: &Keeper) {
        match self.settings.pipeline.land.value {
            Landing::Manual => {}
            Landing::Auto => {
                // What cannot be listed cannot be landed either; the tasks at work tell why.
                for id in self.left_to_land(named, store).await.unwrap_or_default() {
                    if !self.land(&id, store, keeper).await {
                        return;
                    }
                }
            }
        }
    }

    fn plan(&self, row: &TaskRow, progress: &Progress, tree: &Project) -> Result<RunPlan, Failure> {
        let StagePlan { plan, warnings } = self.stage(row, &progress.stage, progress.said.clone())?;
        warnings.iter().for_each(|warning| self.teller.warn(&row.task.id, warning));
        let judge = plan.judge.map(|judge| self.trees.judged(row, judge));
        let place = self.trees.workplace(row, &progress.stage);
        // What passes before a later stage shows that the stages before it have done their work, not that a check is empty.
        let baseline = if progress.said.is_empty() { plan.policy.baseline } else { Baseline::Skip };
        let duty = plan.policy.duty.following(&progress.said);
        let policy = Policy { baseline, duty, ..plan.policy };
        Ok(RunPlan { kind: KIND_STAGE, project: tree.clone(), judge, tree: place, policy, ..plan })
    }

    fn plan_again(
        &self,
        run: &RunRow,
        stored: &StoredRun,
        tree: &Project,
    ) -> Result<(RunPlan, Vec<String>), Failure> {
        let from = (&self.args.config, self.args.output.audience());
        let (plan, changed) = plan_again(from, run, stored, tree.clone())?;
        preflight_again(&plan)?;
        Ok((plan, changed))
    }

    fn watcher(&self, plan: &RunPlan) -> Result<Box<dyn Watcher>, Failure> {
        self.teller.watcher(plan)
    }

    fn is_driven(&self, run: &str) -> bool {
        !pick::is_cut_short(&self.project, run)
    }

    fn sweep(&self, run: &str) {
        sweep(run);
    }

    fn stop(&self, signal: StopSignal) {
        self.is_stopped.set(true);
        self.pass_on(Ask::Signal(Asked::Stop(signal)));
    }

    fn halt(&self, halt: &Halt) {
        self.pass_on(Ask::Halt(halt.clone()));
    }

    fn tell(&self, news: &News<'_>) {
        self.teller.news(news);
    }
}
