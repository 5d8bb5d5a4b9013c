//! One stage of a task: a run of its own, begun or gone on with.
use std::rc::Rc;
use std::sync::Arc;

use ralph_core::attempt::Spend;
use ralph_core::outcome::Ended;
use ralph_core::pipeline::Progress;
use ralph_core::receipt::Receipt;

use super::pausing::Pausing;
use super::shop::{News, Workshop};
use super::task::Work;
use crate::engine::{self, Asks, Beginning, Clock, Hold, Means, RunPlan, RunSettings, StageOf, TakenUp};
use crate::project::Project;
use ralph_store::{Advance, Claim, Keeping, Right, RunRow, StoredRun};
use ralph_util::fail::{self, Point};

/// How a stage ended, with what is kept of it.
pub(super) struct Told {
    pub(super) ended: Ended,
    pub(super) iterations: u32,
    pub(super) last_output: String,
    /// The tree of the files that were verified.
    pub(super) verified: Option<String>,
}

impl<W: Workshop> Work<W> {
    /// Drives the stage that the progress names to its end. One that another worker left is gone on with. `None`: there is no
    /// money for it.
    pub(super) async fn stage(
        &self,
        progress: &mut Progress,
        tree: &Project,
    ) -> Result<Option<Told>, W::Trouble> {
        if let Some((run, stored)) = self.begun(progress).await? {
            if !stored.state.can_go_on() {
                return self.told(&run.id, stored.state.ended().cloned()).await.map(Some);
            }
            if self.purse.is_empty_for_more(self.shop.as_ref()) {
                return Ok(None);
            }
            return self.go_on(run, &stored, tree).await.map(Some);
        }
        if self.purse.is_empty_for_more(self.shop.as_ref()) {
            return Ok(None);
        }
        let mut plan = self.shop.plan(&self.row, progress, tree)?;
        self.purse.limit(&mut plan.policy, Spend::default());
        // Who takes the task from here on knows which run to look for.
        progress.run = Some(plan.id.clone());
        self.keep(progress).await?;
        self.drive(plan, Beginning::New).await.map(Some)
    }

    /// Returns the run of the stage, if it was begun.
    async fn begun(&self, progress: &Progress) -> Result<Option<(RunRow, StoredRun)>, W::Trouble> {
        let Some(id) = &progress.run else { return Ok(None) };
        let Some(row) = self.store.runs_like(id).await?.into_iter().find(|row| row.id == *id) else {
            return Ok(None);
        };
        let stored = self.store.stored(id).await?;
        Ok(Some((row, stored)))
    }

    async fn go_on(&self, run: RunRow, stored: &StoredRun, tree: &Project) -> Result<Told, W::Trouble> {
        let (mut plan, changed) = self.shop.plan_again(&run, stored, tree)?;
        let before = stored.state.spent;
        self.purse.limit(&mut plan.policy, before);
        let settings = RunSettings::of(&plan).json();
        let settings = settings.map_err(|source| engine::EngineError::Settings { source })?;
        let hold = Hold::leased(&plan, Clock::wall()).await?;
        fail::point(Point::StageLeftFound);
        let owner = hold.owner().json();
        let take_over =
            async || self.store.take_over(&run.id, &owner, &settings, Right::Has(&self.claim)).await;
        let mut stored = self.bear(take_over).await?;
        // Only now can nobody else start anything for this run.
        self.shop.sweep(&run.id);
        if !stored.state.can_go_on() {
            return self.told(&run.id, stored.state.ended().cloned()).await;
        }
        self.purse.limit(&mut stored.state.policy, before);
        self.held(plan, Beginning::Left(Box::new(TakenUp { stored, changed })), (hold, before)).await
    }

    async fn drive(&self, plan: RunPlan, from: Beginning) -> Result<Told, W::Trouble> {
        let hold = Hold::leased(&plan, Clock::wall()).await?;
        self.held(plan, from, (hold, Spend::default())).await
    }

    async fn held(
        &self,
        plan: RunPlan,
        from: Beginning,
        (hold, before): (Hold, Spend),
    ) -> Result<Told, W::Trouble> {
        let plan = leased(plan, &self.claim);
        fail::point(Point::StageBegins);
        let (desk, task) = (Rc::clone(&self.desk), self.claim.task.clone());
        let mut watcher = Pausing { watcher: self.shop.watcher(&plan)?, desk, task };
        if let Some(stage) = &plan.stage {
            self.shop.tell(&News::Stage { task: &stage.task, stage: &stage.role, run: &plan.id });
        }
        let id = plan.id.clone();
        let asks = Asks::Passed(self.desk.line(&self.claim.task, &id));
        let account = Some(self.purse.account(&id, before));
        let store = Arc::clone(&self.store);
        let means = Means { keeper: self.keeper.clone(), hold, store, asks, account };
        let ended = engine::run(plan, from, means, &mut watcher).await?;
        self.told(&id, Some(ended)).await
    }

    async fn told(&self, run: &str, ended: Option<Ended>) -> Result<Told, W::Trouble> {
        let row = self.store.runs_like(run).await?.into_iter().find(|row| row.id == run);
        let iterations = row.map_or(0, |row| u32::try_from(row.iterations).unwrap_or(u32::MAX));
        let ended = ended.unwrap_or_else(|| Ended::faulted("a stage has no end"));
        let receipt = self.store.receipt(run).await?;
        let receipt = receipt.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
        let verified = receipt.and_then(|receipt| receipt.given.repository).map(|seen| seen.tree);
        Ok(Told { ended, iterations, last_output: self.store.last_words(run).await?, verified })
    }

    /// Stores how far the task is, and keeps it.
    pub(super) async fn keep(&self, progress: &Progress) -> Result<(), W::Trouble> {
        let to = Advance { progress, status: None, metadata: None, lease: Keeping::Kept };
        Ok(self.advance(&to).await?)
    }
}

/// Puts the number under which the worker has the task into a plan.
fn leased(plan: RunPlan, claim: &Claim) -> RunPlan {
    let stage = plan.stage.clone().map(|stage| StageOf { lease: Some(claim.fence), ..stage });
    RunPlan { stage, ..plan }
}
