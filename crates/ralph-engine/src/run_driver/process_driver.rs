//! The driver of a run in this process: one `select!` that makes an event of everything that happens, the loop runner that
//! decides and records, and the effect runner that performs what was decided.
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_core::budget::BudgetUsage;
use ralph_core::control_command::ControlCommand;
use ralph_core::event::{EventKind, LoopTimer, StopSignal, WorkEvent};
use ralph_core::evidence::Verdict;
use ralph_core::loop_state::LoopPhase;
use ralph_core::outcome::RunEnd;
use tokio::sync::mpsc;

use super::apply_event::DriverInput;
use super::attempt::attempt_runner::AttemptChannels;
use super::attempt::driver_message::{DisplayUpdate, DriverMessage};
use super::attempt::remaining_budget::LiveBudget;
use super::attempt::snapshots::RunStartSnapshot;
use super::clock::Clock;
use super::control_input::{ControlEvent, ControlInput, SignalRequest, stop_own_process};
use super::cost_ledger::CostAccount;
use super::effect_runner::EffectRunner;
use super::journal::loop_runner::LoopRunner;
use super::journal::run_observer::RunObserver;
use super::journal::run_record::RunRecord;
use super::journal::step_journal::StoreJournal;
use super::plan::run_notes;
use super::plan::run_plan::RunPlan;
use super::run_resources::{RunLease, RunResources};
use super::suspend::{SuspendRequest, pause_job};
use super::timer_queue::TimerQueue;
use crate::lock::LockError;
use crate::project::StateFolderError;
use ralph_process::JobCommand;
use ralph_store::{PendingCommand, Store, StoreError, StoredRun};
use ralph_util::failpoints::{self, FailPoint};

/// An error of the engine itself. The run then ends without a result and can be inspected.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("cannot store the settings of the run: a path may not be UTF-8")]
    RunSpec { source: serde_json::Error },
    #[error("cannot create the state folder {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot create the notes file {}", path.display())]
    Notes { path: PathBuf, source: io::Error },
    #[error("cannot receive signals")]
    Signals { source: io::Error },
}

impl From<StateFolderError> for EngineError {
    fn from(StateFolderError { path, source }: StateFolderError) -> Self {
        Self::Folder { path, source }
    }
}

/// How often the wall clock is read while a run waits for a rate limit.
const WALL_CLOCK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The delay before a write to a busy database is retried.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(100);

/// How a run starts.
pub enum StartMode {
    New,
    /// Continues where another process was stopped. A paused run stays paused.
    Recovered(Box<ResumedRun>),
    /// The same at a person's request, which ends a pause.
    Resumed(Box<ResumedRun>),
}

/// A stored run that this process has taken over.
pub struct ResumedRun {
    pub stored_run: StoredRun,
    /// Descriptions of what has changed since the run started.
    pub changes: Vec<String>,
}

/// Runs a loop to its outcome. After an error, the steps that were stored before it remain.
pub async fn run_loop(
    plan: RunPlan,
    start_mode: StartMode,
    resources: RunResources,
    observer: &mut dyn RunObserver,
) -> Result<RunEnd, EngineError> {
    let notes = plan.context.project.notes_file(&plan.context.id);
    run_notes::create_if_missing(&notes).map_err(|source| EngineError::Notes { path: notes, source })?;
    let start_snapshot = match &start_mode {
        StartMode::New => Some(RunStartSnapshot::begin(&plan)),
        StartMode::Recovered(_) | StartMode::Resumed(_) => None,
    };
    let (plan, store) = (Arc::new(plan), Arc::clone(&resources.store));
    let runner = open_loop(&plan, &start_mode, &resources, observer).await;
    let runner = runner.inspect_err(|_| start_snapshot.iter().for_each(RunStartSnapshot::cancel))?;
    let (message_sender, messages) = mpsc::unbounded_channel();
    let (update_sender, display_updates) = mpsc::channel(32);
    let RunResources { keeper, lease, store: _, control, cost_account } = resources;
    let channels = AttemptChannels { messages: message_sender, display_updates: update_sender };
    let driver = ProcessDriver {
        effects: EffectRunner::new(Arc::clone(&plan), keeper, channels, start_snapshot.clone()),
        plan: Arc::clone(&plan),
        runner,
        clock: Clock::start(),
        timers: TimerQueue::default(),
        store: Arc::clone(&store),
        _lease: lease,
        control,
        cost_account,
        others_used: Vec::new(),
        live_budget: None,
    };
    let ended = driver.run(DriverChannels { messages, display_updates }, start_mode).await;
    start_snapshot.iter().for_each(RunStartSnapshot::cancel);
    let (ended, mut control) = ended?;
    if let Some(start_snapshot) = start_snapshot
        && has_task_lease(&store, &plan).await
    {
        start_snapshot.record_end(ended.outcome, &mut control).await;
    }
    Ok(ended)
}

/// Returns the loop of a new run, or of a stored one.
async fn open_loop<'a>(
    plan: &Arc<RunPlan>,
    start_mode: &StartMode,
    resources: &RunResources,
    observer: &'a mut dyn RunObserver,
) -> Result<LoopRunner<'a, StoreJournal>, EngineError> {
    let (plan, store) = (Arc::clone(plan), Arc::clone(&resources.store));
    match start_mode {
        StartMode::New => {
            let journal = StoreJournal::for_new_run(store, Arc::clone(&plan), resources.lease.owner().to_json());
            let journal = journal.map_err(|source| EngineError::RunSpec { source })?;
            Ok(LoopRunner::new(plan, journal, observer))
        }
        StartMode::Recovered(resumed) | StartMode::Resumed(resumed) => {
            let record = RunRecord::load(&plan, &store).await?;
            let journal = StoreJournal::for_stored_run(store, Arc::clone(&plan), resumed.stored_run.fence);
            Ok(LoopRunner::resume(plan, &resumed.stored_run, record, journal, observer))
        }
    }
}

/// Returns whether this process still holds the lease of the stage's task. Otherwise another worker may have changed the
/// work tree.
async fn has_task_lease(store: &Store, plan: &RunPlan) -> bool {
    let (Some(stage), Some(fence)) = (&plan.spec.stage, plan.context.lease_fence) else { return true };
    store.task_ownership(&stage.task).await.is_ok_and(|ownership| ownership.is_some_and(|owned| owned.fence == fence))
}

/// The channels from the tasks of the run to the driver.
struct DriverChannels {
    messages: mpsc::UnboundedReceiver<DriverMessage>,
    display_updates: mpsc::Receiver<DisplayUpdate>,
}

pub(super) struct ProcessDriver<'a> {
    pub(super) plan: Arc<RunPlan>,
    pub(super) runner: LoopRunner<'a, StoreJournal>,
    pub(super) effects: EffectRunner,
    pub(super) clock: Clock,
    pub(super) timers: TimerQueue,
    pub(super) store: Arc<Store>,
    control: ControlInput,
    /// The account in which the worker of this run counts its cost.
    pub(super) cost_account: Option<CostAccount>,
    /// The usage of the shared budgets by other runs.
    pub(super) others_used: Vec<BudgetUsage>,
    /// The budget that the agent of the last attempt sees.
    pub(super) live_budget: Option<LiveBudget>,
    /// Held until the run has ended.
    _lease: RunLease,
}

impl ProcessDriver<'_> {
    /// Runs to the end, and returns the source of control events for the work that follows.
    async fn run(
        mut self,
        channels: DriverChannels,
        start_mode: StartMode,
    ) -> Result<(RunEnd, ControlInput), EngineError> {
        let ended = match self.begin_run(start_mode).await {
            Ok(()) => self.run_until_finished(channels).await,
            Err(error) => Err(error),
        };
        if ended.is_err() {
            self.effects.kill_and_wait().await;
        }
        ended.map(|end| (end, self.control))
    }

    async fn begin_run(&mut self, start_mode: StartMode) -> Result<(), EngineError> {
        match start_mode {
            StartMode::New => self.start_new_run().await,
            StartMode::Recovered(resumed) => self.resume_run(resumed.changes).await,
            StartMode::Resumed(resumed) => {
                self.resume_run(resumed.changes).await?;
                self.apply_event(EventKind::command_received(ControlCommand::Resume)).await
            }
        }
    }

    async fn run_until_finished(&mut self, mut channels: DriverChannels) -> Result<RunEnd, EngineError> {
        loop {
            if let Some(ended) = self.runner.state().run_end() {
                return Ok(ended.clone());
            }
            let due = self.next_wakeup();
            tokio::select! {
                event = self.control.next_event() => self.handle_control_event(event).await?,
                Some(message) = channels.messages.recv() => {
                    self.drain_display_updates(&mut channels.display_updates);
                    self.handle_message(message).await?;
                }
                Some(update) = channels.display_updates.recv() => self.show_update(&update),
                () = sleep_until_due(due) => self.handle_due_timer().await?,
            }
        }
    }

    /// Returns how long to sleep until the next timer is due. A wait for a rate limit also polls the wall clock.
    fn next_wakeup(&self) -> Option<Duration> {
        let due = self.timers.next_due().map(|due| due.saturating_sub(self.clock.active_elapsed()));
        match &self.runner.state().phase {
            LoopPhase::Limited { .. } => due.map(|due| due.min(WALL_CLOCK_POLL_INTERVAL)),
            LoopPhase::Ready
            | LoopPhase::Preparing { .. }
            | LoopPhase::PreparingStopped { .. }
            | LoopPhase::Working { .. }
            | LoopPhase::Waiting { .. }
            | LoopPhase::Verifying { .. }
            | LoopPhase::Stopping { .. }
            | LoopPhase::Paused { .. }
            | LoopPhase::Interrupted { .. }
            | LoopPhase::Finished { .. } => due,
        }
    }

    /// Stores the run with its first step. Orders that wait for its task are applied first.
    async fn start_new_run(&mut self) -> Result<(), EngineError> {
        let waiting = match &self.plan.spec.stage {
            Some(_) => self.waiting_commands().await?,
            None => Vec::new(),
        };
        self.apply_input(DriverInput::for_new_run(self.plan.opening(), waiting)).await
    }

    /// Continues where another process was stopped.
    async fn resume_run(&mut self, changes: Vec<String>) -> Result<(), EngineError> {
        let waiting = self.waiting_commands().await?;
        self.apply_input(DriverInput::for_recovery(changes, waiting)).await?;
        self.apply_waiting_commands().await
    }

    /// Applies the orders that wait for this run, one after the other.
    async fn apply_waiting_commands(&mut self) -> Result<(), EngineError> {
        // After a read error the next poll tries again; the next write reports a lost store.
        for order in self.waiting_commands().await.unwrap_or_default() {
            let was_reported = self.runner.state().phase.next_signal_kills();
            self.apply_input(DriverInput::from_command(order)).await?;
            self.report_grace_once(was_reported);
        }
        Ok(())
    }

    async fn waiting_commands(&mut self) -> Result<Vec<PendingCommand>, StoreError> {
        let plan = &self.plan;
        self.store.pending_commands(&plan.context.id, plan.spec.stage.as_ref().map(|stage| stage.task.as_str())).await
    }

    async fn handle_control_event(&mut self, event: ControlEvent) -> Result<(), EngineError> {
        match event {
            ControlEvent::Signal(SignalRequest::Stop(signal)) => self.handle_stop_signal(signal).await,
            ControlEvent::Signal(SignalRequest::Suspend) => {
                self.suspend_process().await;
                Ok(())
            }
            ControlEvent::Signal(SignalRequest::CheckOrders) => self.apply_waiting_commands().await,
            ControlEvent::Suspend(request) => {
                self.hold_during_suspend(request).await;
                Ok(())
            }
            ControlEvent::LeaseLost => {
                Err(StoreError::TakenOver { run: self.plan.context.id.clone(), owner: None }.into())
            }
        }
    }

    /// Waits before a write to a busy database is retried. Returns false after a stop or a lost lease, because nothing can be
    /// recorded.
    pub(super) async fn wait_before_retry(&mut self) -> bool {
        loop {
            match tokio::time::timeout(BUSY_RETRY_DELAY, self.control.next_event()).await {
                Err(_) => return true,
                Ok(ControlEvent::Signal(SignalRequest::Stop(_)) | ControlEvent::LeaseLost) => return false,
                Ok(ControlEvent::Signal(SignalRequest::Suspend)) => self.suspend_process().await,
                Ok(ControlEvent::Suspend(request)) => self.hold_during_suspend(request).await,
                // The next poll checks again.
                Ok(ControlEvent::Signal(SignalRequest::CheckOrders)) => {}
            }
        }
    }

    async fn handle_stop_signal(&mut self, signal: StopSignal) -> Result<(), EngineError> {
        let was_reported = self.runner.state().phase.next_signal_kills();
        self.apply_event(EventKind::interrupted(signal)).await?;
        self.report_grace_once(was_reported);
        Ok(())
    }

    /// Reports once how long the agent has to stop.
    fn report_grace_once(&mut self, was_reported: bool) {
        if self.runner.state().phase.next_signal_kills() && !was_reported {
            self.runner.observer.on_stop_grace(self.plan.spec.stop_grace);
        }
    }

    /// Stops the process together with the agent, and resumes both. No timer runs meanwhile.
    async fn suspend_process(&mut self) {
        self.pause_agent().await;
        self.clock.while_stopped(stop_own_process);
        self.resume_agent();
    }

    /// Pauses the agent while the process is suspended with all its loops.
    async fn hold_during_suspend(&mut self, request: SuspendRequest) {
        self.pause_agent().await;
        let before = Instant::now();
        request.wait_for_continue().await;
        self.clock.add_stopped_since(before);
        self.resume_agent();
    }

    async fn pause_agent(&mut self) {
        pause_job(|command| self.effects.send_command(command)).await;
    }

    fn resume_agent(&mut self) {
        self.effects.attempts.activity.mark_activity();
        self.effects.send_command(JobCommand::Resume);
    }

    async fn handle_message(&mut self, message: DriverMessage) -> Result<(), EngineError> {
        match message {
            DriverMessage::Activity(key, activity) => self.apply_event(EventKind::Agent { key, activity }).await,
            DriverMessage::Work(event) => self.handle_work_event(event).await,
            DriverMessage::Warning(text) => {
                self.runner.observer.on_warning(&text);
                Ok(())
            }
        }
    }

    async fn handle_work_event(&mut self, event: WorkEvent) -> Result<(), EngineError> {
        match &event {
            WorkEvent::AttemptEnded { key, report } => {
                failpoints::reach_fail_point(FailPoint::AgentExitedUnrecorded);
                self.effects.remember_reading(*key, report);
                let root = &self.plan.context.project.root;
                if !root.is_dir() {
                    let what = format!("the agent removed the workspace {}", root.display());
                    self.apply_event(EventKind::broken(what)).await?;
                }
            }
            WorkEvent::Verified { evidence, .. } if evidence.verdict() == Verdict::Accepted => {
                failpoints::reach_fail_point(FailPoint::VerifyPassedUnrecorded);
            }
            WorkEvent::Verified { .. } | WorkEvent::Prepared { .. } | WorkEvent::Faulted { .. } => {}
        }
        self.apply_event(EventKind::Work(event)).await
    }

    /// Reports the timer that is due, with the quiet time of the activity that it watches. The rules may extend it.
    async fn handle_due_timer(&mut self) -> Result<(), EngineError> {
        let now = self.clock.active_elapsed();
        let wall = Clock::wall_now();
        let Some(timer) = self.timers.take_due(now, wall) else {
            if let LoopPhase::Limited { wait, .. } = &self.runner.state().phase {
                self.runner.observer.on_limit_wait(Duration::from_millis(wait.remaining_ms(wall)));
            }
            return Ok(());
        };
        let watched = match timer {
            LoopTimer::Silence { .. } => Some(&self.effects.attempts.activity),
            LoopTimer::Repeating { .. } => Some(&self.effects.attempts.retry_activity),
            _ => None,
        };
        let quiet_ms = watched.map(|clock| u64::try_from(clock.silence_duration().as_millis()).unwrap_or(u64::MAX));
        self.apply_event(EventKind::TimerFired { timer, quiet_ms }).await
    }

    fn drain_display_updates(&mut self, updates: &mut mpsc::Receiver<DisplayUpdate>) {
        while let Ok(update) = updates.try_recv() {
            self.show_update(&update);
        }
    }

    fn show_update(&mut self, update: &DisplayUpdate) {
        match update {
            DisplayUpdate::Events(events) => events.iter().for_each(|event| self.runner.observer.on_agent_event(event)),
            DisplayUpdate::Lines(lines) => lines.iter().for_each(|line| self.runner.observer.on_display_line(line)),
        }
    }
}

async fn sleep_until_due(due: Option<Duration>) {
    match due {
        Some(due) => tokio::time::sleep(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send<T: Send>(_: T) {}

    /// Compiles only if a run can be spawned on a runtime with several threads.
    #[expect(dead_code, reason = "the compiler checks it; it is never called")]
    fn the_future_of_a_run_is_send(
        plan: RunPlan,
        start_mode: StartMode,
        resources: RunResources,
        observer: &mut dyn RunObserver,
    ) {
        assert_send(run_loop(plan, start_mode, resources, observer));
    }
}
