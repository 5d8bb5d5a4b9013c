//! The scheduler loop: leases ready tasks while slots are free, renews leases, and forwards signals to the tasks in progress.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::{StopSignal, UnixMillis};
use ralph_core::pipeline::Pipeline;
use ralph_core::task::TaskStatus;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::active_tasks::ActiveTasks;
use super::events::TaskEvent;
use super::services::WorkServices;
use super::shared_budget::SharedBudget;
use super::stuck_tasks::find_stuck_tasks;
use super::task_runner::{EndedTask, TaskEnd, TaskRunner};
use crate::error::{AppError, AppResult};
use ralph_engine::lock::RunOwner;
use ralph_engine::run_driver::{Clock, ControlEvent, ControlInput, SignalRequest, SuspendRequest, suspend_channel};
use ralph_process::Keeper;
use ralph_store::{LeasedTask, Store, StoreError, TaskFilter};

/// How often an idle slot polls for tasks that have become ready.
const READY_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The shortest time between two renewals.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_millis(100);
/// The delay before a deferred task is tried again. It doubles every time, up to the maximum.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(600);
/// Agents that may fail in a row, on any task, before the worker stops: a revoked key would fail them all.
const MAX_CONSECUTIVE_AGENT_FAILURES: u32 = 3;

/// The tasks and limits of a worker.
pub struct WorkAssignment {
    pub pipeline: Pipeline,
    /// The worker takes only these tasks, or all tasks if there are none.
    pub named_tasks: Vec<String>,
    pub slots: usize,
    pub stop_condition: StopCondition,
    pub lease_time: Duration,
    /// The cost limit for all tasks together.
    pub max_cost_micros: Option<u64>,
}

/// When a worker stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCondition {
    /// No task is in progress, and none is ready.
    WhenIdle,
    /// It was stopped by a signal.
    OnSignal,
}

/// The result of a worker.
#[derive(Debug, Default)]
pub struct WorkSummary {
    /// The last end of each task that it had.
    pub task_ends: BTreeMap<String, TaskEnd>,
    pub stop_signal: Option<StopSignal>,
    pub has_too_many_failures: bool,
    pub is_budget_exhausted: bool,
}

/// Runs a worker until no work is left, all named tasks have ended, or it is stopped.
pub async fn run_worker(
    services: WorkServices,
    store: Arc<Store>,
    keeper: Keeper,
    assignment: WorkAssignment,
    control: ControlInput,
) -> AppResult<WorkSummary> {
    let worker = Worker {
        services: Arc::new(services),
        store,
        keeper,
        active_tasks: Arc::new(ActiveTasks::default()),
        budget: Arc::new(SharedBudget::new(assignment.max_cost_micros)),
        pipeline: Arc::new(assignment.pipeline.clone()),
        owner: RunOwner::for_this_process("work", Clock::wall_now()).to_json(),
        task_ends: BTreeMap::new(),
        deferred: BTreeMap::new(),
        parked: BTreeMap::new(),
        consecutive_agent_failures: 0,
        is_idle_reported: false,
        assignment,
    };
    worker.run(control).await
}

struct Worker {
    services: Arc<WorkServices>,
    store: Arc<Store>,
    keeper: Keeper,
    active_tasks: Arc<ActiveTasks>,
    budget: Arc<SharedBudget>,
    pipeline: Arc<Pipeline>,
    owner: String,
    assignment: WorkAssignment,
    task_ends: BTreeMap<String, TaskEnd>,
    deferred: BTreeMap<String, Deferral>,
    /// The tasks whose stage waits until this time, by the wall clock.
    parked: BTreeMap<String, UnixMillis>,
    consecutive_agent_failures: u32,
    is_idle_reported: bool,
}

/// When a deferred task is tried again.
struct Deferral {
    retry_at: Instant,
    delay: Duration,
}

impl Worker {
    async fn run(mut self, mut control: ControlInput) -> AppResult<WorkSummary> {
        let mut tasks = JoinSet::new();
        let renewal_interval = (self.assignment.lease_time / 3).max(MIN_RENEWAL_INTERVAL);
        let mut next_renewal = Instant::now() + renewal_interval;
        // Ends with the worker, as the tasks do.
        let mut landings = JoinSet::new();
        self.spawn_landing_catch_up(&mut landings);
        loop {
            self.forget_ended_waits().await?;
            let leased = self.has_free_slot(&tasks) && self.lease_next_task(&mut tasks).await?;
            if !leased && tasks.is_empty() {
                self.skip_tasks_that_cannot_become_ready().await?;
                if landings.is_empty() && self.is_done() {
                    return Ok(self.into_summary());
                }
            }
            if self.report_idle_once(&tasks) && landings.is_empty() {
                self.spawn_landing_catch_up(&mut landings);
            }
            tokio::select! {
                Some(joined) = tasks.join_next() => self.record_task_result(joined),
                Some(_) = landings.join_next() => {}
                event = control.next_event() => self.handle_control(event).await,
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
        WorkSummary {
            has_too_many_failures: self.has_too_many_failures(),
            is_budget_exhausted: self.budget.has_blocked_work(),
            stop_signal: self.active_tasks.stop_signal(),
            task_ends: self.task_ends,
        }
    }

    fn has_too_many_failures(&self) -> bool {
        self.consecutive_agent_failures >= MAX_CONSECUTIVE_AGENT_FAILURES
    }

    /// Returns whether the worker can stop once no task is in progress.
    fn is_done(&self) -> bool {
        let named = &self.assignment.named_tasks;
        let all_named =
            !named.is_empty() && named.iter().all(|task| self.task_ends.get(task).is_some_and(is_final_end));
        let is_idle = self.assignment.stop_condition == StopCondition::WhenIdle && self.parked.is_empty();
        is_idle || all_named || self.is_draining()
    }

    /// Returns whether no more tasks are leased.
    fn is_draining(&self) -> bool {
        self.active_tasks.stop_signal().is_some() || self.has_too_many_failures() || self.budget.has_blocked_work()
    }

    /// Returns whether another task can start. A paused task needs no slot; if it is resumed while all slots are taken, one
    /// more task than slots is in progress.
    fn has_free_slot(&self, tasks: &JoinSet<EndedTask>) -> bool {
        tasks.len().saturating_sub(self.active_tasks.paused_count()) < self.assignment.slots && !self.is_draining()
    }

    /// Leases the next ready task and starts it. Returns whether there was one. It takes only one, so that leases are renewed
    /// and signals handled before the next.
    ///
    /// If no task is ready, leases of dead workers on this machine are expired, so that their tasks need not wait.
    async fn lease_next_task(&mut self, tasks: &mut JoinSet<EndedTask>) -> AppResult<bool> {
        let excluded: Vec<String> = self.deferred_or_active();
        let filter = TaskFilter { only: &self.assignment.named_tasks, excluded: &excluded };
        let leased = self.store.lease_next_task(&self.owner, self.assignment.lease_time, filter).await;
        match self.ignore_busy_error(leased)? {
            None => Ok(false),
            Some(Some(leased)) => {
                self.start_task(leased, tasks);
                Ok(true)
            }
            Some(None) => {
                let expired = self.expire_dead_leases().await;
                Ok(self.ignore_busy_error(expired)?.unwrap_or_default())
            }
        }
    }

    /// Treats a busy database as transient, and returns `None` for it. Without writes no lease can be lost either.
    fn ignore_busy_error<T>(&self, result: Result<T, StoreError>) -> AppResult<Option<T>> {
        let is_busy = result.as_ref().is_err_and(StoreError::is_busy);
        if self.active_tasks.is_newly_busy(is_busy) {
            self.services.report_event(&TaskEvent::StoreBusy);
        }
        match result {
            Ok(value) => Ok(Some(value)),
            Err(_) if is_busy => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Records named tasks that cannot become ready as ended.
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
        let describe = |error: &AppError| self.services.describe_error(error);
        let stuck = find_stuck_tasks(open, &self.assignment.named_tasks, &heads, &leases, &describe);
        for EndedTask { task_id, end } in stuck {
            if let TaskEnd::Deferred { reason } | TaskEnd::Finished { reason, .. } = &end {
                self.services.report_event(&TaskEvent::Deferred { task: &task_id, reason });
            }
            self.task_ends.insert(task_id, end);
        }
        Ok(())
    }

    /// Reports that the worker has become idle. Returns whether it has just become idle.
    fn report_idle_once(&mut self, tasks: &JoinSet<EndedTask>) -> bool {
        let is_idle = tasks.is_empty() && !self.is_done();
        let is_new = is_idle && !self.is_idle_reported;
        if is_new {
            self.services.report_event(&TaskEvent::Idle);
        }
        self.is_idle_reported = is_idle;
        is_new
    }

    /// Lands finished tasks that other workers did not land, in the background.
    fn spawn_landing_catch_up(&self, landings: &mut JoinSet<()>) {
        let (services, store, keeper) = (Arc::clone(&self.services), Arc::clone(&self.store), self.keeper.clone());
        let named = self.assignment.named_tasks.clone();
        landings.spawn(async move { services.catch_up_landings(&named, &store, &keeper).await });
    }

    /// Returns the tasks in progress and the deferred ones. A worker that runs until a signal tries the latter again after
    /// their delay.
    fn deferred_or_active(&self) -> Vec<String> {
        let retries =
            self.assignment.stop_condition == StopCondition::OnSignal && self.assignment.named_tasks.is_empty();
        let is_due = |deferral: &Deferral| retries && deferral.retry_at <= Instant::now();
        let deferred = self.deferred.iter().filter(|(_, deferral)| !is_due(deferral)).map(|(task, _)| task.clone());
        let active = self.active_tasks.leases().into_iter().map(|lease| lease.task_id);
        deferred.chain(active).chain(self.parked.keys().cloned()).collect()
    }

    /// Forgets the parked tasks whose wait is over, and those that were cancelled meanwhile.
    async fn forget_ended_waits(&mut self) -> AppResult<()> {
        if self.parked.is_empty() {
            return Ok(());
        }
        let heads = self.store.list_tasks().await;
        let Some(heads) = self.ignore_busy_error(heads)? else { return Ok(()) };
        let now = Clock::wall_now();
        let is_open = |task: &String| heads.iter().any(|head| head.id == *task && is_open_status(head.status));
        let (waiting, ended) = std::mem::take(&mut self.parked)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(task, until)| *until > now && is_open(task));
        self.parked = waiting;
        // This worker or another one continues them, or they were cancelled: they have not ended here.
        ended.keys().for_each(|task| drop(self.task_ends.remove(task)));
        Ok(())
    }

    fn update_deferral(&mut self, task: &str, end: &TaskEnd) {
        if matches!(end, TaskEnd::Deferred { .. }) {
            let last = self.deferred.get(task);
            let delay = last.map_or(RETRY_DELAY, |last| (last.delay * 2).min(MAX_RETRY_DELAY));
            self.deferred.insert(task.to_owned(), Deferral { retry_at: Instant::now() + delay, delay });
        } else {
            self.deferred.remove(task);
        }
    }

    fn start_task(&mut self, leased_task: LeasedTask, tasks: &mut JoinSet<EndedTask>) {
        let LeasedTask { lease, row, progress } = leased_task;
        self.active_tasks.insert(&lease);
        let runner = TaskRunner {
            services: Arc::clone(&self.services),
            store: Arc::clone(&self.store),
            keeper: self.keeper.clone(),
            active_tasks: Arc::clone(&self.active_tasks),
            budget: Arc::clone(&self.budget),
            pipeline: Arc::clone(&self.pipeline),
            last_deferral_reason: self.task_ends.get(&lease.task_id).and_then(|end| match end {
                TaskEnd::Deferred { reason } => Some(reason.clone()),
                TaskEnd::Finished { .. } | TaskEnd::Interrupted | TaskEnd::Parked { .. } | TaskEnd::LeaseLost => None,
            }),
            lease,
            task_row: row,
        };
        tasks.spawn(runner.run(progress));
    }

    fn record_task_result(&mut self, joined: Result<EndedTask, tokio::task::JoinError>) {
        let EndedTask { task_id, end } = match joined {
            Ok(ended) => ended,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return,
            },
        };
        if let TaskEnd::Finished { reason, is_agent_failure, .. } = &end {
            self.consecutive_agent_failures = if *is_agent_failure { self.consecutive_agent_failures + 1 } else { 0 };
            if self.consecutive_agent_failures == MAX_CONSECUTIVE_AGENT_FAILURES {
                self.services
                    .report_event(&TaskEvent::TooManyFailures { failures: MAX_CONSECUTIVE_AGENT_FAILURES, reason });
            }
        }
        self.update_deferral(&task_id, &end);
        if let TaskEnd::Parked { until } = &end {
            self.parked.insert(task_id.clone(), *until);
        }
        self.task_ends.insert(task_id, end);
    }

    async fn handle_control(&self, event: ControlEvent) {
        match event {
            ControlEvent::Signal(SignalRequest::Stop(signal)) => {
                self.services.stop_background_work(signal);
                self.active_tasks.stop_all(signal);
            }
            ControlEvent::Signal(SignalRequest::Suspend) => {
                let (request, suspension) = suspend_channel();
                self.forward_suspension(&request);
                drop(request);
                suspension.stop_process().await;
            }
            ControlEvent::Suspend(request) => {
                self.forward_suspension(&request);
                request.wait_for_continue().await;
            }
            // After a read error the next poll tries again.
            ControlEvent::Signal(SignalRequest::CheckOrders) => {
                self.active_tasks
                    .notify_waiting_commands(&self.store.pending_command_targets().await.unwrap_or_default());
            }
            // It holds one lease for each task, and notices a lost one when it renews them.
            ControlEvent::LeaseLost => {}
        }
    }

    fn forward_suspension(&self, request: &SuspendRequest) {
        self.active_tasks.suspend_all(request);
        self.services.suspend_background_work(request);
    }

    async fn renew_leases(&mut self) -> AppResult<()> {
        let lost = self.store.renew_leases(&self.active_tasks.leases(), self.assignment.lease_time).await;
        let lost = self.ignore_busy_error(lost)?.unwrap_or_default();
        lost.iter().for_each(|lease| self.active_tasks.mark_lease_lost(&lease.task_id));
        Ok(())
    }

    /// Expires the leases of dead workers on this machine. Returns whether there were any.
    async fn expire_dead_leases(&self) -> Result<bool, StoreError> {
        let mut has_expired = false;
        for lease in self.store.list_leases().await? {
            let is_dead = RunOwner::parse(&lease.owner).is_some_and(|owner| owner.process.has_exited_here());
            if !lease.is_expired && is_dead {
                self.store.expire_lease(&lease.task_lease).await?;
                has_expired = true;
            }
        }
        Ok(has_expired)
    }
}

/// Returns whether this worker is done with a task that ended so.
fn is_final_end(end: &TaskEnd) -> bool {
    match end {
        TaskEnd::Finished { status, .. } => *status != TaskStatus::Todo,
        TaskEnd::Deferred { .. } | TaskEnd::LeaseLost => true,
        TaskEnd::Interrupted | TaskEnd::Parked { .. } => false,
    }
}

fn is_open_status(status: TaskStatus) -> bool {
    match status {
        TaskStatus::Todo | TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => true,
        TaskStatus::Blocked | TaskStatus::Done | TaskStatus::Cancelled => false,
    }
}
