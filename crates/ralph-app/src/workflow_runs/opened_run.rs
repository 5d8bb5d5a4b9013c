//! A workflow run whose rows are known and whose locks are held: compiles its graph and drives it.
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_core::workflow::graph::{Graph, GraphSettings, GraphState, RerunPlan, StoredGraph};
use ralph_engine::lock::{self, HeldLock, LockSharing, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, ControlInput, EngineError};
use ralph_engine::worktree::AssignedWorktree;
use ralph_process::LogBudget;
use ralph_store::{FIRST_FENCE, Store, WorkflowRunRow};
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;
use tokio::sync::mpsc::unbounded_channel;

use super::driver::{DriverParts, WorkflowDriver, WorkflowEnd};
use super::fact::WorkflowFact;
use super::journal::{RunStatus, StepContents, WorkflowJournal, decode_rows};
use super::log::WorkflowLog;
use super::lookup::load_asked_questions;
use super::observer::WorkflowObserver;
use super::parking::ParentLink;
use super::services::{RunServices, WorkflowHost};
use super::spec::WorkflowRunSpec;
use super::worktree::{deliver, open_worktree};
use crate::config::Settings;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::WorktreeOutcome;
use crate::view::short_id;

/// A run that can be driven.
pub(super) struct OpenedRun {
    pub run: String,
    /// The project with the files of the user.
    pub project: Project,
    /// The project with the files of the parent, if the run works in them.
    pub inherited: Option<Project>,
    pub message: String,
    pub spec: WorkflowRunSpec,
    pub start: GraphStart,
    /// The event with which the driving begins; that of a new run is stored.
    pub first_event: WorkflowFact,
}

/// The rows of a graph that a run starts with. The default is that of a new run.
pub(super) struct GraphStart {
    pub rows: StoredGraph,
    pub fence: i64,
    pub next_seq: i64,
    pub settled: i64,
    /// JSON.
    pub metadata: String,
    /// The questions that were asked.
    pub asked: BTreeSet<String>,
}

/// The locks of a run.
pub(super) struct RunLocks {
    pub owner: RunOwner,
    _run: HeldLock,
    _checkout: Option<HeldLock>,
}

/// The connections of a driven run.
pub(super) struct DriveLinks {
    pub control: ControlInput,
    pub observer: Arc<dyn WorkflowObserver>,
    /// The run that has started it, if one has.
    pub parent: Option<ParentLink>,
}

/// A run whose driving has ended.
pub(super) struct DrivenRun {
    pub end: WorkflowEnd,
    /// Where the work is, if the run has a work tree.
    pub worktree: Option<AppResult<WorktreeOutcome>>,
    pub log: PathBuf,
}

impl Default for GraphStart {
    fn default() -> Self {
        Self {
            rows: StoredGraph::default(),
            fence: FIRST_FENCE,
            next_seq: 2,
            settled: 0,
            metadata: RunStatus::running().metadata,
            asked: BTreeSet::new(),
        }
    }
}

impl GraphStart {
    /// Loads the rows of a run that this process has taken over with this fence. The nodes that failed run again.
    pub async fn load(store: &Store, run: &str, fence: i64) -> AppResult<(WorkflowRunRow, Self)> {
        // Another process may have driven it until now.
        let row = store.workflow_run(run).await?.ok_or_else(|| AppError::preflight("the run is no longer stored"))?;
        let nodes = store.nodes_of_workflow_run(run).await?;
        let mut rows = decode_rows(&nodes).map_err(|error| {
            AppError::preflight(format!("the nodes of workflow run {run} cannot be read")).with_cause(error)
        })?;
        if row.status == "failed" {
            rows = repeat_failures(&load_spec(store, run).await?, rows)?;
        }
        let settled = nodes.iter().filter(|node| node.ended_at.is_some()).count();
        let start = Self {
            rows,
            fence,
            next_seq: row.event_count + 1,
            settled: i64::try_from(settled).unwrap_or(i64::MAX),
            metadata: row.metadata.clone(),
            asked: load_asked_questions(store, &row).await?.into_iter().map(|open| open.question).collect(),
        };
        Ok((row, start))
    }
}

impl OpenedRun {
    pub fn open_worktree(&self, settings: &Settings) -> AppResult<Option<AssignedWorktree>> {
        let setup = &settings.pipeline.setup.value;
        self.spec.worktree.as_ref().map(|name| open_worktree(&self.project, name, setup)).transpose()
    }

    /// Drives the run to its end or to a question.
    pub async fn drive_graph(
        self: Box<Self>,
        host: Arc<WorkflowHost>,
        links: DriveLinks,
        worktree: Option<AssignedWorktree>,
    ) -> AppResult<DrivenRun> {
        let worked_project = worktree.as_ref().map(|assigned| self.project.with_root(assigned.worktree.path.clone()));
        // A run may have thousands of children: what the preparation needs is not kept while they wait.
        let driver = Box::pin(self.open_driver(host, links, worked_project)).await?;
        let log = driver.services.log.path().to_path_buf();
        let end = Box::pin(driver.run()).await?;
        let worktree = worktree.map(|assigned| deliver(&assigned, end.status == "completed"));
        Ok(DrivenRun { end, worktree, log })
    }

    /// Returns the driver of the run. `worked_project` has the files of the run's own work tree, if it has one.
    async fn open_driver(
        self: Box<Self>,
        host: Arc<WorkflowHost>,
        links: DriveLinks,
        worked_project: Option<Project>,
    ) -> AppResult<Box<WorkflowDriver>> {
        let DriveLinks { control, observer, parent } = links;
        let Self { run, project, inherited, message, spec, start, first_event } = *self;
        let graph = Arc::new(compile(&spec)?);
        let settings = graph_settings(&spec);
        let state = match start.rows.nodes.is_empty() {
            true => GraphState::new(&graph, settings),
            false => GraphState::restore(&graph, settings, &start.rows),
        };
        let log = open_log(&project, &run, observer.as_ref());
        let worked_project = worked_project.or(inherited).unwrap_or_else(|| project.clone());
        let mut journal = WorkflowJournal {
            store: Arc::clone(&host.store),
            run: run.clone(),
            fence: start.fence,
            next_seq: start.next_seq,
            log: Arc::clone(&log),
            observer: Arc::clone(&observer),
            status: RunStatus { settled: start.settled, metadata: start.metadata, ..RunStatus::running() },
        };
        if matches!(first_event, WorkflowFact::Started { .. }) && !start.rows.nodes.is_empty() {
            journal.copy_rows(&start.rows).await?;
        }
        begin(&mut journal, first_event).await?;
        let (progress, progress_receiver) = unbounded_channel();
        let limit = MemorySize::GIGABYTE.as_byte_count();
        let log_budget = LogBudget::for_parallel_logs(limit, &worked_project.run_folder(&run));
        let services = RunServices {
            host,
            run,
            message,
            spec,
            project: worked_project,
            base_project: project,
            observer,
            log,
            log_budget,
            progress,
        };
        prepare_folders(&services)?;
        let services = Arc::new(services);
        let parts = DriverParts {
            graph,
            state,
            services,
            journal,
            control,
            progress: progress_receiver,
            asked: start.asked,
            parent,
        };
        Ok(Box::new(WorkflowDriver::new(parts)))
    }
}

/// Opens the log of a run. The run does not need it.
fn open_log(project: &Project, run: &str, observer: &dyn WorkflowObserver) -> Arc<WorkflowLog> {
    Arc::new(WorkflowLog::open(project, run).unwrap_or_else(|error| {
        observer.on_warning(&format!("the log of the run cannot be written: {error}"));
        WorkflowLog::disabled()
    }))
}

/// Loads the specification of a stored run.
pub(super) async fn load_spec(store: &Store, run: &str) -> AppResult<WorkflowRunSpec> {
    let spec = store.workflow_spec(run).await?.unwrap_or_default();
    serde_json::from_str(&spec).map_err(|error| {
        AppError::preflight(format!("workflow run {run} was stored in another format")).with_cause(error)
    })
}

/// Makes the failed nodes of a run, and all that depend on them, pending again.
fn repeat_failures(spec: &WorkflowRunSpec, rows: StoredGraph) -> AppResult<StoredGraph> {
    let graph = compile(spec)?;
    let state = GraphState::restore(&graph, graph_settings(spec), &rows);
    let plan = RerunPlan::from_failures(&graph, &state);
    let reset = plan.reset_rows(&graph, &rows);
    let replaced: BTreeSet<(&str, u32)> = reset.iter().map(|row| (row.key.as_str(), row.generation)).collect();
    let mut nodes = rows.nodes;
    nodes.retain(|row| !replaced.contains(&(row.key.as_str(), row.generation)));
    nodes.extend(reset);
    Ok(StoredGraph { nodes, stopping: None, ..rows })
}

/// Reports the first event. That of a new run is stored already.
async fn begin(journal: &mut WorkflowJournal, event: WorkflowFact) -> AppResult<()> {
    match event {
        WorkflowFact::Started { .. } => journal.report(&[event]),
        event => journal.record(StepContents { events: vec![event], ..StepContents::default() }).await?,
    }
    Ok(())
}

fn compile(spec: &WorkflowRunSpec) -> AppResult<Graph> {
    Graph::compile(&spec.workflow).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))
}

fn graph_settings(spec: &WorkflowRunSpec) -> GraphSettings {
    GraphSettings {
        slots: spec.slots.max(1),
        max_commands: GraphSettings::DEFAULT_MAX_COMMANDS,
        inputs: spec.inputs.clone(),
    }
}

fn prepare_folders(services: &RunServices) -> AppResult<()> {
    for folder in [services.run_folder(), services.artifacts_folder(), services.state_directory()] {
        private_files::ensure_folder(&folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
    }
    Ok(())
}

/// Takes the lock of the run, and that of the checkout if the run works in it.
pub(super) async fn take_locks(project: &Project, run: &str, spec: &WorkflowRunSpec) -> AppResult<RunLocks> {
    let checkout = match &spec.worktree {
        Some(_) => None,
        None if spec.workflow.mutates_checkout => Some(LockSharing::Exclusive),
        None => Some(LockSharing::Shared),
    };
    take_run_lock(project, run, checkout).await
}

/// Takes the lock of a run, and that of the checkout in this way.
pub(super) async fn take_run_lock(project: &Project, run: &str, checkout: Option<LockSharing>) -> AppResult<RunLocks> {
    let state = project.state_folder();
    let folder = project.run_folder(run);
    for folder in [&state, &folder] {
        private_files::ensure_folder(folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
    }
    let owner = RunOwner::for_this_process(run, Clock::wall_now());
    let checkout = match checkout {
        Some(sharing) => Some(lock::take_lock(&state.join("lock"), sharing, &owner).await?),
        None => None,
    };
    let run_lock = lock::take_lock(&project.run_lock(run), LockSharing::Exclusive, &owner).await.map_err(|error| {
        AppError::from(error).with_advice(format!("another process drives workflow run {}", short_id(run)))
    })?;
    Ok(RunLocks { owner, _run: run_lock, _checkout: checkout })
}
