//! One step of a run: decide, record, act.
use std::sync::Arc;
use std::time::Duration;

use ralph_core::budget::{BudgetScope, BudgetUsage};
use ralph_core::criterion::Criterion;
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LoopTimer, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::outcome::Outcome;
use ralph_core::receipt::{CompletedRun, WorkTreeSnapshot};
use ralph_core::step::step;

use super::clock::{Clock, random_number};
use super::effect_runner::AgentStart;
use super::process_driver::{EngineError, ProcessDriver};
use super::run_observer::JournalPosition;
use super::run_plan::{RunPlan, TaskStage};
use super::run_record::take_snapshot;
use ralph_store::receipt_file;
use ralph_store::{
    BUSY_MESSAGE, CommandAnswer, GuidanceForNextStage, NewRun, NewStage, PendingCommand, StepRecord, Store, StoreError,
};
use ralph_util::failpoints::{self, FailPoint};

/// The input of a step: one event, or the events at the start of a run.
pub(super) struct StepInput {
    events: Vec<EventKind>,
    /// The ids of the orders among them.
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
        Self { events: vec![event], order_ids: Vec::new(), new_run_spec: None }
    }

    pub(super) fn from_order(PendingCommand { id, command: order }: PendingCommand) -> Self {
        Self { events: vec![EventKind::Ordered { order }], order_ids: vec![id], new_run_spec: None }
    }

    /// A run is resumed. Of the waiting orders, only those that apply before the resume are included.
    pub(super) fn for_recovery(changed: Vec<String>, waiting: Vec<PendingCommand>) -> Self {
        let first = waiting.into_iter().filter(|waiting| waiting.command.applies_before_resume());
        let (orders, order_ids) = first.map(|PendingCommand { id, command: order }| (order, id)).unzip();
        Self { events: vec![EventKind::Recovered { changed, orders }], order_ids, new_run_spec: None }
    }

    /// A run starts for which orders already wait.
    pub(super) fn for_new_run(settings: String, waiting: Vec<PendingCommand>) -> Self {
        let (order_ids, mut events): (Vec<String>, Vec<EventKind>) =
            waiting.into_iter().map(|PendingCommand { id, command: order }| (id, EventKind::Ordered { order })).unzip();
        events.push(EventKind::Started);
        Self { events, order_ids, new_run_spec: Some(settings) }
    }
}

impl ProcessDriver<'_> {
    /// Lets the rules decide, stores the decision, and performs its effects.
    pub(super) async fn run_step(&mut self, input: StepInput) -> Result<(), EngineError> {
        let at = self.clock.now();
        let StepInput { events, order_ids, new_run_spec } = input;
        let is_volatile = events.iter().all(EventKind::is_volatile);
        self.effects.others_used = self.other_runs_usage(is_volatile).await?;
        let (next, effects) = self.fold_events(events);
        let decided = effects.iter().filter_map(|effect| match effect {
            Effect::Record { fact } => Some(fact),
            _ => None,
        });
        let opening = new_run_spec.is_some().then(|| self.run_started_fact());
        let mut facts: Vec<&Fact> = opening.iter().chain(decided).collect();
        let receipt = self.build_receipt(at, &facts).await;
        if let (Some(receipt), Some(end)) = (&receipt, facts.len().checked_sub(1)) {
            facts.insert(end, receipt);
        }
        if !is_volatile && (next != self.state || !facts.is_empty() || !order_ids.is_empty()) {
            let plan = Arc::clone(&self.effects.plan);
            let run = &plan.id;
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
            let is_manual_start =
                new_run.is_some() && plan.stage.as_ref().is_none_or(|stage| stage.lease_fence.is_none());
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
            self.observer.on_fact(JournalPosition { run: &self.effects.plan.id, seq: self.next_seq, at }, fact);
            self.next_seq += 1;
        }
    }

    /// Applies the rules to one event after the other.
    fn fold_events(&self, events: Vec<EventKind>) -> (LoopState, Vec<Effect>) {
        let (wall_clock, plan_availability) = (Clock::wall_now(), self.effects.plan.check_plan_file());
        let mut all_effects = Vec::new();
        let mut state = self.state.clone();
        for kind in events {
            let event = Event {
                at: self.clock.active_now(),
                wall_clock,
                random: random_number(),
                plan_availability,
                used_by_others: self.effects.others_used.clone(),
                kind,
            };
            let (next, effects) = step(state, event);
            state = next;
            all_effects.extend(effects);
        }
        (state, all_effects)
    }

    /// Returns what other runs have used of the shared budgets. Volatile events do not need it.
    async fn other_runs_usage(&mut self, is_volatile: bool) -> Result<Vec<BudgetUsage>, EngineError> {
        let mut others = Vec::new();
        for shared in self.state.policy.shared.iter().filter(|_| !is_volatile) {
            let used = match (&shared.scope, &self.effects.cost_account) {
                (BudgetScope::Worker, Some(account)) => {
                    Ok(BudgetUsage { spent: account.other_runs_spend(), ..BudgetUsage::default() })
                }
                (scope, _) => self.store.usage_of_other_runs(&self.effects.plan.id, scope).await,
            };
            others.push(used.map_err(|error| self.store_failure(error))?);
        }
        Ok(others)
    }

    fn run_started_fact(&self) -> Fact {
        let plan = &self.effects.plan;
        Fact::RunStarted {
            kind: plan.kind.to_owned(),
            agent: plan.agent.name.clone(),
            promise: plan.claim_rules.promise.as_str().to_owned(),
            max_iterations: plan.policy.max_iterations,
            checks: plan.criteria.iter().map(Criterion::summary_line).collect(),
        }
    }

    /// Returns the receipt if these facts complete the run.
    async fn build_receipt(&mut self, at: UnixMillis, facts: &[&Fact]) -> Option<Fact> {
        if !facts.iter().any(|fact| CompletedRun::from_fact(fact).is_some()) {
            return None;
        }
        if self.record.verified_snapshot.is_none() {
            let plan = &self.effects.plan;
            let snapshot = take_snapshot(&plan.project.root, plan.acceptance.isolation).await;
            self.record_snapshot(snapshot);
        }
        match self.record.build_receipt(at, facts, &self.effects) {
            Ok(receipt) => receipt,
            Err(error) => {
                self.observer.on_warning(&format!("cannot write the receipt of the run: {error}"));
                None
            }
        }
    }

    /// Keeps the snapshot of the work tree that is verified.
    pub(super) fn record_snapshot(&mut self, snapshot: Result<WorkTreeSnapshot, String>) {
        self.record.verified_snapshot = snapshot
            .inspect_err(|error| {
                self.observer.on_warning(&format!("the receipt has no snapshot of the verified work tree: {error}"));
            })
            .ok();
    }

    /// Writes a copy of the receipt into the folder of the run.
    fn write_receipt_copy(&mut self, receipt: Option<&Fact>) {
        let Some(Fact::Receipt { receipt, .. }) = receipt else { return };
        let folder = self.effects.plan.project.run_folder(&self.effects.plan.id);
        if let Err(error) = receipt_file::write_receipt_copy(&folder, receipt) {
            let path = folder.join(receipt_file::RECEIPT_FILE_NAME);
            self.observer.on_warning(&format!("cannot write the copy {} of the receipt: {error}", path.display()));
        }
    }

    /// Returns the error to report. The state is inside the work tree; if that was removed, it is the cause.
    fn store_failure(&self, error: StoreError) -> EngineError {
        let root = &self.effects.plan.project.root;
        if root.is_dir() { EngineError::Store(error) } else { EngineError::Workspace { root: root.clone() } }
    }

    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Record { .. } => {}
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
        kind: plan.kind,
        agent: &plan.agent.name,
        promise: plan.claim_rules.promise.as_str(),
        settings,
        owner,
        stage: plan.stage.as_ref().map(new_stage_row),
    };
    store.insert_run(&new_run, entry).await
}

/// Returns the guidance that this run has not delivered, which the next stage of its task gets.
fn guidance_for_next_stage<'a>(plan: &'a RunPlan, next: &'a LoopState) -> Option<GuidanceForNextStage<'a>> {
    let stage = plan.stage.as_ref()?;
    Some(GuidanceForNextStage { task: &stage.task, guidance: next.undelivered_guidance() })
}

fn trace_stored_step(run: &str, seq: i64, facts: &[&Fact], effects: usize) {
    let names: Vec<&str> = facts.iter().map(|fact| fact.name()).collect();
    tracing::debug!(run, seq, facts = ?names, effects, "stored a step");
}

fn new_stage_row(stage: &TaskStage) -> NewStage<'_> {
    NewStage { task: &stage.task, role: &stage.role, lease_fence: stage.lease_fence }
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
