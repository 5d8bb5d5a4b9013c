//! A run with one fact per step, for the tests of this crate.
use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::policy::Policy;

use crate::{FIRST_FENCE, NewRun, NewStage, StepRecord, Store, StoreError};

/// The next step of a run.
pub(crate) struct TestRun<'a> {
    id: &'a str,
    step: u32,
    fence: i64,
    stage: Option<NewStage<'a>>,
}

impl<'a> TestRun<'a> {
    pub(crate) fn new(id: &'a str) -> Self {
        Self { id, step: 1, fence: FIRST_FENCE, stage: None }
    }

    pub(crate) fn at_step(self, step: u32) -> Self {
        Self { step, ..self }
    }

    pub(crate) fn with_stage(self, stage: NewStage<'a>) -> Self {
        Self { stage: Some(stage), ..self }
    }

    /// Inserts the run with its first step.
    pub(crate) async fn insert(self, store: &Store) -> Result<(), StoreError> {
        let new = NewRun {
            kind: "run",
            agent: "text",
            promise: "DONE",
            settings: "{}",
            owner: "{}",
            stage: self.stage,
            workflow: None,
        };
        let (fact, state) = self.step_content();
        store.insert_run(&new, &self.step_record(&[&fact], &state)).await
    }

    /// Records the step.
    pub(crate) async fn record(self, store: &Store) -> Result<(), StoreError> {
        let (fact, state) = self.step_content();
        store.record_step(&self.step_record(&[&fact], &state)).await
    }

    fn step_content(&self) -> (Fact, LoopState) {
        (Fact::IterationStarted { iteration: self.step }, LoopState::new(Policy::new(self.step)))
    }

    fn step_record<'s>(&'s self, facts: &'s [&'s Fact], state: &'s LoopState) -> StepRecord<'s> {
        StepRecord {
            run: self.id,
            fence: self.fence,
            first_seq: self.step.into(),
            at: UnixMillis(1),
            facts,
            answered_commands: &[],
            for_next_stage: None,
            state,
        }
    }
}
