//! Where the steps of a loop are recorded: the journal that a loop runner needs, and the one in the store.
use std::sync::Arc;

use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;

use crate::run_driver::plan::run_plan::RunPlan;
use ralph_store::{CommandAnswer, CommandsForNextStage, FIRST_FENCE, NewRun, NewStage, StepRecord, Store, StoreError};

/// Records the steps of one loop.
pub trait StepJournal: Send {
    /// Stores all of a step or nothing of it. After an error, the same step may be recorded again.
    fn record_step(&mut self, step: &JournalStep<'_>) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// The facts of a step, and the state after it.
#[derive(Debug)]
pub struct JournalStep<'a> {
    /// The sequence number of the first fact.
    pub first_seq: i64,
    pub at: UnixMillis,
    pub facts: &'a [&'a Fact],
    /// The ids of the commands that this step answers, with the results.
    pub answered_commands: &'a [(&'a str, CommandAnswer)],
    pub state: &'a LoopState,
}

/// The journal of a run in the store. The first step of a new run also stores the run.
pub struct StoreJournal {
    store: Arc<Store>,
    plan: Arc<RunPlan>,
    fence: i64,
    new_run: Option<NewRunData>,
}

/// Data that is stored only with the first step of a run.
struct NewRunData {
    settings: String,
    owner: String,
}

impl StoreJournal {
    /// Returns the journal of a run that is not stored yet. `owner` describes this process.
    pub fn for_new_run(store: Arc<Store>, plan: Arc<RunPlan>, owner: String) -> Result<Self, serde_json::Error> {
        let settings = plan.spec.to_stored_json()?;
        Ok(Self { store, plan, fence: FIRST_FENCE, new_run: Some(NewRunData { settings, owner }) })
    }

    /// Returns the journal of a stored run that this process has taken over with this fence.
    #[must_use]
    pub fn for_stored_run(store: Arc<Store>, plan: Arc<RunPlan>, fence: i64) -> Self {
        Self { store, plan, fence, new_run: None }
    }

    /// Returns whether the next step also stores the run.
    #[must_use]
    pub fn is_new_run(&self) -> bool {
        self.new_run.is_some()
    }

    /// Stores a step, and the run with its first step.
    async fn store_step(&self, entry: &StepRecord<'_>) -> Result<(), StoreError> {
        let Some(NewRunData { settings, owner }) = &self.new_run else { return self.store.record_step(entry).await };
        let RunPlan { spec, context } = self.plan.as_ref();
        let new_run = NewRun {
            kind: context.kind,
            agent: &context.agent.name,
            promise: spec.claim_rules.promise.as_str(),
            settings,
            owner,
            stage: spec.stage.as_ref().map(|stage| NewStage {
                task: &stage.task,
                role: &stage.role,
                lease_fence: context.lease_fence,
            }),
            workflow: spec.workflow_node.as_ref().map(|node| node.run.as_str()),
        };
        self.store.insert_run(&new_run, entry).await
    }
}

impl StepJournal for StoreJournal {
    async fn record_step(&mut self, step: &JournalStep<'_>) -> Result<(), StoreError> {
        let JournalStep { first_seq, at, facts, answered_commands, state } = *step;
        let stage = self.plan.spec.stage.as_ref();
        // The next stage of the task gets the guidance that this run has not delivered, and the pause that it has not
        // reached. A run that a person started has no next stage.
        let is_followed = self.plan.context.lease_fence.is_some();
        let for_next_stage = stage.map(|stage| CommandsForNextStage {
            task: &stage.task,
            guidance: state.undelivered_guidance(),
            pauses: is_followed && state.has_unreached_pause(),
        });
        let (run, fence) = (self.plan.context.id.as_str(), self.fence);
        let entry = StepRecord { run, fence, first_seq, at, facts, answered_commands, for_next_stage, state };
        self.store_step(&entry).await?;
        self.new_run = None;
        Ok(())
    }
}
