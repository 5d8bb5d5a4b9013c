//! Starts a prepared run, drives it to its end, and delivers its work.
use std::sync::Arc;
use std::time::Instant;

use ralph_core::event::StopSignal;
use ralph_core::outcome::RunEnd;
use ralph_engine::lock::LockError;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    self, Clock, ControlEvent, ControlInput, EngineError, RunLease, RunObserver, RunPlan, RunResources, StartMode,
    WorktreeLock,
};
use ralph_engine::worktree::AssignedWorktree;
use ralph_process::Keeper;
use ralph_store::{OpenMode, Store};
use ralph_util::redact;
use ralph_util::session_log_file::SessionLogFile;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::yield_now;

use super::classic::SessionLogWriter;
use super::{PreparedRun, RunSummary, WorktreeOutcome, finish_worktree, set_up_worktree};
use crate::advice::Advice;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::tasks::{GenerationOutcome, finish_generation};

/// The process that drives a run.
pub struct RunHost {
    /// Starts the agents. It must be forked before this process has a second thread and before it takes a lock.
    pub keeper: Keeper,
    pub control: ControlSource,
}

/// Where requests to stop or suspend a run come from.
#[derive(Debug)]
pub enum ControlSource {
    /// The signals of this process, which drives only this run.
    ProcessSignals,
    /// The events of a process that drives several runs.
    Channel(UnboundedReceiver<ControlEvent>),
}

impl ControlSource {
    pub(crate) fn open(self) -> AppResult<ControlInput> {
        Ok(match self {
            Self::ProcessSignals => ControlInput::from_signals().map_err(|source| EngineError::Signals { source })?,
            Self::Channel(events) => ControlInput::Channel(events),
        })
    }
}

/// A run that holds its locks. It runs while [`StartedRun::drive`] is polled.
pub struct StartedRun {
    pub(super) plan: RunPlan,
    pub(super) mode: StartMode,
    pub(super) lease: RunLease,
    pub(super) store: Store,
    pub(super) host: RunHost,
}

/// How the driving of a run ended.
pub enum DrivenRun {
    Ended(Box<FinishedRun>),
    /// A signal stopped the setup of its work tree: the run has not started.
    StoppedInSetup(StopSignal),
}

/// A run that has ended.
#[derive(Debug)]
pub struct FinishedRun {
    pub summary: RunSummary,
    /// Where the work of the run is; an error if it could not be delivered.
    pub delivery: AppResult<RunDelivery>,
}

/// Where the work of a run is after its end.
#[derive(Debug)]
pub enum RunDelivery {
    /// In the files that the agent changed.
    InPlace,
    Worktree(WorktreeOutcome),
    Tasks(GenerationOutcome),
}

/// Takes the locks of a run and opens the store.
pub async fn start_run(prepared: PreparedRun, host: RunHost) -> AppResult<StartedRun> {
    let PreparedRun { plan } = prepared;
    let state = plan.context.project.state_folder();
    plan.context.project.create_state_folder().map_err(EngineError::from)?;
    // SQLite opens its files in another thread. This thread prepares the rest meanwhile, and yields after each part so
    // that the future that opens the store can submit its next step.
    let meanwhile = async {
        let lease = acquire_run_lease(&plan).await;
        yield_now().await;
        redact::prepare_secrets();
        lease
    };
    let (store, lease) = tokio::join!(Store::open(&state, OpenMode::Create), meanwhile);
    match (store, lease) {
        (Ok(Some(store)), lease) => {
            let lease = lease.map_err(|error| run_lock_error(&plan, error))?;
            Ok(StartedRun { plan, mode: StartMode::New, lease, store, host })
        }
        (Ok(None), _) => Err(AppError::from_message(ErrorKind::Internal, "the database was not created")),
        (Err(error), lease) => {
            lease.into_iter().for_each(|lease| lease.discard_unstored_run(&plan.context));
            Err(error.into())
        }
    }
}

/// Takes the locks of a run.
pub(super) async fn acquire_run_lease(plan: &RunPlan) -> Result<RunLease, EngineError> {
    if plan.context.own_worktree.is_some() {
        return RunLease::acquire_in_own_worktree(&plan.context, Clock::start().now()).await;
    }
    let tree = WorktreeLock::acquire(plan, Clock::start().now()).await?;
    yield_now().await;
    RunLease::acquire(&plan.context, tree).await
}

/// Converts a lock error. Ad-hoc runs may share their files.
fn run_lock_error(plan: &RunPlan, error: EngineError) -> AppError {
    let is_taken = matches!(error, EngineError::Lock(LockError::Taken { .. }));
    let failure = AppError::from(error);
    if is_taken && plan.context.kind == "run" { failure.with_advice(Advice::RunInParallel) } else { failure }
}

impl StartedRun {
    /// Returns the process that starts the agents.
    #[must_use]
    pub fn keeper(&self) -> Keeper {
        self.host.keeper.clone()
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.plan.context.id
    }

    #[must_use]
    pub fn plan(&self) -> &RunPlan {
        &self.plan
    }

    /// Runs to the end, and reports everything to the observer. A classic run also writes its session log.
    pub async fn drive(self, observer: &mut dyn RunObserver) -> AppResult<DrivenRun> {
        let Some(file) = self.plan.context.session_log.clone() else { return self.drive_observed(observer).await };
        let mut log = SessionLogWriter::new(file, self.plan.context.kind, observer);
        let driven = self.drive_observed(&mut log).await;
        driven.inspect_err(|error| log.write_aborted_summary(error))
    }

    async fn drive_observed(self, observer: &mut dyn RunObserver) -> AppResult<DrivenRun> {
        let Self { plan, mode, lease, store, host: RunHost { keeper, control } } = self;
        let mut control = control.open()?;
        if let Some(signal) = set_up_worktree(&plan, &keeper, &mut control).await? {
            if let StartMode::New = mode {
                lease.discard_unstored_run(&plan.context);
            }
            return Ok(DrivenRun::StoppedInSetup(signal));
        }
        let store = Arc::new(store);
        let resources = RunResources { keeper, lease, store: Arc::clone(&store), control, cost_account: None };
        let delivery = DeliveryContext::from_plan(&plan);
        let started_at = Instant::now();
        let end = match run_driver::run_loop(plan, mode, resources, observer).await {
            Ok(end) => end,
            Err(error) => {
                abandon_store(store);
                return Err(error.into());
            }
        };
        let finished = delivery.finish_run(&store, end, started_at).await?;
        if let Some(store) = Arc::into_inner(store) {
            store.close().await;
        }
        Ok(DrivenRun::Ended(Box::new(finished)))
    }
}

/// The parts of a plan that its delivery needs.
struct DeliveryContext {
    run: String,
    project: Project,
    worktree: Option<AssignedWorktree>,
    session_log: Option<SessionLogFile>,
}

impl DeliveryContext {
    fn from_plan(plan: &RunPlan) -> Self {
        Self {
            run: plan.context.id.clone(),
            project: plan.context.project.clone(),
            worktree: plan.context.own_worktree.clone(),
            session_log: plan.context.session_log.clone(),
        }
    }

    async fn finish_run(&self, store: &Store, end: RunEnd, started_at: Instant) -> AppResult<FinishedRun> {
        let summary = RunSummary::load(store, &self.run, end, started_at.elapsed()).await?;
        let session_log = self.session_log.as_ref().and_then(SessionLogFile::path);
        let delivery = self.deliver_work(store, &summary.end).await;
        Ok(FinishedRun { summary: RunSummary { session_log, ..summary }, delivery })
    }

    async fn deliver_work(&self, store: &Store, end: &RunEnd) -> AppResult<RunDelivery> {
        if let Some(worktree) = &self.worktree {
            return Ok(RunDelivery::Worktree(finish_worktree(worktree, store, &self.run, end).await?));
        }
        let generated = finish_generation(store, &self.project, &self.run, end).await?;
        Ok(generated.map_or(RunDelivery::InPlace, RunDelivery::Tasks))
    }
}

/// Drops the store of a failed run without closing the database, which may be damaged.
pub(crate) fn abandon_store(store: Arc<Store>) {
    match Arc::try_unwrap(store) {
        Ok(store) => store.abandon_without_closing(),
        Err(shared) => std::mem::forget(shared),
    }
}
