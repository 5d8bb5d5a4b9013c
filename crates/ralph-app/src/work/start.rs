//! Prepares and starts a worker.
use std::sync::Arc;

use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_process::Keeper;
use ralph_store::Store;
use ralph_util::redact;

use super::events::WorkObserver;
use super::services::{WorkRequest, WorkServices};
use super::waiting_tasks::{WaitingTask, find_waiting_tasks};
use super::worker::{StopCondition, WorkAssignment, WorkSummary, run_worker};
use crate::background_worker::forget_old_workers;
use crate::error::{AppError, AppResult};
use crate::plan::ensure_claims_verified;
use crate::run::{ControlSource, abandon_store, refuse_recursion};
use crate::state::{StateEvidence, adopt_old_state};
use crate::task_files::{open_task_store, unknown_task_error};

/// Which tasks a worker takes, and when it stops.
#[derive(Debug)]
pub struct WorkScope {
    /// Only these tasks; empty for all that are ready.
    pub named_tasks: Vec<String>,
    pub stop_condition: StopCondition,
    /// The spending limit for all tasks together.
    pub max_cost_micros: Option<u64>,
}

/// A worker that can start: its settings are valid and its commands are approved.
pub struct PreparedWork {
    project: Project,
    services: WorkServices,
    assignment: WorkAssignment,
}

/// A worker that can lease tasks. It works while [`StartedWork::run`] is polled.
pub struct StartedWork {
    services: WorkServices,
    assignment: WorkAssignment,
    store: Arc<Store>,
    keeper: Keeper,
}

/// A worker that has stopped.
pub struct FinishedWork {
    pub summary: WorkSummary,
    store: Arc<Store>,
}

/// Where new work on tasks starts, and what is not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkStartPoint {
    pub commit: String,
    /// How many files of the user's work tree differ from the commit.
    pub uncommitted_files: usize,
}

/// Reads where new work on tasks starts. Returns `None` if git cannot tell; each task reports that.
pub async fn read_start_point(project: &Project) -> Option<WorkStartPoint> {
    let root = project.root.clone();
    let read = tokio::task::spawn_blocking(move || {
        let commit = git::head_commit(&root).ok()??;
        let status = git::run_git(&root, &["status", "--porcelain", "--no-renames"]).ok()?;
        let uncommitted_files = status.lines().count();
        Some(WorkStartPoint { commit, uncommitted_files })
    });
    read.await.ok().flatten()
}

/// Refuses to work on the tasks of this project, before its settings are read.
pub fn ensure_work_allowed(project: &Project) -> AppResult<()> {
    refuse_recursion(project)?;
    adopt_old_state(project, StateEvidence::Required).map(drop)
}

/// Checks the settings of a worker, and asks for approval while a person can still answer.
pub fn prepare_work(request: WorkRequest, scope: WorkScope) -> AppResult<PreparedWork> {
    let settings = &request.settings;
    ensure_claims_verified(settings)?;
    let pipeline = settings.pipeline().map_err(|reason| {
        AppError::preflight(reason).with_advice("list roles such as coder, reviewer, tester, qa, each once")
    })?;
    let assignment = WorkAssignment {
        pipeline,
        named_tasks: scope.named_tasks,
        slots: settings.pipeline.slots.value as usize,
        stop_condition: scope.stop_condition,
        lease_time: settings.pipeline.lease.value,
        max_cost_micros: scope.max_cost_micros,
    };
    let project = request.project.clone();
    let services = WorkServices::new(request)?;
    services.ensure_trust(&assignment)?;
    forget_old_workers(&project);
    Ok(PreparedWork { project, services, assignment })
}

impl PreparedWork {
    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    /// Replaces the observer by one that may pass everything on to it.
    pub fn wrap_observer(&mut self, wrap: impl FnOnce(Arc<dyn WorkObserver>) -> Arc<dyn WorkObserver>) {
        self.services.wrap_observer(wrap);
    }

    /// Opens the store. Fails if a named task does not exist.
    pub async fn start(self, keeper: Keeper) -> AppResult<StartedWork> {
        let Self { project, services, assignment } = self;
        redact::prepare_secrets();
        let store = open_task_store(&project).await?;
        refuse_unknown_tasks(&store, &assignment.named_tasks).await?;
        Ok(StartedWork { services, assignment, store: Arc::new(store), keeper })
    }
}

async fn refuse_unknown_tasks(store: &Store, named: &[String]) -> AppResult<()> {
    if named.is_empty() {
        return Ok(());
    }
    let tasks = store.list_tasks().await?;
    match named.iter().find(|name| tasks.iter().all(|task| task.id != **name)) {
        Some(name) => Err(unknown_task_error(store, name).await?),
        None => Ok(()),
    }
}

impl StartedWork {
    #[must_use]
    pub fn assignment(&self) -> &WorkAssignment {
        &self.assignment
    }

    /// Works until no task is left, or until `control` stops it.
    pub async fn run(self, control: ControlSource) -> AppResult<FinishedWork> {
        let Self { services, assignment, store, keeper } = self;
        let control = control.open()?;
        match run_worker(services, Arc::clone(&store), keeper, assignment, control).await {
            Ok(summary) => Ok(FinishedWork { summary, store }),
            Err(error) => {
                abandon_store(store);
                Err(error)
            }
        }
    }
}

impl FinishedWork {
    /// Loads the tasks that still wait for an approval or for other tasks.
    pub async fn load_waiting_tasks(&self) -> AppResult<Vec<WaitingTask>> {
        Ok(find_waiting_tasks(&self.store.list_tasks().await?))
    }

    pub async fn close(self) {
        if let Some(store) = Arc::into_inner(self.store) {
            store.close().await;
        }
    }
}
