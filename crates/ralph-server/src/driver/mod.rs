//! Drives runs and workflow runs in this process. A loop survives the server: the next one resumes it.
mod active_loops;
mod loop_records;
mod quiet_observer;
mod resume_loops;
mod started_loop;
mod task_deferrals;
mod task_worker;
mod workflow_loops;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_app::config::ConfigSource;
use ralph_app::conversations::ConversationHub;
use ralph_app::error::{AppError, AppResult};
use ralph_app::interaction::NoInteraction;
use ralph_app::run::{
    ControlSource, DrivenRun, PreparedRun, ResumableRun, ResumeStart, RunHost, StartedRun, resume_run, start_run,
};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{RunObserver, SignalRequest, suspend_channel};
use ralph_process::Keeper;
use tokio::sync::oneshot;

use active_loops::ActiveLoops;
use loop_records::{LoopRecords, RecordedLoop};
pub(crate) use quiet_observer::QuietObserver;
use started_loop::StartedLoop;
pub(crate) use task_deferrals::{DeferredTask, TaskDeferrals};
pub use task_worker::{WorkResultReporter, WorkerScreen};

/// Loops that may be active at the same time.
const MAX_ACTIVE_LOOPS: usize = 32;

/// Starts loops and drives them until they end. Dropping it drops the loops.
pub(crate) struct LoopDriver {
    keeper: Keeper,
    config: ConfigSource,
    project: Project,
    conversations: Arc<ConversationHub>,
    active: Arc<ActiveLoops>,
    records: LoopRecords,
    deferrals: Arc<TaskDeferrals>,
    /// The server stops: loops end because of it, and the next server resumes them.
    is_stopping: AtomicBool,
}

impl LoopDriver {
    pub(crate) fn new(
        keeper: Keeper,
        config: ConfigSource,
        project: Project,
        conversations: Arc<ConversationHub>,
    ) -> Self {
        let records = LoopRecords::new(&project);
        let (active, deferrals, is_stopping) = (Arc::default(), Arc::default(), AtomicBool::new(false));
        Self { keeper, config, project, conversations, active, records, deferrals, is_stopping }
    }

    /// Returns the process that starts agents and checks.
    pub(crate) fn keeper(&self) -> Keeper {
        self.keeper.clone()
    }

    /// Returns the tasks that the worker of this process could not start.
    pub(crate) fn deferrals(&self) -> &TaskDeferrals {
        &self.deferrals
    }

    /// Starts a run, and returns its id as soon as it holds its locks. `when_ended` gets its result.
    pub(crate) async fn start_run<W: Future<Output = ()> + Send>(
        self: &Arc<Self>,
        mut prepared: PreparedRun,
        observer: Box<dyn RunObserver>,
        when_ended: impl FnOnce(AppResult<()>) -> W + Send + 'static,
    ) -> AppResult<String> {
        let recorded = RecordedLoop::run(prepared.id());
        prepared.allow_parking();
        let host = self.open_host(&recorded)?;
        match start_run(prepared, host).await {
            Ok(started) => Ok(self.drive(started, observer, when_ended)),
            Err(error) => {
                self.forget(&recorded);
                Err(error)
            }
        }
    }

    /// Like [`Self::start_run`]; returns when the run is stored, or why it could not start.
    pub(crate) async fn start_stored_run(self: &Arc<Self>, prepared: PreparedRun) -> AppResult<String> {
        let (report, ended) = oneshot::channel();
        let when_ended = async |result: AppResult<()>| {
            // Without a receiver, the run was stored long ago.
            drop(report.send(result));
        };
        let id = self.start_run(prepared, Box::new(QuietObserver), when_ended).await?;
        StartedLoop::Run { id: &id }.wait_until_stored(&self.project, ended).await?;
        Ok(id)
    }

    /// Resumes a run that no process drives, and returns its id.
    pub(crate) async fn resume_run(self: &Arc<Self>, mut run: ResumableRun) -> AppResult<String> {
        let recorded = RecordedLoop::run(run.id());
        run.allow_parking();
        let host = self.open_host(&recorded)?;
        match resume_run(run, host, &NoInteraction).await {
            Ok(ResumeStart::Started(started)) => Ok(self.drive(*started, Box::new(QuietObserver), async |_| {})),
            Ok(ResumeStart::Ended(ended)) => {
                self.forget(&recorded);
                Err(AppError::preflight(format!("run {} has just ended: {}", ended.row.id, ended.end.reason)))
            }
            Err(error) => {
                self.forget(&recorded);
                Err(error)
            }
        }
    }

    /// Records a loop that is about to start, and opens its channel.
    fn open_host(&self, recorded: &RecordedLoop) -> AppResult<RunHost> {
        let control = ControlSource::Channel(self.open_channel(recorded)?);
        Ok(RunHost { keeper: self.keeper.clone(), control })
    }

    fn open_channel(&self, recorded: &RecordedLoop) -> AppResult<active_loops::ControlReceiver> {
        if self.is_stopping.load(Ordering::Acquire) {
            return Err(AppError::preflight("the server stops").with_advice("send the order to the next server"));
        }
        let Some(channel) = self.active.open_channel(&recorded.run, MAX_ACTIVE_LOOPS) else {
            return Err(AppError::preflight("this server cannot drive the loop now")
                .with_cause(format!("it drives the loop already, or has its {MAX_ACTIVE_LOOPS} loops")));
        };
        match self.records.add(recorded) {
            Ok(()) => Ok(channel),
            Err(error) => {
                self.active.close_channel(&recorded.run);
                Err(AppError::preflight("the loop cannot be recorded").with_cause(error))
            }
        }
    }

    /// Forgets a loop that has not started.
    fn forget(&self, recorded: &RecordedLoop) {
        self.active.close_channel(&recorded.run);
        self.records.remove_own(recorded);
    }

    fn drive<W: Future<Output = ()> + Send>(
        self: &Arc<Self>,
        started: StartedRun,
        mut observer: Box<dyn RunObserver>,
        when_ended: impl FnOnce(AppResult<()>) -> W + Send + 'static,
    ) -> String {
        let id = started.id().to_owned();
        let (driver, recorded) = (Arc::clone(self), RecordedLoop::run(&id));
        self.active.spawn(id.clone(), async move {
            let driven = started.drive(observer.as_mut()).await;
            match &driven {
                Ok(DrivenRun::Ended(finished)) if finished.summary.end.is_parked() => {
                    driver.resume_after_wait(recorded.run);
                }
                _ => driver.forget_ended(&recorded),
            }
            when_ended(driven.map(drop)).await;
        });
        id
    }

    /// Forgets a loop that has ended. One that ended because the server stops is resumed by the next server.
    fn forget_ended(&self, recorded: &RecordedLoop) {
        if !self.is_stopping.load(Ordering::Acquire) {
            self.records.remove_all(recorded);
        }
    }

    /// Forwards a signal of this process to all loops. Ctrl-Z stops the process once they have paused their agents.
    pub(crate) async fn forward_signal(&self, request: SignalRequest) {
        match request {
            SignalRequest::Suspend => {
                let (request, suspension) = suspend_channel();
                self.active.suspend(&request);
                drop(request);
                suspension.stop_process().await;
            }
            SignalRequest::Stop(_) => {
                self.is_stopping.store(true, Ordering::Release);
                self.active.forward_signal(request);
            }
            SignalRequest::CheckOrders => self.active.forward_signal(request),
        }
    }

    /// Waits until every loop has ended.
    pub(crate) async fn wait_until_idle(&self) -> Result<(), AppError> {
        self.active.wait_until_idle().await
    }
}
