//! One step of a run: decide, record, act.
use std::sync::Arc;
use std::time::Duration;

use ralph_core::budget::{BudgetScope, BudgetUsage};
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LifecycleEvent, LoopTimer, RunOpening, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::outcome::Outcome;
use ralph_core::receipt::WorkTreeSnapshot;
use ralph_core::step::step;

use super::clock::{Clock, random_number};
use super::effect_runner::AgentStart;
use super::process_driver::{EngineError, ProcessDriver};
use super::run_observer::JournalPosition;
use super::run_plan::RunPlan;
use super::run_record::{describe_missing_snapshot, take_snapshot};
use ralph_store::receipt_file;
use ralph_store::{
    BUSY_MESSAGE, CommandAnswer, GuidanceForNextStage, NewRun, NewStage, PendingCommand, StepRecord, Store, StoreError,
};
use ralph_util::failpoints::{self, FailPoint};

/// The input of a step.
pub(super) struct StepInput {
    event: EventKind,
    /// The ids of the orders in it.
    order_ids: Vec<String>,
    /// The settings of a new run, which is stored with this step.
    new_run_spec: Option<String>,
}

/// Data that is stored only with the first step of a run.
struct NewRunData {
    settings: String,
    owner: String,
}

impl StepInput {
    pub(super) fn from_event(event: EventKind) -> Self {
        Self { event, order_ids: Vec::new(), new_run_spec: None }
    }

    pub(super) fn from_order(PendingCommand { id, command: order }: PendingCommand) -> Self {
        Self { event: EventKind::ordered(order), order_ids: vec![id], new_run_spec: None }
    }

    /// A run is resumed. Of the waiting orders, only those that apply before the resume are included.
    pub(super) fn for_recovery(changed: Vec<String>, waiting: Vec<PendingCommand>) -> Self {
        let first = waiting.into_iter().filter(|waiting| waiting.command.applies_before_resume());
        let (orders, order_ids) = first.map(|PendingCommand { id, command: order }| (order, id)).unzip();
        let event = EventKind::Lifecycle(LifecycleEvent::Recovered { changed, orders });
        Self { event, order_ids, new_run_spec: None }
    }

    /// A run starts for which orders already wait.
    pub(super) fn for_new_run(opening: RunOpening, settings: String, waiting: Vec<PendingCommand>) -> Self {
        let (orders, order_ids) = waiting.into_iter().map(|waiting| (waiting.command, waiting.id)).unzip();
        let event = EventKind::Lifecycle(LifecycleEvent::Started { opening, orders });
        Self { event, order_ids, new_run_spec: Some(settings) }
    }
}

impl ProcessDriver<'_> {
    /// Lets the rules decide, stores the decision, and performs its effects.
    pub(super) async fn run_step(&mut self, input: StepInput) -> Result<(), EngineError> {
        let at = self.clock.now();
        let StepInput { event, order_ids, new_run_spec } = input;
        let is_volatile = event.is_volatile();
        self.effects.others_used = self.other_runs_usage(is_volatile).await?;
        let (next, effects) = step(self.state.clone(), self.build_event(event));
        let receipt = self.build_receipt(at, &effects).await;
        let facts = facts_of_step(&effects, receipt.as_ref());
        if !is_volatile && (next != self.state || !facts.is_empty() || !order_ids.is_empty()) {
            let plan = Arc::clone(&self.effects.plan);
            let run = &plan.context.id;
            let answer = if next == self.state { CommandAnswer::NoEffect } else { CommandAnswer::Applied };
            let answered = order_ids.iter().map(|id| (id.as_str(), answer)).collect::<Vec<_>>();
            let entry = StepRecord {
                run,
                fence: self.fence,
                first_seq: self.next_seq,
                at,
                facts: &facts,
                answered_commands: &answered,
                guidance: guidance_for_next_stage(&plan, &next),
                state: &next,
            };
            let new_run = new_run_spec.map(|settings| NewRunData { settings, owner: self.lease.owner().to_json() });
            let store = self.store;
            let write = || store_step(store, &plan, &entry, new_run.as_ref());
            let effect_runner = &mut self.effects;
            let prepare = async {
                effects.iter().find_map(agent_start_of).iter().for_each(|start| effect_runner.prepare_start(start));
            };
            let (first, ()) = tokio::join!(write(), prepare);
            // A person who starts a run gets the error at once instead: nothing is lost yet.
            let is_manual_start = new_run.is_some() && plan.context.lease_fence.is_none();
            let written = if is_manual_start { first } else { self.retry_while_busy(first, write).await };
            written.map_err(|error| self.store_failure(error))?;
            trace_stored_step(run, self.next_seq, &facts, effects.len());
        }
        facts.iter().for_each(|fact| trigger_failpoint(fact));
        self.publish_facts(at, &facts);
        self.record.take_log_warning().iter().for_each(|warning| self.observer.on_warning(warning));
        self.state = next;
        self.effects.record_cost(self.state.spent);
        self.write_receipt_copy(receipt.as_ref());
        for effect in effects {
            self.perform_effect(effect);
        }
        Ok(())
    }

    /// Retries a write while the database is busy.
    async fn retry_while_busy<W: Future<Output = Result<(), StoreError>>>(
        &mut self,
        mut result: Result<(), StoreError>,
        retry: impl Fn() -> W,
    ) -> Result<(), StoreError> {
        let mut is_reported = false;
        while result.as_ref().is_err_and(StoreError::is_busy) {
            if !is_reported {
                self.observer.on_warning(BUSY_MESSAGE);
                is_reported = true;
            }
            if !self.wait_before_retry().await {
                break;
            }
            result = retry().await;
        }
        result
    }

    /// Passes stored facts to the run record and to the observer, in order.
    fn publish_facts(&mut self, at: UnixMillis, facts: &[&Fact]) {
        for fact in facts {
            self.record.record_fact(at, fact);
            self.observer.on_fact(JournalPosition { run: &self.effects.plan.context.id, seq: self.next_seq, at }, fact);
            self.next_seq += 1;
        }
    }

    /// Adds the time and the surroundings to an event.
    fn build_event(&self, kind: EventKind) -> Event {
        Event {
            at: self.clock.active_now(),
            wall_clock: Clock::wall_now(),
            random: random_number(),
            plan_availability: self.effects.plan.spec.check_plan_file(),
            used_by_others: self.effects.others_used.clone(),
            kind,
        }
    }

    /// Returns what other runs have used of the shared budgets. Volatile events do not need it.
    async fn other_runs_usage(&mut self, is_volatile: bool) -> Result<Vec<BudgetUsage>, EngineError> {
        let mut others = Vec::new();
        for shared in self.state.policy.shared.iter().filter(|_| !is_volatile) {
            let used = match (&shared.scope, &self.effects.cost_account) {
                (BudgetScope::Worker, Some(account)) => {
                    Ok(BudgetUsage { spent: account.other_runs_spend(), ..BudgetUsage::default() })
                }
                (scope, _) => self.store.usage_of_other_runs(&self.effects.plan.context.id, scope).await,
            };
            others.push(used.map_err(|error| self.store_failure(error))?);
        }
        Ok(others)
    }

    /// Returns the receipt, if the rules request one.
    async fn build_receipt(&mut self, at: UnixMillis, effects: &[Effect]) -> Option<Fact> {
        let verified = effects.iter().find_map(requested_receipt)?;
        let snapshot = match verified {
            Some(snapshot) => Some(snapshot),
            None => {
                let plan = &self.effects.plan;
                let taken = take_snapshot(&plan.context.project.root, plan.spec.acceptance.isolation).await;
                taken.map_err(|error| self.observer.on_warning(&describe_missing_snapshot(&error))).ok()
            }
        };
        match self.record.build_receipt(at, effects, snapshot, &self.effects) {
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
        let folder = self.effects.plan.context.project.run_folder(&self.effects.plan.context.id);
        if let Err(error) = receipt_file::write_receipt_copy(&folder, receipt) {
            let path = folder.join(receipt_file::RECEIPT_FILE_NAME);
            self.observer.on_warning(&format!("cannot write the copy {} of the receipt: {error}", path.display()));
        }
    }

    /// Returns the error to report. The state is inside the work tree; if that was removed, it is the cause.
    fn store_failure(&self, error: StoreError) -> EngineError {
        let root = &self.effects.plan.context.project.root;
        if root.is_dir() { EngineError::Store(error) } else { EngineError::Workspace { root: root.clone() } }
    }

    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Record { .. } | Effect::RecordReceipt { .. } => {}
            Effect::StartTimer { timer: timer @ LoopTimer::Limit { .. }, after_ms } => {
                let due = self.clock.active_elapsed() + Duration::from_millis(after_ms);
                self.timers.start_with_wall_due(timer, due, Clock::wall_now().add_millis(after_ms));
            }
            Effect::StartTimer { timer, after_ms } => {
                self.timers.start(timer, self.clock.active_elapsed() + Duration::from_millis(after_ms));
            }
            Effect::CancelTimer { timer } => self.timers.cancel(timer),
            Effect::StartAgent { key, plan, nonce, guidance, session, agent } => {
                self.timers.clear();
                self.effects.spent_before = self.state.spent;
                self.effects.start_agent(AgentStart { key, plan, nonce, guidance, session, agent });
            }
            Effect::StopAgent { .. } => self.effects.stop_agent(),
            Effect::KillAgent { .. } | Effect::StopChecks { .. } => self.effects.kill_running(),
            Effect::Prepare { round, baseline } => self.effects.start_preparation(round, baseline),
            Effect::RunChecks { key, round } => {
                self.effects.start_checks(key, round, self.record.seal.clone());
            }
            Effect::Finish => self.effects.abort_running(),
        }
    }
}

/// Stores a step, and the run with its first step.
async fn store_step(
    store: &Store,
    plan: &RunPlan,
    entry: &StepRecord<'_>,
    new_run: Option<&NewRunData>,
) -> Result<(), StoreError> {
    let Some(NewRunData { settings, owner }) = new_run else { return store.record_step(entry).await };
    let new_run = NewRun {
        kind: plan.context.kind,
        agent: &plan.context.agent.name,
        promise: plan.spec.claim_rules.promise.as_str(),
        settings,
        owner,
        stage: plan.spec.stage.as_ref().map(|stage| NewStage {
            task: &stage.task,
            role: &stage.role,
            lease_fence: plan.context.lease_fence,
        }),
    };
    store.insert_run(&new_run, entry).await
}

/// Returns the guidance that this run has not delivered, which the next stage of its task gets.
fn guidance_for_next_stage<'a>(plan: &'a RunPlan, next: &'a LoopState) -> Option<GuidanceForNextStage<'a>> {
    let stage = plan.spec.stage.as_ref()?;
    Some(GuidanceForNextStage { task: &stage.task, guidance: next.undelivered_guidance() })
}

/// Returns the facts to store, in the order of the effects. A receipt that could not be built is left out.
fn facts_of_step<'a>(effects: &'a [Effect], receipt: Option<&'a Fact>) -> Vec<&'a Fact> {
    let fact_of = |effect: &'a Effect| match requested_receipt(effect) {
        Some(_) => receipt,
        None => effect.recorded_fact(),
    };
    effects.iter().filter_map(fact_of).collect()
}

/// Returns the verified work tree of the requested receipt, if the effect requests one.
fn requested_receipt(effect: &Effect) -> Option<Option<WorkTreeSnapshot>> {
    match effect {
        Effect::RecordReceipt { snapshot } => Some(snapshot.clone()),
        _ => None,
    }
}

fn trace_stored_step(run: &str, seq: i64, facts: &[&Fact], effects: usize) {
    let names: Vec<&str> = facts.iter().map(|fact| fact.name()).collect();
    tracing::debug!(run, seq, facts = ?names, effects, "stored a step");
}

/// Returns the agent start, if the effect is one.
fn agent_start_of(effect: &Effect) -> Option<AgentStart> {
    match effect {
        Effect::StartAgent { key, plan, nonce, guidance, session, agent } => Some(AgentStart {
            key: *key,
            plan: plan.clone(),
            nonce: nonce.clone(),
            guidance: guidance.clone(),
            session: session.clone(),
            agent: *agent,
        }),
        Effect::Record { .. }
        | Effect::RecordReceipt { .. }
        | Effect::StartTimer { .. }
        | Effect::CancelTimer { .. }
        | Effect::StopAgent { .. }
        | Effect::KillAgent { .. }
        | Effect::Prepare { .. }
        | Effect::RunChecks { .. }
        | Effect::StopChecks { .. }
        | Effect::Finish => None,
    }
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
