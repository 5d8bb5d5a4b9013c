//! One event in the process driver: fills in the time and the context, lets the loop runner decide and record, and
//! performs the effects. The next start is prepared while the step is being written.
use std::time::Duration;

use ralph_core::budget::{BudgetScope, BudgetUsage};
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LifecycleEvent, LoopTimer, RunOpening};

use super::attempt::remaining_budget::RemainingBudget;
use super::clock::{Clock, random_number};
use super::journal::loop_runner::{DecidedStep, LoopInput};
use super::process_driver::{EngineError, ProcessDriver};
use ralph_store::{BUSY_MESSAGE, PendingCommand, StoreError};

/// An event, and the orders in it.
pub(super) struct DriverInput {
    event: EventKind,
    command_ids: Vec<String>,
}

impl DriverInput {
    pub(super) fn from_command(PendingCommand { id, command }: PendingCommand) -> Self {
        Self { event: EventKind::command_received(command), command_ids: vec![id] }
    }

    /// A run is resumed for which orders already wait.
    pub(super) fn for_recovery(changed: Vec<String>, waiting: Vec<PendingCommand>) -> Self {
        let (orders, command_ids) = waiting.into_iter().map(|waiting| (waiting.command, waiting.id)).unzip();
        Self { event: EventKind::Lifecycle(LifecycleEvent::Recovered { changed, orders }), command_ids }
    }

    /// A run starts for which orders already wait.
    pub(super) fn for_new_run(opening: RunOpening, waiting: Vec<PendingCommand>) -> Self {
        let (orders, command_ids) = waiting.into_iter().map(|waiting| (waiting.command, waiting.id)).unzip();
        Self { event: EventKind::Lifecycle(LifecycleEvent::Started { opening, orders }), command_ids }
    }
}

impl ProcessDriver<'_> {
    pub(super) async fn apply_event(&mut self, event: EventKind) -> Result<(), EngineError> {
        self.apply_input(DriverInput { event, command_ids: Vec::new() }).await
    }

    /// Lets the rules decide, records the decision, and performs its effects.
    pub(super) async fn apply_input(&mut self, input: DriverInput) -> Result<(), EngineError> {
        let DriverInput { event, command_ids } = input;
        let recorded_at = self.clock.now();
        self.others_used = self.other_runs_usage(event.is_volatile()).await?;
        let standing_guidance = self.read_standing_guidance(event.is_volatile()).await?;
        let event = Event { standing_guidance, ..self.build_event(event) };
        let decided = self.runner.decide(LoopInput { event, recorded_at, command_ids }).await;
        self.record_step(&decided).await?;
        let effects = self.runner.apply_recorded(decided);
        if let Some(account) = &self.cost_account {
            account.record_spend(self.runner.state().spent);
        }
        if let Some(live) = &self.live_budget {
            live.set(self.runner.state().policy.budget);
        }
        for effect in effects {
            self.perform_effect(effect);
        }
        Ok(())
    }

    /// Records a step. Meanwhile, and only once, the start that it requests is prepared.
    async fn record_step(&mut self, decided: &DecidedStep) -> Result<(), EngineError> {
        // A person who starts a run gets the error at once instead of a retry: nothing is lost yet.
        let is_manual_start = self.runner.journal().is_new_run() && self.plan.context.lease_fence.is_none();
        let effects = &mut self.effects;
        let prepare = async { effects.prepare_starts(decided.effects()) };
        let (first, ()) = tokio::join!(self.runner.record(decided), prepare);
        let recorded = if is_manual_start { first } else { self.retry_while_busy(first, decided).await };
        recorded.map_err(EngineError::from)
    }

    /// Records a step again while the database is busy.
    async fn retry_while_busy(
        &mut self,
        mut result: Result<(), StoreError>,
        decided: &DecidedStep,
    ) -> Result<(), StoreError> {
        let mut is_reported = false;
        while result.as_ref().is_err_and(StoreError::is_busy) {
            if !is_reported {
                self.runner.observer.on_warning(BUSY_MESSAGE);
                is_reported = true;
            }
            if !self.wait_before_retry().await {
                break;
            }
            result = self.runner.record(decided).await;
        }
        result
    }

    /// Adds the time and the context to an event.
    fn build_event(&self, kind: EventKind) -> Event {
        Event {
            at: self.clock.active_now(),
            wall_clock: Clock::wall_now(),
            random: random_number(),
            plan_availability: self.plan.spec.check_plan_file(),
            used_by_others: self.others_used.clone(),
            standing_guidance: Vec::new(),
            kind,
        }
    }

    /// Returns what other runs have used of the shared budgets. Volatile events do not need it.
    async fn other_runs_usage(&mut self, is_volatile: bool) -> Result<Vec<BudgetUsage>, EngineError> {
        let mut others = Vec::new();
        let shared_budgets = if is_volatile { Vec::new() } else { self.runner.state().policy.shared.clone() };
        for shared in shared_budgets {
            let used = match (&shared.scope, &self.cost_account) {
                (BudgetScope::Worker, Some(account)) => {
                    Ok(BudgetUsage { spent: account.other_runs_spend(), ..BudgetUsage::default() })
                }
                (scope, _) => self.store.usage_of_other_runs(&self.plan.context.id, scope).await,
            };
            others.push(used?);
        }
        Ok(others)
    }

    /// Returns the guidance that is part of every prompt. Volatile events start no attempt.
    async fn read_standing_guidance(&mut self, is_volatile: bool) -> Result<Vec<String>, EngineError> {
        if is_volatile {
            return Ok(Vec::new());
        }
        let task = self.plan.spec.stage.as_ref().map(|stage| stage.task.as_str());
        match self.store.standing_guidance(Some(&self.plan.context.id), task).await {
            // While the database is busy, the guidance stays as it was.
            Err(error) if error.is_busy() => Ok(self.runner.state().standing_guidance.clone()),
            read => Ok(read?),
        }
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
            Effect::StartAgent(start) => {
                self.timers.clear();
                let state = self.runner.state();
                let account = self.cost_account.clone();
                let budget = RemainingBudget::new(&state.policy, state.spent, &self.others_used, account);
                self.live_budget = Some(budget.live_budget());
                self.effects.start_agent(start, budget);
            }
            Effect::StopAgent { .. } => self.effects.stop_agent(),
            Effect::KillAgent { .. } | Effect::StopChecks { .. } => self.effects.kill_running(),
            Effect::Prepare { round, baseline } => self.effects.start_preparation(round, baseline),
            Effect::RunChecks { key, round } => {
                let (agent, seal) = (self.runner.state().limits.agent, self.runner.seal().cloned());
                self.effects.start_checks(key, round, agent, seal);
            }
            Effect::Finish => self.effects.abort_running(),
        }
    }
}
