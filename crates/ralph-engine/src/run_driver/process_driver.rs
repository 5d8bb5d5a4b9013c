//! The event loop of the driver: one `select!` that yields a linear stream of events, and a step for each (`step_runner.rs`).
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ralph_core::control_command;
use ralph_core::event::{EventKind, LoopTimer, StopSignal};
use ralph_core::evidence::Verdict;
use ralph_core::loop_state::{LoopPhase, LoopState};
use ralph_core::outcome::RunEnd;
use tokio::sync::mpsc;

use super::clock::Clock;
use super::control_input::{ControlEvent, ControlInput, SignalRequest, stop_own_process};
use super::driver_message::{DisplayUpdate, DriverMessage};
use super::effect_runner::EffectRunner;
use super::run_notes;
use super::run_observer::RunObserver;
use super::run_plan::{RunPlan, TaskStage};
use super::run_record::RunRecord;
use super::run_resources::{RunLease, RunResources};
use super::run_spec::RunSpec;
use super::snapshots::RunDiffBase;
use super::step_runner::StepInput;
use super::suspend::{SuspendRequest, pause_job};
use super::timer_queue::TimerQueue;
use crate::lock::LockError;
use ralph_process::JobCommand;
use ralph_store::{FIRST_FENCE, PendingCommand, Store, StoreError, StoredRun};
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
    #[error("the workspace {} was removed, and with it the record of the run", root.display())]
    Workspace { root: PathBuf },
    #[error("cannot receive signals")]
    Signals { source: io::Error },
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

/// Runs a loop to its outcome. After an error the store is left unchanged.
pub async fn run_loop(
    plan: RunPlan,
    start_mode: StartMode,
    resources: RunResources,
    observer: &mut dyn RunObserver,
) -> Result<RunEnd, EngineError> {
    let notes = plan.project.notes_file(&plan.id);
    run_notes::create_if_missing(&notes).map_err(|source| EngineError::Notes { path: notes, source })?;
    let diff_base = match &start_mode {
        StartMode::New => RunDiffBase::record_start(&plan).await,
        StartMode::Recovered(_) | StartMode::Resumed(_) => None,
    };
    let stage = plan.stage.clone();
    let (message_sender, messages) = mpsc::unbounded_channel();
    let (update_sender, display_updates) = mpsc::channel(32);
    let driver = ProcessDriver {
        state: LoopState::new(plan.loop_policy()),
        record: RunRecord::for_plan(&plan),
        clock: Clock::start(),
        timers: TimerQueue::default(),
        next_seq: 1,
        fence: FIRST_FENCE,
        effects: EffectRunner::new(plan, resources.keeper, resources.cost_account, message_sender, update_sender),
        store: &resources.store,
        lease: resources.lease,
        control: resources.control,
        observer,
    };
    let ended = driver.run(DriverChannels { messages, display_updates }, start_mode).await?;
    if let Some(diff_base) = diff_base
        && has_task_lease(&resources.store, stage.as_ref()).await
    {
        diff_base.record_end(ended.outcome).await;
    }
    Ok(ended)
}

/// Returns whether this process still holds the lease of the stage's task. Otherwise another worker may have changed the
/// work tree.
async fn has_task_lease(store: &Store, stage: Option<&TaskStage>) -> bool {
    let Some((task, fence)) = stage.and_then(|stage| Some((&stage.task, stage.lease_fence?))) else {
        return true;
    };
    store.task_ownership(task).await.is_ok_and(|ownership| ownership.is_some_and(|owned| owned.fence == fence))
}

/// The channels from the tasks of the run to the driver.
struct DriverChannels {
    messages: mpsc::UnboundedReceiver<DriverMessage>,
    display_updates: mpsc::Receiver<DisplayUpdate>,
}

pub(super) struct ProcessDriver<'a> {
    pub(super) state: LoopState,
    pub(super) clock: Clock,
    pub(super) timers: TimerQueue,
    pub(super) next_seq: i64,
    pub(super) fence: i64,
    pub(super) effects: EffectRunner,
    pub(super) store: &'a Store,
    pub(super) lease: RunLease,
    control: ControlInput,
    pub(super) record: RunRecord,
    pub(super) observer: &'a mut dyn RunObserver,
}

impl ProcessDriver<'_> {
    async fn run(mut self, channels: DriverChannels, start_mode: StartMode) -> Result<RunEnd, EngineError> {
        let ended = match self.begin_run(start_mode).await {
            Ok(()) => self.run_until_finished(channels).await,
            Err(error) => Err(error),
        };
        if ended.is_err() {
            self.effects.kill_and_wait().await;
        }
        ended
    }

    async fn begin_run(&mut self, start_mode: StartMode) -> Result<(), EngineError> {
        match start_mode {
            StartMode::New => self.start_new_run().await,
            StartMode::Recovered(resumed) => self.resume_run(resumed).await,
            StartMode::Resumed(resumed) => {
                self.resume_run(resumed).await?;
                self.apply_event(EventKind::Ordered { order: control_command::ControlCommand::Resume }).await
            }
        }
    }

    async fn run_until_finished(&mut self, mut channels: DriverChannels) -> Result<RunEnd, EngineError> {
        loop {
            if let Some(ended) = self.state.run_end() {
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
        match &self.state.phase {
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
        let settings = RunSpec::from_plan(&self.effects.plan).to_stored_json();
        let settings = settings.map_err(|source| EngineError::RunSpec { source })?;
        let waiting = match &self.effects.plan.stage {
            Some(_) => self.waiting_orders().await?,
            None => Vec::new(),
        };
        self.run_step(StepInput::for_new_run(settings, waiting)).await
    }

    /// Continues where another process was stopped.
    async fn resume_run(&mut self, resumed: Box<ResumedRun>) -> Result<(), EngineError> {
        let ResumedRun { stored_run: stored, changes } = *resumed;
        (self.state, self.next_seq, self.fence) = (stored.state, stored.fact_count + 1, stored.fence);
        self.record.replay_stored_facts(self.store, &self.effects.plan.id).await?;
        let waiting = self.waiting_orders().await?;
        self.run_step(StepInput::for_recovery(changes, waiting)).await?;
        self.apply_waiting_orders().await
    }

    /// Applies the orders that wait for this run, one after the other.
    async fn apply_waiting_orders(&mut self) -> Result<(), EngineError> {
        // After a read error the next poll tries again; the next write reports a lost store.
        for order in self.waiting_orders().await.unwrap_or_default() {
            let was_reported = self.state.phase.next_signal_kills();
            self.run_step(StepInput::from_order(order)).await?;
            self.report_grace_once(was_reported);
        }
        Ok(())
    }

    async fn waiting_orders(&self) -> Result<Vec<PendingCommand>, StoreError> {
        let plan = &self.effects.plan;
        self.store.pending_commands(&plan.id, plan.stage.as_ref().map(|stage| stage.task.as_str())).await
    }

    async fn handle_control_event(&mut self, event: ControlEvent) -> Result<(), EngineError> {
        match event {
            ControlEvent::Signal(SignalRequest::Stop(signal)) => self.handle_stop_signal(signal).await,
            ControlEvent::Signal(SignalRequest::Suspend) => {
                self.suspend_process().await;
                Ok(())
            }
            ControlEvent::Signal(SignalRequest::CheckOrders) => self.apply_waiting_orders().await,
            ControlEvent::Suspend(request) => {
                self.hold_during_suspend(request).await;
                Ok(())
            }
            ControlEvent::LeaseLost => {
                Err(StoreError::TakenOver { run: self.effects.plan.id.clone(), owner: None }.into())
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
        let was_reported = self.state.phase.next_signal_kills();
        self.apply_event(EventKind::Interrupted { signal }).await?;
        self.report_grace_once(was_reported);
        Ok(())
    }

    /// Reports once how long the agent has to stop.
    fn report_grace_once(&mut self, was_reported: bool) {
        if self.state.phase.next_signal_kills() && !was_reported {
            self.observer.on_stop_grace(self.effects.plan.stop_grace);
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
        self.effects.activity.mark_activity();
        self.effects.send_command(JobCommand::Resume);
    }

    async fn handle_message(&mut self, message: DriverMessage) -> Result<(), EngineError> {
        match message {
            DriverMessage::ResultSeen(key) => self.apply_event(EventKind::ResultSeen { key }).await,
            DriverMessage::OutputResumed(key) => self.apply_event(EventKind::SpokeAgain { key }).await,
            DriverMessage::Repeating(key) => self.apply_event(EventKind::Repeating { key }).await,
            DriverMessage::RepeatingEnded(key) => self.apply_event(EventKind::GotOn { key }).await,
            DriverMessage::HandshakeStarted(key) => self.apply_event(EventKind::HandshakeBegan { key }).await,
            DriverMessage::HandshakeDone(key) => self.apply_event(EventKind::HandshakeDone { key }).await,
            DriverMessage::Overspent(key, spend) => self.apply_event(EventKind::Overspent { key, spend }).await,
            DriverMessage::Prepared(sealing, baseline) => {
                self.apply_event(EventKind::Prepared { sealing, baseline }).await
            }
            DriverMessage::Verified(key, evidence) => {
                if evidence.verdict() == Verdict::Accepted {
                    failpoints::reach_fail_point(FailPoint::VerifyPassedUnrecorded);
                }
                self.apply_event(EventKind::Verified { key, evidence }).await
            }
            DriverMessage::SnapshotTaken(snapshot) => {
                self.record_snapshot(snapshot);
                Ok(())
            }
            DriverMessage::Panicked(key, what) => self.apply_event(EventKind::Faulted { key, what }).await,
            DriverMessage::AttemptEnded(key, report) => {
                failpoints::reach_fail_point(FailPoint::AgentExitedUnrecorded);
                self.effects.remember_reading(key, &report);
                if !self.effects.plan.project.root.is_dir() {
                    let root = self.effects.plan.project.root.display();
                    let what = format!("the agent removed the workspace {root}");
                    self.apply_event(EventKind::Broken { what }).await?;
                }
                self.apply_event(EventKind::AttemptEnded { key, report }).await
            }
            DriverMessage::Warning(text) => {
                self.observer.on_warning(&text);
                Ok(())
            }
        }
    }

    /// Reports the timer that is due, with the quiet time of the activity that it watches. The rules may extend it.
    async fn handle_due_timer(&mut self) -> Result<(), EngineError> {
        let now = self.clock.active_elapsed();
        let wall = Clock::wall_now();
        let Some(timer) = self.timers.take_due(now, wall) else {
            if let LoopPhase::Limited { wait, .. } = &self.state.phase {
                self.observer.on_limit_wait(Duration::from_millis(wait.remaining_ms(wall)));
            }
            return Ok(());
        };
        let watched = match timer {
            LoopTimer::Silence { .. } => Some(&self.effects.activity),
            LoopTimer::Repeating { .. } => Some(&self.effects.retry_activity),
            _ => None,
        };
        let quiet_ms = watched.map(|clock| u64::try_from(clock.silence_duration().as_millis()).unwrap_or(u64::MAX));
        self.apply_event(EventKind::TimerFired { timer, quiet_ms }).await
    }

    async fn apply_event(&mut self, kind: EventKind) -> Result<(), EngineError> {
        self.run_step(StepInput::from_event(kind)).await
    }

    fn drain_display_updates(&mut self, updates: &mut mpsc::Receiver<DisplayUpdate>) {
        while let Ok(update) = updates.try_recv() {
            self.show_update(&update);
        }
    }

    fn show_update(&mut self, update: &DisplayUpdate) {
        match update {
            DisplayUpdate::Events(events) => events.iter().for_each(|event| self.observer.on_agent_event(event)),
            DisplayUpdate::Lines(lines) => lines.iter().for_each(|line| self.observer.on_display_line(line)),
        }
    }
}

async fn sleep_until_due(due: Option<Duration>) {
    match due {
        Some(due) => tokio::time::sleep(due).await,
        None => std::future::pending().await,
    }
}
