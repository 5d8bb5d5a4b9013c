//! The loop of the driver: one `select!`, one linear stream of events, and for each a step (`decide.rs`).
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

/// What stops the engine itself. The run then ends without a result, and can be looked at.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("the settings of the run cannot be stored: is there a path that is not UTF-8?")]
    RunSpec { source: serde_json::Error },
    #[error("the folder {} for the logs of the run cannot be made", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the notes {} of the run cannot be made", path.display())]
    Notes { path: PathBuf, source: io::Error },
    #[error("the workspace {} is gone, and the record of the run with it", root.display())]
    Workspace { root: PathBuf },
    #[error("signals cannot be received")]
    Signals { source: io::Error },
}

/// How often the clock on the wall is looked at while a run waits by it.
const WALL_CLOCK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long it takes until something is stored again that could not be because others were writing.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Where a run begins.
pub enum StartMode {
    New,
    /// Where another process left it. A pause stays one.
    Recovered(Box<ResumedRun>),
    /// The same, at a person's wish: a pause is over.
    Resumed(Box<ResumedRun>),
}

/// A run as its last engine left it, taken over.
pub struct ResumedRun {
    pub stored_run: StoredRun,
    /// What is not as it was then.
    pub changes: Vec<String>,
}

/// Runs a loop to its outcome. After an error the store is left as it lies: whoever owns it abandons it.
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
    let (news_in, news) = mpsc::unbounded_channel();
    let (shown_in, shown) = mpsc::channel(32);
    let driver = ProcessDriver {
        state: LoopState::new(plan.policy.clone()),
        record: RunRecord::for_plan(&plan),
        clock: Clock::start(),
        timers: TimerQueue::default(),
        next_seq: 1,
        fence: FIRST_FENCE,
        effects: EffectRunner::new(plan, (resources.keeper, resources.cost_account), news_in, shown_in),
        store: &resources.store,
        lease: resources.lease,
        control: resources.control,
        observer,
    };
    let ended = driver.run(DriverChannels { messages: news, display_updates: shown }, start_mode).await?;
    if let Some(diff_base) = diff_base
        && has_task_lease(&resources.store, stage.as_ref()).await
    {
        diff_base.record_end(ended.outcome).await;
    }
    Ok(ended)
}

/// Tells whether nobody has taken the task of a stage from us: what lies in its tree would not be what we left there.
async fn has_task_lease(store: &Store, stage: Option<&TaskStage>) -> bool {
    let Some((task, lease)) = stage.and_then(|stage| Some((&stage.task, stage.lease_fence?))) else {
        return true;
    };
    store.task_ownership(task).await.is_ok_and(|claim| claim.is_some_and(|owned| owned.fence == lease))
}

/// What happens to a run by itself.
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
            StartMode::Recovered(left) => self.resume_run(left).await,
            StartMode::Resumed(left) => {
                self.resume_run(left).await?;
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
                ask = self.control.next_event() => self.handle_control_event(ask).await?,
                Some(news) = channels.messages.recv() => {
                    self.drain_display_updates(&mut channels.display_updates);
                    self.handle_message(news).await?;
                }
                Some(shown) = channels.display_updates.recv() => self.show_update(&shown),
                () = sleep_until_due(due) => self.handle_due_timer().await?,
            }
        }
    }

    /// Returns when a timer has to be looked at. Who waits by the clock on the wall looks at it now and then.
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

    /// Stores the run with its first step. What was asked of its task before comes first.
    async fn start_new_run(&mut self) -> Result<(), EngineError> {
        let settings = RunSpec::from_plan(&self.effects.plan).to_stored_json();
        let settings = settings.map_err(|source| EngineError::RunSpec { source })?;
        let waiting = match &self.effects.plan.stage {
            Some(_) => self.waiting_orders().await?,
            None => Vec::new(),
        };
        self.run_step(StepInput::for_new_run(settings, waiting)).await
    }

    /// Goes on where another process was stopped.
    async fn resume_run(&mut self, resumed: Box<ResumedRun>) -> Result<(), EngineError> {
        let ResumedRun { stored_run: stored, changes: changed } = *resumed;
        (self.state, self.next_seq, self.fence) = (stored.state, stored.fact_count + 1, stored.fence);
        self.record.replay_stored_facts(self.store, &self.effects.plan.id).await?;
        let waiting = self.waiting_orders().await?;
        self.run_step(StepInput::for_recovery(changed, waiting)).await?;
        self.apply_waiting_orders().await
    }

    /// Takes the orders that wait for this run, one after the other.
    async fn apply_waiting_orders(&mut self) -> Result<(), EngineError> {
        // Who cannot read them now looks again soon; a store that is lost is noticed with the next write.
        for waiting in self.waiting_orders().await.unwrap_or_default() {
            let was_told = self.state.phase.next_signal_kills();
            self.run_step(StepInput::from_order(waiting)).await?;
            self.report_grace_once(was_told);
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
            ControlEvent::Suspend(halt) => {
                self.hold_during_suspend(halt).await;
                Ok(())
            }
            ControlEvent::LeaseLost => {
                Err(StoreError::TakenOver { run: self.effects.plan.id.clone(), owner: None }.into())
            }
        }
    }

    /// Others write to the store all the time. Tells whether to try again: not for somebody who wants a stop, because nothing
    /// can be recorded.
    pub(super) async fn wait_before_retry(&mut self) -> bool {
        loop {
            match tokio::time::timeout(BUSY_RETRY_DELAY, self.control.next_event()).await {
                Err(_) => return true,
                Ok(ControlEvent::Signal(SignalRequest::Stop(_)) | ControlEvent::LeaseLost) => return false,
                Ok(ControlEvent::Signal(SignalRequest::Suspend)) => self.suspend_process().await,
                Ok(ControlEvent::Suspend(halt)) => self.hold_during_suspend(halt).await,
                // It comes again.
                Ok(ControlEvent::Signal(SignalRequest::CheckOrders)) => {}
            }
        }
    }

    async fn handle_stop_signal(&mut self, signal: StopSignal) -> Result<(), EngineError> {
        let was_told = self.state.phase.next_signal_kills();
        self.apply_event(EventKind::Interrupted { signal }).await?;
        self.report_grace_once(was_told);
        Ok(())
    }

    /// Says how long the agent has, once.
    fn report_grace_once(&mut self, was_reported: bool) {
        if self.state.phase.next_signal_kills() && !was_reported {
            self.observer.on_stop_grace(self.effects.plan.stop_grace);
        }
    }

    /// Stops with the agent, and goes on with it: no timer runs meanwhile.
    async fn suspend_process(&mut self) {
        self.pause_agent().await;
        self.clock.while_stopped(stop_own_process);
        self.resume_agent();
    }

    /// Holds the agent while the process stands still with all the loops that it drives.
    async fn hold_during_suspend(&mut self, halt: SuspendRequest) {
        self.pause_agent().await;
        let before = Instant::now();
        halt.wait_for_continue().await;
        self.clock.add_stopped_since(before);
        self.resume_agent();
    }

    async fn pause_agent(&mut self) {
        pause_job(|order| self.effects.send_command(order)).await;
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
            DriverMessage::SnapshotTaken(seen) => {
                self.record_snapshot(seen);
                Ok(())
            }
            DriverMessage::Panicked(key, what) => self.apply_event(EventKind::Faulted { key, what }).await,
            DriverMessage::AttemptEnded(key, report) => {
                failpoints::reach_fail_point(FailPoint::AgentExitedUnrecorded);
                self.effects.remember_final_text(key, &report);
                if !self.effects.plan.project.root.is_dir() {
                    let root = self.effects.plan.project.root.display();
                    let what = format!("the workspace {root} is gone: the agent removed it");
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

    /// A timer ran out. Silence is measured from the last output, so its timer may have to wait longer. So may that of
    /// repeats: an agent that has told of none for a while may be at work on a long answer.
    async fn handle_due_timer(&mut self) -> Result<(), EngineError> {
        let now = self.clock.active_elapsed();
        let wall = Clock::wall_now();
        let Some(timer) = self.timers.take_due(now, wall) else {
            if let LoopPhase::Limited { wait, .. } = &self.state.phase {
                self.observer.on_limit_wait(Duration::from_millis(wait.remaining_ms(wall)));
            }
            return Ok(());
        };
        if let LoopTimer::Silence { .. } = timer {
            let allowed = Duration::from_millis(self.state.policy.timeouts.silence_ms);
            let left = allowed.saturating_sub(self.effects.activity.silence_duration());
            if !left.is_zero() {
                self.timers.start(timer, now + left);
                return Ok(());
            }
        }
        if let LoopTimer::Repeating { .. } = timer {
            let half = Duration::from_millis(self.state.policy.timeouts.repeating_ms) / 2;
            if self.effects.retry_activity.silence_duration() > half {
                self.timers.start(timer, now + half);
                return Ok(());
            }
        }
        self.apply_event(EventKind::TimerFired { timer }).await
    }

    async fn apply_event(&mut self, kind: EventKind) -> Result<(), EngineError> {
        self.run_step(StepInput::from_event(kind)).await
    }

    fn drain_display_updates(&mut self, updates: &mut mpsc::Receiver<DisplayUpdate>) {
        while let Ok(shown) = updates.try_recv() {
            self.show_update(&shown);
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
