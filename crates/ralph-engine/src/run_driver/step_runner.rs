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

/// What a step answers: one event, or those with which a run begins.
pub(super) struct StepInput {
    events: Vec<EventKind>,
    /// The orders among them.
    order_ids: Vec<String>,
    /// With its settings a run is new, and stored with this step.
    new_run_spec: Option<String>,
}

impl StepInput {
    pub(super) fn from_event(event: EventKind) -> Self {
        Self { events: vec![event], order_ids: Vec::new(), new_run_spec: None }
    }

    /// Somebody asked for something.
    pub(super) fn from_order(PendingCommand { id, command: order }: PendingCommand) -> Self {
        Self { events: vec![EventKind::Ordered { order }], order_ids: vec![id], new_run_spec: None }
    }

    /// A run is taken up, of which this was asked meanwhile. What does not concern its beginning stays for later.
    pub(super) fn for_recovery(changed: Vec<String>, waiting: Vec<PendingCommand>) -> Self {
        let first = waiting.into_iter().filter(|waiting| waiting.command.applies_before_resume());
        let (orders, taken) = first.map(|PendingCommand { id, command: order }| (order, id)).unzip();
        Self { events: vec![EventKind::Recovered { changed, orders }], order_ids: taken, new_run_spec: None }
    }

    /// A run begins, for which these orders wait already.
    pub(super) fn for_new_run(settings: String, waiting: Vec<PendingCommand>) -> Self {
        let (order_ids, mut events): (Vec<String>, Vec<EventKind>) =
            waiting.into_iter().map(|PendingCommand { id, command: order }| (id, EventKind::Ordered { order })).unzip();
        events.push(EventKind::Started);
        Self { events, order_ids, new_run_spec: Some(settings) }
    }
}

impl ProcessDriver<'_> {
    /// Decides, records, acts.
    pub(super) async fn run_step(&mut self, input: StepInput) -> Result<(), EngineError> {
        let at = self.clock.now();
        let StepInput { events, order_ids: orders, new_run_spec: settings } = input;
        let volatile = events.iter().all(EventKind::is_volatile);
        self.effects.others_used = self.other_runs_usage(volatile).await?;
        let (next, effects) = self.fold_events(events);
        let decided = effects.iter().filter_map(|effect| match effect {
            Effect::Record { fact } => Some(fact),
            _ => None,
        });
        let opening = settings.is_some().then(|| self.run_started_fact());
        let mut facts: Vec<&Fact> = opening.iter().chain(decided).collect();
        let receipt = self.build_receipt(at, &facts).await;
        if let (Some(receipt), Some(end)) = (&receipt, facts.len().checked_sub(1)) {
            facts.insert(end, receipt);
        }
        if !volatile && (next != self.state || !facts.is_empty() || !orders.is_empty()) {
            let plan = Arc::clone(&self.effects.plan);
            let run = &plan.id;
            let answer = if next == self.state { CommandAnswer::NoEffect } else { CommandAnswer::Applied };
            let taken = orders.iter().map(|id| (id.as_str(), answer)).collect::<Vec<_>>();
            let (fence, seq) = (self.fence, self.next_seq);
            let entry = StepRecord {
                run,
                fence,
                first_seq: seq,
                at,
                facts: &facts,
                answered_commands: &taken,
                guidance: guidance_for_next_stage(&plan, &next),
                state: &next,
            };
            let new = settings.map(|settings| (settings, self.lease.owner().to_json()));
            let journal_store = self.store;
            let stored = async || store_step(journal_store, &plan, &entry, new.as_ref()).await;
            let effect_runner = &mut self.effects;
            let prepared = async {
                effects.iter().find_map(agent_start_of).iter().for_each(|start| effect_runner.prepare_start(start));
            };
            let (first, ()) = tokio::join!(stored(), prepared);
            // Who begins by hand hears of it instead: nothing is lost yet.
            let begins = new.is_some() && plan.stage.as_ref().is_none_or(|stage| stage.lease_fence.is_none());
            let done = if begins { first } else { self.retry_while_busy(first, stored).await };
            done.map_err(|error| self.store_failure(error))?;
            trace_stored_step(run, self.next_seq, &facts, effects.len());
        }
        facts.iter().for_each(|fact| trigger_failpoint(fact));
        self.publish_facts(at, &facts);
        self.record.take_log_warning().iter().for_each(|why| self.observer.on_warning(why));
        self.state = next;
        self.effects.record_cost(self.state.spent);
        self.write_receipt_copy(receipt.as_ref());
        for effect in effects {
            self.perform_effect(effect);
        }
        Ok(())
    }

    /// Stores again what could not be stored because others were writing.
    async fn retry_while_busy(
        &mut self,
        mut done: Result<(), StoreError>,
        retry: impl AsyncFn() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut is_told = false;
        while done.as_ref().is_err_and(StoreError::is_busy) {
            if !is_told {
                self.observer.on_warning(BUSY_MESSAGE);
                is_told = true;
            }
            if !self.wait_before_retry().await {
                break;
            }
            done = retry().await;
        }
        done
    }

    /// Shows stored facts to the run record and to the observer, in order.
    fn publish_facts(&mut self, at: UnixMillis, facts: &[&Fact]) {
        for fact in facts {
            self.record.record_fact(at, fact);
            self.observer.on_fact(JournalPosition { run: &self.effects.plan.id, seq: self.next_seq, at }, fact);
            self.next_seq += 1;
        }
    }

    /// Lets the rules answer one event after the other.
    fn fold_events(&self, events: Vec<EventKind>) -> (LoopState, Vec<Effect>) {
        let (wall, ground) = (Clock::wall_now(), self.effects.plan.check_plan_file());
        let mut all = Vec::new();
        let mut state = self.state.clone();
        for kind in events {
            let others = self.effects.others_used.clone();
            let event = Event {
                at: self.clock.active_now(),
                wall_clock: wall,
                random: random_number(),
                plan_availability: ground,
                used_by_others: others,
                kind,
            };
            let (next, effects) = step(state, event);
            state = next;
            all.extend(effects);
        }
        (state, all)
    }

    /// Returns what other runs have used of the budgets that this one shares. What decides nothing need not know.
    async fn other_runs_usage(&self, is_volatile: bool) -> Result<Vec<BudgetUsage>, EngineError> {
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

    /// Returns the receipt of a run that these facts complete.
    async fn build_receipt(&mut self, at: UnixMillis, facts: &[&Fact]) -> Option<Fact> {
        if !facts.iter().any(|fact| CompletedRun::from_fact(fact).is_some()) {
            return None;
        }
        if self.record.verified_snapshot.is_none() {
            let plan = &self.effects.plan;
            let seen = take_snapshot(&plan.project.root, plan.acceptance.isolation).await;
            self.record_snapshot(seen);
        }
        match self.record.build_receipt(at, facts, &self.effects) {
            Ok(receipt) => receipt,
            Err(error) => {
                self.observer.on_warning(&format!("the receipt of the run cannot be written: {error}"));
                None
            }
        }
    }

    /// Takes note of the work tree that is verified.
    pub(super) fn record_snapshot(&mut self, snapshot: Result<WorkTreeSnapshot, String>) {
        self.record.verified_snapshot = snapshot
            .inspect_err(|why| {
                self.observer.on_warning(&format!("the receipt cannot say what was verified: {why}"));
            })
            .ok();
    }

    /// Puts a copy of the receipt where people find it.
    fn write_receipt_copy(&mut self, receipt: Option<&Fact>) {
        let Some(Fact::Receipt { receipt, .. }) = receipt else { return };
        let folder = self.effects.plan.project.run_folder(&self.effects.plan.id);
        if let Err(error) = receipt_file::write_receipt_copy(&folder, receipt) {
            let path = folder.join(receipt_file::RECEIPT_FILE_NAME);
            self.observer.on_warning(&format!("the copy {} of the receipt cannot be written: {error}", path.display()));
        }
    }

    /// The state lies in the work tree: where that is gone, it is what people must hear of.
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

/// Stores a step. With its settings and its owner a run is new.
async fn store_step(
    store: &Store,
    plan: &RunPlan,
    entry: &StepRecord<'_>,
    new_run: Option<&(String, String)>,
) -> Result<(), StoreError> {
    let Some((settings, owner)) = new_run else { return store.record_step(entry).await };
    let new = NewRun {
        kind: plan.kind,
        agent: &plan.agent.name,
        promise: plan.claim_rules.promise.as_str(),
        settings,
        owner,
        stage: plan.stage.as_ref().map(new_stage_row),
    };
    store.insert_run(&new, entry).await
}

/// Guidance that this run has not delivered belongs to the next stage of its task.
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

/// Returns the start of an agent that is decided here, if it is one.
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

/// Lets a test see what a death right after this record leaves.
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
