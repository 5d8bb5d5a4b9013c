//! Performs the effects that the rules decide: runs agents and checks as tasks, and sends commands to them.
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ralph_core::attempt::{AttemptReport, RetryAdvice};
use ralph_core::claim::ClaimReading;
use ralph_core::effect::{AgentStart, Effect};
use ralph_core::event::{AttemptKey, WorkEvent};
use ralph_core::policy::BaselineMode;
use ralph_core::seal::Seal;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};

use super::attempt::agent_process::not_started_report;
use super::attempt::attempt_runner::{AttemptChannels, AttemptRequest, AttemptRunner};
use super::attempt::driver_message::DriverMessage;
use super::attempt::remaining_budget::RemainingBudget;
use super::attempt::snapshots::{RunStartSnapshot, UndoNotice};
use super::claim_verifier::{ClaimRequest, ClaimVerifier, VerifiedClaim};
use super::plan::run_plan::RunPlan;
use crate::verify::VerificationPreparation;
use ralph_agents::GracefulSignal;
use ralph_process::{JobCommand, Keeper, LogBudget, TerminationSignal};

/// How long the processes of an agent may take to exit after a kill.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct EffectRunner {
    plan: Arc<RunPlan>,
    pub(super) attempts: AttemptRunner,
    verifier: ClaimVerifier,
    messages: mpsc::UnboundedSender<DriverMessage>,
    running: Option<RunningWork>,
    /// The files before the run: nothing starts before they are recorded.
    start_snapshot: Option<RunStartSnapshot>,
    is_snapshot_reported: bool,
    /// The agent's final message in that attempt.
    last_reading: Option<(AttemptKey, ClaimReading)>,
}

/// The running agent, or the running checks.
struct RunningWork {
    commands: mpsc::UnboundedSender<JobCommand>,
    abort_handle: AbortHandle,
    /// Ends after the work, and reports a panic of it.
    panic_monitor: JoinHandle<()>,
}

impl EffectRunner {
    pub(super) fn new(
        plan: Arc<RunPlan>,
        keeper: Keeper,
        channels: AttemptChannels,
        start_snapshot: Option<RunStartSnapshot>,
    ) -> Self {
        let log_budget = LogBudget::new(plan.raw_log_bytes(), &plan.context.run_folder());
        Self {
            messages: channels.messages.clone(),
            attempts: AttemptRunner::new(Arc::clone(&plan), keeper.clone(), log_budget.clone(), channels),
            verifier: ClaimVerifier::new(Arc::clone(&plan), keeper, log_budget),
            plan,
            start_snapshot,
            is_snapshot_reported: false,
            running: None,
            last_reading: None,
        }
    }

    /// Prepares a start among the effects while they are being stored. Only reads: nothing is started.
    pub(super) fn prepare_starts(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::StartAgent(start) = effect {
                self.attempts.prepare(start);
            }
        }
    }

    /// Returns the snapshot of the start for the first work of the run, which waits for it.
    fn unreported_snapshot(&mut self) -> Option<RunStartSnapshot> {
        let is_reported = std::mem::replace(&mut self.is_snapshot_reported, true);
        self.start_snapshot.clone().filter(|_| !is_reported)
    }

    pub(super) fn start_agent(&mut self, start: AgentStart, budget: RemainingBudget) {
        let key = start.key;
        let (command_sender, commands) = mpsc::unbounded_channel();
        self.attempts.cancel_flag = Arc::default();
        let attempt = self.attempts.run(AttemptRequest { start, budget }, commands);
        let messages = self.messages.clone();
        let start_snapshot = self.unreported_snapshot();
        let work = async move {
            let report = match wait_for_snapshot(start_snapshot, &messages).await {
                SnapshotWait::Ended => attempt.await,
                SnapshotWait::Stopped => Box::new(not_started_report(STOPPED_EARLY.to_owned(), RetryAdvice::None)),
            };
            let _ = messages.send(DriverMessage::Work(WorkEvent::AttemptEnded { key, report }));
        };
        self.running = Some(self.spawn_work(key, command_sender, work));
    }

    /// Remembers the agent's final message: it may be a claim that is verified.
    pub(super) fn remember_reading(&mut self, key: AttemptKey, report: &AttemptReport) {
        self.last_reading = Some((key, report.reading.clone()));
    }

    pub(super) fn start_preparation(&mut self, round: u32, baseline: BaselineMode) {
        let (command_sender, commands) = mpsc::unbounded_channel();
        let preparation = self.verifier.prepare(round, baseline, commands);
        let messages = self.messages.clone();
        let start_snapshot = self.unreported_snapshot();
        let work = async move {
            // A stop is also sent to the preparation, which then ends at once.
            wait_for_snapshot(start_snapshot, &messages).await;
            let VerificationPreparation { sealing, baseline } = preparation.await;
            let _ = messages.send(DriverMessage::Work(WorkEvent::Prepared { sealing, baseline }));
        };
        self.running = Some(self.spawn_work(AttemptKey::PREPARATION, command_sender, work));
    }

    /// Verifies the claim of an attempt. `agent` is the number of the agent that made it.
    pub(super) fn start_checks(&mut self, key: AttemptKey, round: u32, agent: u32, seal: Option<Seal>) {
        let reading = self.last_reading.as_ref().filter(|(attempt, _)| *attempt == key);
        let reading = reading.map(|(_, reading)| reading.clone());
        let (command_sender, commands) = mpsc::unbounded_channel();
        let verification = self.verifier.verify(ClaimRequest { key, round, seal, agent, reading }, commands);
        let messages = self.messages.clone();
        let work = async move {
            let VerifiedClaim { evidence, snapshot, tree_after_checks, warnings } = verification.await;
            warnings.into_iter().for_each(|warning| drop(messages.send(DriverMessage::Warning(warning))));
            let verified = WorkEvent::Verified { key, evidence, snapshot, tree_after_checks };
            let _ = messages.send(DriverMessage::Work(verified));
        };
        self.running = Some(self.spawn_work(key, command_sender, work));
    }

    /// Spawns the work as a task. A panic in it is reported to the rules, which would otherwise wait forever.
    fn spawn_work(
        &self,
        key: AttemptKey,
        commands: mpsc::UnboundedSender<JobCommand>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> RunningWork {
        let messages = self.messages.clone();
        let task = tokio::spawn(work);
        let abort_handle = task.abort_handle();
        let panic_monitor = tokio::spawn(async move {
            if let Err(error) = task.await
                && let Ok(panic) = error.try_into_panic()
            {
                let what = panic_message(panic.as_ref());
                let _ = messages.send(DriverMessage::Work(WorkEvent::Faulted { key, what }));
            }
        });
        RunningWork { commands, abort_handle, panic_monitor }
    }

    pub(super) fn stop_agent(&mut self) {
        let signal = match self.attempts.current_agent().adapter.graceful_signal() {
            GracefulSignal::Term => TerminationSignal::Term,
            GracefulSignal::Int => TerminationSignal::Int,
        };
        let grace: Duration = self.plan.spec.stop_grace;
        self.send_command(JobCommand::Stop { signal, grace });
    }

    pub(super) fn kill_running(&mut self) {
        self.send_command(JobCommand::Kill);
    }

    /// Sends a command to the running agent or checks. Returns whether something is running.
    pub(super) fn send_command(&mut self, command: JobCommand) -> bool {
        if let Some(delay) = delay_before_cancel(&command) {
            self.start_snapshot.iter().for_each(RunStartSnapshot::cancel);
            let cancel_flag = Arc::clone(&self.attempts.cancel_flag);
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                cancel_flag.store(true, Ordering::Relaxed);
            });
        }
        self.running.as_ref().is_some_and(|running| running.commands.send(command).is_ok())
    }

    pub(super) fn abort_running(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort_handle.abort();
        }
    }

    /// Kills the running agent or checks after an error, when their result can no longer be recorded.
    pub(super) async fn kill_and_wait(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.commands.send(JobCommand::Kill);
            let _ = tokio::time::timeout(KILL_TIMEOUT, running.panic_monitor).await;
            running.abort_handle.abort();
        }
    }
}

/// How long the files may be read after the agent was stopped.
const READ_AFTER_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns when reads of the work tree are cancelled after a command, if it ends the work.
fn delay_before_cancel(command: &JobCommand) -> Option<Duration> {
    match command {
        JobCommand::Kill => Some(READ_AFTER_STOP_TIMEOUT),
        JobCommand::Stop { grace, .. } => Some(*grace + READ_AFTER_STOP_TIMEOUT),
        JobCommand::Pause { .. } | JobCommand::Resume => None,
    }
}

const STOPPED_EARLY: &str = "the run was stopped before the agent started";

enum SnapshotWait {
    Ended,
    Stopped,
}

/// Waits for the snapshot of the files before the run, and reports if it is missing or incomplete.
async fn wait_for_snapshot(
    start_snapshot: Option<RunStartSnapshot>,
    messages: &mpsc::UnboundedSender<DriverMessage>,
) -> SnapshotWait {
    let Some(start_snapshot) = start_snapshot else { return SnapshotWait::Ended };
    match start_snapshot.wait().await {
        UndoNotice::None => SnapshotWait::Ended,
        UndoNotice::Limited(text) => {
            let _ = messages.send(DriverMessage::Warning(text));
            SnapshotWait::Ended
        }
        UndoNotice::Stopped => SnapshotWait::Stopped,
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_owned()
}

impl Drop for EffectRunner {
    fn drop(&mut self) {
        self.abort_running();
    }
}
