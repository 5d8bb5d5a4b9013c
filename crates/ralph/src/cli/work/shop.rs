//! What the worker asks of the command line: plans made of tasks and settings, and somebody to tell.
use ralph_core::pipeline::Progress;
use ralph_core::policy::{Baseline, Policy};
use ralph_core::task::Role;
use tokio::sync::Mutex;

use super::args::WorkArgs;
use super::tell::Teller;
use super::trees::Trees;
use crate::cli::land::land_in_turn;
use crate::cli::resume::{plan_again, sweep};
use crate::cli::run::preflight_again;
use crate::cli::task::{StagePlan, StageWanted, stage_plan};
use crate::cli::{pick, trust};
use crate::config::{Landing, Part, Settings, Use};
use crate::engine::{KIND_STAGE, RunPlan, Watcher};
use crate::error::Failure;
use crate::process::Keeper;
use crate::project::Project;
use crate::store::{RunRow, Store, StoredRun, TaskRow};
use crate::tree::Standing;
use crate::work::{Assignment, Finish, News, Workshop};

pub(super) struct Shop {
    args: WorkArgs,
    settings: Settings,
    project: Project,
    trees: Trees,
    teller: Teller,
    /// One task is landed at a time.
    queue: Mutex<()>,
}

impl Shop {
    pub(super) fn new(args: WorkArgs, settings: Settings, project: Project) -> Result<Self, Failure> {
        let teller = Teller::new(&args.output);
        let trees = Trees::of(&project)?;
        Ok(Self { args, settings, project, trees, teller, queue: Mutex::default() })
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
        self.teller.summarise(store, finish).await
    }
}

impl Workshop for Shop {
    type Trouble = Failure;
    type Standing = Standing;

    async fn tree(&self, row: &TaskRow, keeper: &Keeper) -> Result<Project, Failure> {
        let tree = self.trees.of_task(row).await?;
        self.trees.set_up(row, &self.settings.pipeline.setup.value, keeper).await?;
        Ok(tree)
    }

    async fn standing(&self, row: &TaskRow) -> Result<Standing, Failure> {
        self.trees.standing(row).await
    }

    async fn accept(
        &self,
        row: &TaskRow,
        from: Standing,
        stage: &Role,
        verified: Option<&str>,
    ) -> Result<(), Failure> {
        self.trees.accept(row, from, stage, verified).await
    }

    async fn deliver(&self, row: &TaskRow, store: &Store, keeper: &Keeper) {
        match self.settings.pipeline.land.value {
            Landing::Manual => {}
            Landing::Auto => {
                let id = &row.task.id;
                let _turn = self.queue.lock().await;
                let said = land_in_turn(store, &self.project, id, keeper).await;
                self.teller.landed(id, &said);
            }
        }
    }

    fn plan(&self, row: &TaskRow, progress: &Progress, tree: &Project) -> Result<RunPlan, Failure> {
        let settings = self.args.for_role(&self.settings, &progress.stage);
        let wanted = StageWanted {
            settings: &settings,
            agent: &self.args.agent,
            audience: self.args.output.audience(),
            role: &progress.stage,
            context: self.args.context(),
            lacking: self.args.lacking(),
            max_iterations: None,
            earlier: progress.said.clone(),
        };
        let StagePlan { plan, warnings } = stage_plan(wanted, row, self.project.clone())?;
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

    fn tell(&self, news: &News<'_>) {
        self.teller.news(news);
    }
}
