//! The loop of a run without its driver: lets the rules decide on an event, records the decision, and returns its effects.
use std::sync::Arc;

use ralph_core::effect::{Effect, ReceiptSnapshot};
use ralph_core::event::{Event, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::outcome::Outcome;
use ralph_core::seal::Seal;
use ralph_core::step::step;

use super::run_observer::{JournalPosition, RunObserver};
use super::run_record::{ReceiptSource, RunRecord};
use super::step_journal::{JournalStep, StepJournal};
use super::verified_snapshot::{describe_missing_snapshot, take_snapshot};
use crate::run_driver::plan::run_plan::RunPlan;
use ralph_store::{CommandAnswer, StoreError, StoredRun, receipt_file};
use ralph_util::failpoints::{self, FailPoint};

/// Drives the rules of one run. Its caller waits for events and performs the effects.
pub struct LoopRunner<'a, J> {
    plan: Arc<RunPlan>,
    state: LoopState,
    /// The sequence number of the next fact.
    next_seq: i64,
    record: RunRecord,
    journal: J,
    pub(in crate::run_driver) observer: &'a mut dyn RunObserver,
}

/// One input of the loop.
#[derive(Debug)]
pub struct LoopInput {
    pub event: Event,
    /// The time to record in the journal. It also advances while the driver is suspended, unlike that of the event.
    pub recorded_at: UnixMillis,
    /// The ids of the commands in the event, which this step answers.
    pub command_ids: Vec<String>,
}

impl From<Event> for LoopInput {
    fn from(event: Event) -> Self {
        Self { recorded_at: event.at, event, command_ids: Vec::new() }
    }
}

/// A step that the rules have decided and that is not recorded yet.
#[derive(Debug)]
pub struct DecidedStep {
    next: LoopState,
    effects: Vec<Effect>,
    /// The receipt that the effects request, if it could be built.
    receipt: Option<Fact>,
    recorded_at: UnixMillis,
    command_ids: Vec<String>,
    /// Whether the step changes something that is stored.
    is_recorded: bool,
}

impl DecidedStep {
    #[must_use]
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Returns the facts to store, in the order of the effects. A receipt that could not be built is left out.
    fn facts(&self) -> Vec<&Fact> {
        let fact_of = |effect| match requested_receipt(effect) {
            Some(_) => self.receipt.as_ref(),
            None => effect.recorded_fact(),
        };
        self.effects.iter().filter_map(fact_of).collect()
    }
}

impl<'a, J: StepJournal> LoopRunner<'a, J> {
    /// Returns the loop of a run that has not started.
    pub fn new(plan: Arc<RunPlan>, journal: J, observer: &'a mut dyn RunObserver) -> Self {
        let session = plan.spec.first_session.clone();
        let state = LoopState { session, ..LoopState::new(plan.spec.loop_policy()) };
        let record = RunRecord::for_plan(&plan);
        Self { plan, state, next_seq: 1, record, journal, observer }
    }

    /// Returns the loop of a stored run that this process has taken over.
    pub fn resume(
        plan: Arc<RunPlan>,
        stored: &StoredRun,
        record: RunRecord,
        journal: J,
        observer: &'a mut dyn RunObserver,
    ) -> Self {
        Self { plan, state: stored.state.clone(), next_seq: stored.fact_count + 1, record, journal, observer }
    }

    #[must_use]
    pub fn state(&self) -> &LoopState {
        &self.state
    }

    #[must_use]
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// Returns the seal of the files that must not change before a claim.
    #[must_use]
    pub fn seal(&self) -> Option<&Seal> {
        self.record.seal.as_ref()
    }

    #[cfg(test)]
    pub(in crate::run_driver) fn journal_mut(&mut self) -> &mut J {
        &mut self.journal
    }

    /// Decides, records, and returns the effects to perform. After an error nothing has changed.
    ///
    /// A driver that has other work meanwhile, or that retries a busy journal, calls the three parts itself.
    pub async fn advance(&mut self, input: LoopInput) -> Result<Vec<Effect>, StoreError> {
        let decided = self.decide(input).await;
        self.record(&decided).await?;
        Ok(self.apply_recorded(decided))
    }

    /// Lets the rules decide. Nothing changes yet.
    pub async fn decide(&mut self, input: LoopInput) -> DecidedStep {
        let LoopInput { event, recorded_at, command_ids } = input;
        let is_volatile = event.kind.is_volatile();
        let (next, effects) = step(self.state.clone(), event);
        let receipt = self.build_receipt(&next, &effects, recorded_at).await;
        let has_facts = effects.iter().any(|effect| effect.recorded_fact().is_some());
        let is_recorded = !is_volatile && (next != self.state || has_facts || !command_ids.is_empty());
        DecidedStep { next, effects, receipt, recorded_at, command_ids, is_recorded }
    }

    /// Records a decided step in the journal.
    pub async fn record(&mut self, decided: &DecidedStep) -> Result<(), StoreError> {
        if !decided.is_recorded {
            return Ok(());
        }
        let answer = if decided.next == self.state { CommandAnswer::NoEffect } else { CommandAnswer::Applied };
        let answered: Vec<_> = decided.command_ids.iter().map(|id| (id.as_str(), answer)).collect();
        let facts = decided.facts();
        let step = JournalStep {
            first_seq: self.next_seq,
            at: decided.recorded_at,
            facts: &facts,
            answered_commands: &answered,
            state: &decided.next,
        };
        self.journal.record_step(&step).await?;
        trace_stored_step(&self.plan.context.id, self.next_seq, &facts, decided.effects.len());
        Ok(())
    }

    /// Makes a recorded step the current state, publishes its facts, and returns the effects to perform.
    pub fn apply_recorded(&mut self, decided: DecidedStep) -> Vec<Effect> {
        let facts = decided.facts();
        facts.iter().for_each(|fact| trigger_failpoint(fact));
        for fact in facts {
            self.record.record_fact(decided.recorded_at, fact);
            let position = JournalPosition { run: &self.plan.context.id, seq: self.next_seq, at: decided.recorded_at };
            self.observer.on_fact(position, fact);
            self.next_seq += 1;
        }
        self.record.take_log_warning().iter().for_each(|warning| self.observer.on_warning(warning));
        self.state = decided.next;
        self.write_receipt_copy(decided.receipt.as_ref());
        decided.effects
    }

    /// Returns the receipt, if the rules request one.
    async fn build_receipt(&mut self, next: &LoopState, effects: &[Effect], at: UnixMillis) -> Option<Fact> {
        let verified = effects.iter().find_map(requested_receipt)?;
        let snapshot = match verified {
            ReceiptSnapshot::Verified(snapshot) => Some(snapshot.clone()),
            ReceiptSnapshot::Unreadable => None,
            ReceiptSnapshot::AtEnd => {
                let (root, isolation) = (&self.plan.context.project.root, self.plan.spec.acceptance.isolation);
                let taken = take_snapshot(root, isolation).await;
                taken.map_err(|error| self.observer.on_warning(&describe_missing_snapshot(&error))).ok()
            }
        };
        let source = ReceiptSource { snapshot, agent: next.limits.agent };
        match self.record.build_receipt(&self.plan, effects, at, source) {
            Ok(receipt) => receipt,
            Err(error) => {
                self.observer.on_warning(&format!("cannot write the receipt of the run: {error}"));
                None
            }
        }
    }

    /// Writes a copy of the receipt into the folder of the run.
    fn write_receipt_copy(&mut self, receipt: Option<&Fact>) {
        let Some(Fact::Receipt { receipt, .. }) = receipt else { return };
        let folder = self.plan.context.run_folder();
        if let Err(error) = receipt_file::write_receipt_copy(&folder, receipt) {
            let path = folder.join(receipt_file::RECEIPT_FILE_NAME);
            self.observer.on_warning(&format!("cannot write the copy {} of the receipt: {error}", path.display()));
        }
    }
}

/// Returns which state of the work tree the requested receipt records, if the effect requests one.
fn requested_receipt(effect: &Effect) -> Option<&ReceiptSnapshot> {
    match effect {
        Effect::RecordReceipt { snapshot } => Some(snapshot),
        _ => None,
    }
}

fn trace_stored_step(run: &str, seq: i64, facts: &[&Fact], effects: usize) {
    let names: Vec<&str> = facts.iter().map(|fact| fact.name()).collect();
    tracing::debug!(run, seq, facts = ?names, effects, "stored a step");
}

/// Lets a test kill the process right after this fact was recorded.
fn trigger_failpoint(fact: &Fact) {
    match fact {
        Fact::IterationStarted { .. } => failpoints::reach_fail_point(FailPoint::IterationStartedRecorded),
        Fact::RunFinished { outcome: Outcome::Completed, .. } => {
            failpoints::reach_fail_point(FailPoint::CompleteRecordedUnannounced);
        }
        Fact::RunStarted { .. }
        | Fact::RunSealed { .. }
        | Fact::Baseline { .. }
        | Fact::RunResumed { .. }
        | Fact::RunPaused { .. }
        | Fact::RunGuided { .. }
        | Fact::AgentReported { .. }
        | Fact::LimitsChanged { .. }
        | Fact::AgentWaiting { .. }
        | Fact::StandingGuidance { .. }
        | Fact::RunAccepted { .. }
        | Fact::RunRejected { .. }
        | Fact::AttemptStarted { .. }
        | Fact::AttemptEnded { .. }
        | Fact::RetryScheduled { .. }
        | Fact::LimitWaiting { .. }
        | Fact::AgentChanged { .. }
        | Fact::SessionFresh { .. }
        | Fact::Claim { .. }
        | Fact::Verdict { .. }
        | Fact::IterationEnded { .. }
        | Fact::StopRequested { .. }
        | Fact::Receipt { .. }
        | Fact::RunFinished { .. } => {}
    }
}
