//! The worker's day: takes what is ready while there is room, keeps its leases, and passes on what people ask.
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::StopSignal;
use ralph_core::pipeline::Pipeline;
use ralph_core::task::TaskStatus;
use tokio::task::{JoinHandle, JoinSet, LocalSet};
use tokio::time::Instant;

use super::active_tasks::ActiveTasks;
use super::events::TaskEvent;
use super::services::WorkServices;
use super::shared_budget::SharedBudget;
use super::stuck_tasks::find_stuck_tasks;
use super::task_runner::{TaskEnd, TaskRunner};
use crate::error::AppResult;
use ralph_engine::lock::RunOwner;
use ralph_engine::run_driver::{Clock, SignalRequest, SignalStream, suspend_channel};
use ralph_process::Keeper;
use ralph_store::{LeasedTask, Store, StoreError, TaskFilter};

/// How often a worker with room looks whether something has become ready.
const READY_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The shortest time between two renewals.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_millis(100);
/// How soon a task is tried again that could not begin; each time it takes twice as long, up to the longest.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(600);
/// How many agents in a row may fail before something must be wrong that no other task would cure.
const MAX_CONSECUTIVE_AGENT_FAILURES: u32 = 3;

/// What a worker is to do.
pub struct WorkAssignment {
    pub pipeline: Pipeline,
    /// These tasks alone; all where there are none.
    pub named_tasks: Vec<String>,
    pub slots: usize,
    pub stop_condition: StopCondition,
    pub lease_time: Duration,
    /// What everything that it begins may cost together.
    pub max_cost_micros: Option<u64>,
}

/// When a worker is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCondition {
    /// Nothing is at work, and nothing is ready.
    WhenIdle,
    /// Somebody stops it.
    OnSignal,
}

/// How a worker's day ended.
#[derive(Debug)]
pub struct WorkSummary {
    /// What became of the tasks that it had, by their last end here.
    pub task_ends: BTreeMap<String, TaskEnd>,
    pub stop_signal: Option<StopSignal>,
    pub has_too_many_failures: bool,
    /// The money is used up.
    pub is_budget_exhausted: bool,
}

/// Works until there is nothing more to do, or somebody stops it.
pub async fn run_worker(
    services: WorkServices,
    store: Arc<Store>,
    keeper: Keeper,
    assignment: WorkAssignment,
    signals: SignalStream,
) -> AppResult<WorkSummary> {
    let worker = Worker {
        services: Rc::new(services),
        store,
        keeper,
        active_tasks: Rc::new(ActiveTasks::default()),
        budget: Rc::new(SharedBudget::new(assignment.max_cost_micros)),
        pipeline: Rc::new(assignment.pipeline.clone()),
        owner: RunOwner::for_this_process("work", Clock::wall_now()).to_json(),
        task_ends: BTreeMap::new(),
        deferred: BTreeMap::new(),
        consecutive_agent_failures: 0,
        is_idle_reported: false,
        assignment,
    };
    LocalSet::new().run_until(worker.run(signals)).await
}

struct Worker {
    services: Rc<WorkServices>,
    store: Arc<Store>,
    keeper: Keeper,
    active_tasks: Rc<ActiveTasks>,
    budget: Rc<SharedBudget>,
    pipeline: Rc<Pipeline>,
    owner: String,
    assignment: WorkAssignment,
    task_ends: BTreeMap<String, TaskEnd>,
    /// When what could not begin is tried again, and how long that was put off.
    deferred: BTreeMap<String, (Instant, Duration)>,
    consecutive_agent_failures: u32,
    /// People were told that there is nothing to do.
    is_idle_reported: bool,
}

impl Worker {
    async fn run(mut self, mut signals: SignalStream) -> AppResult<WorkSummary> {
        let mut tasks = JoinSet::new();
        let renewal_interval = (self.assignment.lease_time / 3).max(MIN_RENEWAL_INTERVAL);
        let mut next_renewal = Instant::now() + renewal_interval;
        let mut catch_up = self.spawn_landing_catch_up();
        loop {
            let leased = self.has_free_slot(&tasks) && self.lease_next_task(&mut tasks).await?;
            if !leased && tasks.is_empty() {
                self.skip_tasks_that_cannot_become_ready().await?;
                if catch_up.is_finished() && self.is_done() {
                    return Ok(self.into_summary());
                }
            }
            if self.report_idle_once(&tasks) && catch_up.is_finished() {
                catch_up = self.spawn_landing_catch_up();
            }
            tokio::select! {
                Some(ended) = tasks.join_next() => self.record_task_result(ended),
                _ = &mut catch_up, if !catch_up.is_finished() => {}
                asked = signals.next() => self.handle_signal(asked).await,
                () = self.active_tasks.changed() => {}
                () = tokio::time::sleep_until(next_renewal) => {
                    next_renewal = Instant::now() + renewal_interval;
                    self.renew_leases().await?;
                }
                () = std::future::ready(()), if leased => {}
                () = tokio::time::sleep(READY_POLL_INTERVAL), if !leased && self.has_free_slot(&tasks) => {}
            }
        }
    }

    fn into_summary(self) -> WorkSummary {
        let (is_braked, is_spent) = (self.has_too_many_failures(), self.budget.has_blocked_work());
        WorkSummary {
            task_ends: self.task_ends,
            stop_signal: self.active_tasks.stop_signal(),
            has_too_many_failures: is_braked,
            is_budget_exhausted: is_spent,
        }
    }

    fn has_too_many_failures(&self) -> bool {
        self.consecutive_agent_failures >= MAX_CONSECUTIVE_AGENT_FAILURES
    }

    /// Whether nothing more will be taken, now that nothing is at work.
    fn is_done(&self) -> bool {
        let named = &self.assignment.named_tasks;
        let all_named =
            !named.is_empty() && named.iter().all(|task| self.task_ends.get(task).is_some_and(is_final_end));
        self.assignment.stop_condition == StopCondition::WhenIdle || all_named || self.is_draining()
    }

    /// Whether nothing more is taken.
    fn is_draining(&self) -> bool {
        self.active_tasks.stop_signal().is_some() || self.has_too_many_failures() || self.budget.has_blocked_work()
    }

    /// A paused task needs no slot. Where it goes on while all are taken, there is one more at work until another ends.
    fn has_free_slot(&self, tasks: &JoinSet<(String, TaskEnd)>) -> bool {
        tasks.len().saturating_sub(self.active_tasks.paused_count()) < self.assignment.slots && !self.is_draining()
    }

    /// Takes one task that is ready, and tells whether there was one. Between two of them leases are kept and people heard.
    async fn lease_next_task(&mut self, tasks: &mut JoinSet<(String, TaskEnd)>) -> AppResult<bool> {
        let except: Vec<String> = self.deferred_or_active();
        let filter = TaskFilter { only: &self.assignment.named_tasks, excluded: &except };
        let claimed = self.store.lease_next_task(&self.owner, self.assignment.lease_time, filter).await;
        match self.ignore_busy_error(claimed)? {
            None => Ok(false),
            Some(Some(claimed)) => {
                self.start_task(claimed, tasks);
                Ok(true)
            }
            Some(None) => {
                let expired = self.expire_dead_leases().await;
                Ok(self.ignore_busy_error(expired)?.unwrap_or_default())
            }
        }
    }

    /// Bears that others write all the time: who cannot write cannot lose a lease either. `None`: this time nothing came of
    /// it.
    fn ignore_busy_error<T>(&self, result: Result<T, StoreError>) -> AppResult<Option<T>> {
        let is_busy = result.as_ref().is_err_and(StoreError::is_busy);
        if self.active_tasks.is_newly_busy(is_busy) {
            self.services.report_event(&TaskEvent::StoreBusy);
        }
        match result {
            Ok(done) => Ok(Some(done)),
            Err(_) if is_busy => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Counts those of the named tasks as ended that the work on the others cannot make ready.
    async fn skip_tasks_that_cannot_become_ready(&mut self) -> AppResult<()> {
        if self.assignment.named_tasks.is_empty() || self.is_draining() {
            return Ok(());
        }
        let (heads, leases) = (self.store.list_tasks().await, self.store.list_leases().await);
        let (Some(heads), Some(leases)) = (self.ignore_busy_error(heads)?, self.ignore_busy_error(leases)?) else {
            return Ok(());
        };
        let open =
            self.assignment.named_tasks.iter().filter(|task| !self.task_ends.get(*task).is_some_and(is_final_end));
        for (task, end) in find_stuck_tasks(open, &self.assignment.named_tasks, &heads, &leases) {
            if let TaskEnd::Deferred { reason: why } | TaskEnd::Finished { reason: why, .. } = &end {
                self.services.report_event(&TaskEvent::Deferred { task: &task, reason: why });
            }
            self.task_ends.insert(task, end);
        }
        Ok(())
    }

    /// Returns whether it has just become idle.
    fn report_idle_once(&mut self, tasks: &JoinSet<(String, TaskEnd)>) -> bool {
        let waits = tasks.is_empty() && !self.is_done();
        let is_new = waits && !self.is_idle_reported;
        if is_new {
            self.services.report_event(&TaskEvent::Idle);
        }
        self.is_idle_reported = waits;
        is_new
    }

    /// Catches up on what others have left behind, beside everything else.
    fn spawn_landing_catch_up(&self) -> JoinHandle<()> {
        let (shop, store, keeper) = (Rc::clone(&self.services), Arc::clone(&self.store), self.keeper.clone());
        let named = self.assignment.named_tasks.clone();
        tokio::task::spawn_local(async move { shop.catch_up_landings(&named, &store, &keeper).await })
    }

    /// Returns the tasks that are here already, and those that could not begin: who waits tries them again, later and later.
    fn deferred_or_active(&self) -> Vec<String> {
        let waits = self.assignment.stop_condition == StopCondition::OnSignal && self.assignment.named_tasks.is_empty();
        let is_due = |at: &Instant| waits && *at <= Instant::now();
        let aside = self.deferred.iter().filter(|(_, (at, _))| !is_due(at));
        let here = self.active_tasks.leases().into_iter().map(|claim| claim.task_id);
        aside.map(|(task, _)| task.clone()).chain(here).collect()
    }

    fn update_deferral(&mut self, task: &str, end: &TaskEnd) {
        if matches!(end, TaskEnd::Deferred { .. }) {
            let delay = self.deferred.get(task).map_or(RETRY_DELAY, |(_, off)| (*off * 2).min(MAX_RETRY_DELAY));
            self.deferred.insert(task.to_owned(), (Instant::now() + delay, delay));
        } else {
            self.deferred.remove(task);
        }
    }

    fn start_task(&mut self, leased_task: LeasedTask, tasks: &mut JoinSet<(String, TaskEnd)>) {
        let LeasedTask { lease: claim, row, progress } = leased_task;
        self.active_tasks.insert(&claim);
        let work = TaskRunner {
            services: Rc::clone(&self.services),
            store: Arc::clone(&self.store),
            keeper: self.keeper.clone(),
            active_tasks: Rc::clone(&self.active_tasks),
            budget: Rc::clone(&self.budget),
            pipeline: Rc::clone(&self.pipeline),
            last_deferral_reason: self.task_ends.get(&claim.task_id).and_then(|end| match end {
                TaskEnd::Deferred { reason: why } => Some(why.clone()),
                TaskEnd::Finished { .. } | TaskEnd::Interrupted | TaskEnd::LeaseLost => None,
            }),
            lease: claim,
            task_row: row,
        };
        tasks.spawn_local(work.run(progress));
    }

    fn record_task_result(&mut self, ended: Result<(String, TaskEnd), tokio::task::JoinError>) {
        let (task, end) = match ended {
            Ok(ended) => ended,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return,
            },
        };
        if let TaskEnd::Finished { reason: why, is_agent_failure: is_agent_s_fault, .. } = &end {
            self.consecutive_agent_failures = if *is_agent_s_fault { self.consecutive_agent_failures + 1 } else { 0 };
            if self.consecutive_agent_failures == MAX_CONSECUTIVE_AGENT_FAILURES {
                self.services.report_event(&TaskEvent::TooManyFailures {
                    failures: MAX_CONSECUTIVE_AGENT_FAILURES,
                    reason: why,
                });
            }
        }
        self.update_deferral(&task, &end);
        self.task_ends.insert(task, end);
    }

    async fn handle_signal(&self, asked: SignalRequest) {
        match asked {
            SignalRequest::Stop(signal) => {
                self.services.stop_background_work(signal);
                self.active_tasks.stop_all(signal);
            }
            SignalRequest::Suspend => {
                let (request, suspension) = suspend_channel();
                self.active_tasks.suspend_all(&request);
                self.services.suspend_background_work(&request);
                drop(request);
                suspension.stop_process().await;
            }
            // Who cannot read them now looks again soon.
            SignalRequest::CheckOrders => {
                self.active_tasks
                    .notify_waiting_orders(&self.store.pending_command_targets().await.unwrap_or_default());
            }
        }
    }

    async fn renew_leases(&mut self) -> AppResult<()> {
        let lost = self.store.renew_leases(&self.active_tasks.leases(), self.assignment.lease_time).await;
        let lost = self.ignore_busy_error(lost)?.unwrap_or_default();
        lost.iter().for_each(|claim| self.active_tasks.mark_lease_lost(&claim.task_id));
        Ok(())
    }

    /// Ends the leases of workers on this machine that are dead: nobody need wait for them. Tells whether there were any.
    async fn expire_dead_leases(&self) -> Result<bool, StoreError> {
        let mut is_any = false;
        for lease in self.store.list_leases().await? {
            let is_dead = RunOwner::parse(&lease.owner).is_some_and(|owner| owner.process.has_exited_here());
            if !lease.is_expired && is_dead {
                self.store.expire_lease(&lease.task_lease).await?;
                is_any = true;
            }
        }
        Ok(is_any)
    }
}

/// Whether this worker has nothing more to do with a task.
fn is_final_end(end: &TaskEnd) -> bool {
    match end {
        TaskEnd::Finished { status, .. } => *status != TaskStatus::Todo,
        TaskEnd::Deferred { .. } | TaskEnd::LeaseLost => true,
        TaskEnd::Interrupted => false,
    }
}
