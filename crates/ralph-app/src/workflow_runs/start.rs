//! Starts a workflow run, or takes over one that no process drives, and drives it to its end or to a question.
use std::collections::BTreeSet;
use std::sync::Arc;

use ralph_core::event::StopSignal;
use ralph_core::outcome::RunEnd;
use ralph_core::workflow::graph::{Graph, GraphSettings, GraphState, RerunPlan, StoredGraph};
use ralph_engine::lock::{self, HeldLock, LockSharing, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, ControlInput, EngineError, OutputVisibility};
use ralph_engine::worktree::AssignedWorktree;
use ralph_process::Keeper;
use ralph_store::{FIRST_FENCE, NewWorkflowRun, OpenMode, Store, WorkflowRunRow, WorkflowStep};
use ralph_util::{private_files, redact};
use tokio::sync::mpsc::unbounded_channel;

use super::driver::{DriverParts, WorkflowDriver, WorkflowEnd};
use super::fact::WorkflowFact;
use super::journal::{RunStatus, WorkflowJournal, decode_rows};
use super::log::WorkflowLog;
use super::lookup::{load_asked_questions, load_judge_cost};
use super::observer::WorkflowObserver;
use super::prepare::PreparedWorkflow;
use super::services::{RunServices, WorkflowBudget, WorkflowHost};
use super::spec::WorkflowRunSpec;
use super::worktree::{deliver, open_worktree, set_up};
use crate::config::{ConfigSource, Settings};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::run::{WorktreeOutcome, abandon_store, kill_leftover_processes};
use crate::view::short_id;

/// The process that drives workflow runs.
pub struct WorkflowProcess {
    pub settings: Settings,
    pub config: ConfigSource,
    pub visibility: OutputVisibility,
    /// Starts agents and programs. It must be forked before this process has a second thread and before it takes a lock.
    pub keeper: Keeper,
    pub person: Box<dyn Interaction + Send>,
    pub observer: Arc<dyn WorkflowObserver>,
}

/// A workflow run that this process no longer drives.
pub struct FinishedWorkflow {
    pub run: String,
    pub end: WorkflowEnd,
    /// Where the work is, if the run has a work tree.
    pub worktree: Option<AppResult<WorktreeOutcome>>,
    pub log: std::path::PathBuf,
    pub cost_micros: Option<i64>,
}

/// The locks of a run.
struct RunLocks {
    owner: RunOwner,
    _run: HeldLock,
    _checkout: Option<HeldLock>,
}

/// The rows of a graph that a run starts with.
struct GraphStart {
    rows: StoredGraph,
    fence: i64,
    next_seq: i64,
    settled: i64,
    spent_before_micros: u64,
    /// The questions that were asked.
    asked: BTreeSet<String>,
}

/// Starts a run and drives it.
pub async fn run_workflow(prepared: PreparedWorkflow, process: WorkflowProcess) -> AppResult<FinishedWorkflow> {
    let PreparedWorkflow { run, project, message, spec, reused, .. } = prepared;
    project.create_state_folder().map_err(EngineError::from)?;
    let locks = take_locks(&project, &run, &spec).await?;
    redact::prepare_secrets();
    let store = Store::open(&project.state_folder(), OpenMode::Create).await?;
    let store = store.ok_or_else(|| AppError::from_message(ErrorKind::Internal, "the database was not created"))?;
    let started = WorkflowFact::Started {
        workflow: spec.workflow.name.clone(),
        message: message.clone(),
        file_sha256: spec.file_sha256.clone(),
        base_commit: spec.base_commit.clone(),
    };
    let first = FirstStep {
        message: &message,
        owner: &locks.owner,
        started: &started,
        rerun_of: reused.as_ref().map(|reused| reused.run.as_str()),
    };
    insert_run(&store, &run, &spec, &first).await?;
    let start = GraphStart {
        rows: reused.map(|reused| reused.rows).unwrap_or_default(),
        fence: FIRST_FENCE,
        next_seq: 2,
        settled: 0,
        spent_before_micros: 0,
        asked: BTreeSet::new(),
    };
    let opened = OpenedRun { run, project, message, spec, start, first_event: started };
    opened.drive(process, store, locks).await
}

/// Takes over a run that no process drives, and continues it. A failed run continues at its failed nodes.
pub async fn resume_workflow_run(
    project: &Project,
    row: WorkflowRunRow,
    store: Store,
    process: WorkflowProcess,
) -> AppResult<FinishedWorkflow> {
    let spec: WorkflowRunSpec = serde_json::from_str(&row.spec).map_err(|error| {
        AppError::preflight(format!("workflow run {} was stored in another format", row.id)).with_cause(error)
    })?;
    let locks = take_locks(project, &row.id, &spec).await?;
    redact::prepare_secrets();
    let fence = store.take_over_workflow_run(&row.id, &locks.owner.to_json()).await?;
    // Read again: another process may have driven it until now.
    let row = store.workflow_run(&row.id).await?.ok_or_else(|| AppError::preflight("the run is no longer stored"))?;
    kill_leftover_processes(&row.id, process.person.as_ref());
    let nodes = store.nodes_of_workflow_run(&row.id).await?;
    let mut rows = decode_rows(&nodes).map_err(|error| {
        AppError::preflight(format!("the nodes of workflow run {} cannot be read", row.id)).with_cause(error)
    })?;
    if row.status == "failed" {
        rows = repeat_failures(&spec, rows)?;
    }
    let passes = store.passes_of_workflow_run(&row.id).await?;
    let spent = passes.iter().filter_map(|pass| pass.cost_micros).sum::<i64>();
    let judged = load_judge_cost(&store, &row.id).await?;
    let settled = nodes.iter().filter(|node| node.ended_at.is_some()).count();
    let start = GraphStart {
        rows,
        fence,
        next_seq: row.event_count + 1,
        settled: i64::try_from(settled).unwrap_or(i64::MAX),
        spent_before_micros: u64::try_from(spent).unwrap_or(0).saturating_add(judged),
        asked: load_asked_questions(&store, &row).await?.into_iter().map(|open| open.question).collect(),
    };
    let opened = OpenedRun {
        run: row.id.clone(),
        project: project.clone(),
        message: row.message.clone(),
        spec,
        start,
        first_event: WorkflowFact::Resumed,
    };
    opened.drive(process, store, locks).await
}

/// Makes the failed nodes of a run, and all that depend on them, pending again.
fn repeat_failures(spec: &WorkflowRunSpec, rows: StoredGraph) -> AppResult<StoredGraph> {
    let graph = compile(spec)?;
    let state = GraphState::restore(&graph, graph_settings(spec), &rows);
    let plan = RerunPlan::from_failures(&graph, &state);
    let reset = plan.reset_rows(&graph, &rows);
    let mut nodes = rows.nodes;
    nodes.retain(|row| reset.iter().all(|new| (&new.key, new.generation) != (&row.key, row.generation)));
    nodes.extend(reset);
    Ok(StoredGraph { nodes, stopping: None, ..rows })
}

/// The fields of the first step of a run.
struct FirstStep<'a> {
    message: &'a str,
    owner: &'a RunOwner,
    started: &'a WorkflowFact,
    rerun_of: Option<&'a str>,
}

async fn insert_run(store: &Store, run: &str, spec: &WorkflowRunSpec, first_step: &FirstStep<'_>) -> AppResult<()> {
    let FirstStep { message, owner, started, rerun_of } = *first_step;
    let spec_json = serde_json::to_string(spec).map_err(|error| AppError::internal(&error))?;
    let owner = owner.to_json();
    let new = NewWorkflowRun {
        workflow: &spec.workflow.name,
        message,
        spec: &spec_json,
        owner: &owner,
        parent: None,
        rerun_of,
    };
    let status = RunStatus::running();
    let events = [serde_json::to_string(started).map_err(|error| AppError::internal(&error))?];
    let first = WorkflowStep {
        run,
        fence: FIRST_FENCE,
        first_seq: 1,
        at: Clock::wall_now(),
        events: &events,
        nodes: &[],
        update: status.update(),
        taken_answers: &[],
    };
    Ok(store.insert_workflow_run(&new, &first).await?)
}

/// A run whose rows are known and whose locks are held.
struct OpenedRun {
    run: String,
    project: Project,
    message: String,
    spec: WorkflowRunSpec,
    start: GraphStart,
    /// The event with which the driving begins; that of a new run is stored.
    first_event: WorkflowFact,
}

impl OpenedRun {
    async fn drive(self, process: WorkflowProcess, store: Store, _locks: RunLocks) -> AppResult<FinishedWorkflow> {
        let mut control = ControlInput::from_signals().map_err(|source| EngineError::Signals { source })?;
        let worktree = self.open_worktree(&process)?;
        let keeper = process.keeper.clone();
        if let Some(assigned) = &worktree
            && let Some(signal) = set_up(assigned, &self.project, &self.run, &keeper, &mut control).await?
        {
            return Ok(self.stopped_in_setup(signal));
        }
        let store = Arc::new(store);
        let driven = self.drive_graph(process, Arc::clone(&store), control, worktree.as_ref()).await;
        let finished = match driven {
            Ok(finished) => finished,
            Err(error) => {
                abandon_store(store);
                return Err(error);
            }
        };
        if let Some(store) = Arc::into_inner(store) {
            store.close().await;
        }
        Ok(finished)
    }

    fn open_worktree(&self, process: &WorkflowProcess) -> AppResult<Option<AssignedWorktree>> {
        let setup = &process.settings.pipeline.setup.value;
        self.spec.worktree.as_ref().map(|name| open_worktree(&self.project, name, setup)).transpose()
    }

    fn stopped_in_setup(self, signal: StopSignal) -> FinishedWorkflow {
        let end = RunEnd::interrupted_by_signal(signal);
        let end = WorkflowEnd {
            status: "interrupted",
            reason: end.reason,
            exit_code: end.exit_code,
            output: None,
            proof: None,
            questions: Vec::new(),
        };
        let log = WorkflowLog::path_of(&self.project, &self.run);
        FinishedWorkflow { run: self.run, end, worktree: None, log, cost_micros: None }
    }

    async fn drive_graph(
        self,
        process: WorkflowProcess,
        store: Arc<Store>,
        control: ControlInput,
        worktree: Option<&AssignedWorktree>,
    ) -> AppResult<FinishedWorkflow> {
        let Self { run, project, message, spec, start, first_event } = self;
        let graph = Arc::new(compile(&spec)?);
        let settings = graph_settings(&spec);
        let state = match start.rows.nodes.is_empty() {
            true => GraphState::new(&graph, settings),
            false => GraphState::restore(&graph, settings, &start.rows),
        };
        let log = Arc::new(WorkflowLog::open(&project, &run).unwrap_or_else(|error| {
            process.observer.on_warning(&format!("the log of the run cannot be written: {error}"));
            WorkflowLog::disabled()
        }));
        let worked_project = match worktree {
            Some(assigned) => project.with_root(assigned.worktree.path.clone()),
            None => project.clone(),
        };
        let journal = WorkflowJournal {
            store: Arc::clone(&store),
            run: run.clone(),
            fence: start.fence,
            next_seq: start.next_seq,
            log: Arc::clone(&log),
            observer: Arc::clone(&process.observer),
            status: RunStatus { settled: start.settled, ..RunStatus::running() },
        };
        let budget = WorkflowBudget::new(spec.max_cost_micros, start.spent_before_micros);
        let host = host_of(process, Arc::clone(&store), budget);
        let (progress, progress_receiver) = unbounded_channel();
        let services = RunServices {
            host: Arc::new(host),
            run: run.clone(),
            message,
            spec,
            project: worked_project,
            log: Arc::clone(&log),
            progress,
        };
        prepare_folders(&services)?;
        let mut parts = DriverParts {
            graph,
            state,
            services: Arc::new(services),
            journal,
            control,
            progress: progress_receiver,
            asked: start.asked,
        };
        if matches!(first_event, WorkflowFact::Started { .. }) && !start.rows.nodes.is_empty() {
            parts.journal.copy_rows(&start.rows).await?;
        }
        begin(&mut parts.journal, first_event).await?;
        let end = WorkflowDriver::new(parts).run().await?;
        let worktree = worktree.map(|assigned| deliver(assigned, end.status == "completed"));
        let passes = store.passes_of_workflow_run(&run).await?;
        let judged = i64::try_from(load_judge_cost(&store, &run).await?).ok().filter(|cost| *cost > 0);
        let costs: Vec<i64> = passes.iter().filter_map(|pass| pass.cost_micros).chain(judged).collect();
        let cost_micros = (!costs.is_empty()).then(|| costs.iter().sum());
        Ok(FinishedWorkflow { run, end, worktree, log: log.path().to_path_buf(), cost_micros })
    }
}

/// Reports the first event. That of a new run is stored already.
async fn begin(journal: &mut WorkflowJournal, event: WorkflowFact) -> AppResult<()> {
    match event {
        WorkflowFact::Started { .. } => journal.report(&[event]),
        event => {
            journal
                .record(super::journal::StepContents { events: vec![event], ..super::journal::StepContents::default() })
                .await?;
        }
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

fn host_of(process: WorkflowProcess, store: Arc<Store>, budget: WorkflowBudget) -> WorkflowHost {
    let WorkflowProcess { settings, config, visibility, keeper, person, observer } = process;
    WorkflowHost { settings, config, visibility, keeper, store, person, observer, budget }
}

fn prepare_folders(services: &RunServices) -> AppResult<()> {
    for folder in [services.run_folder(), services.artifacts_folder(), services.state_directory()] {
        private_files::ensure_folder(&folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
    }
    Ok(())
}

/// Takes the lock of the run, and that of the checkout if the run works in it.
async fn take_locks(project: &Project, run: &str, spec: &WorkflowRunSpec) -> AppResult<RunLocks> {
    let state = project.state_folder();
    let folder = project.run_folder(run);
    for folder in [&state, &folder] {
        private_files::ensure_folder(folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
    }
    let owner = RunOwner::for_this_process(run, Clock::wall_now());
    let checkout = match &spec.worktree {
        Some(_) => None,
        None => {
            let sharing = if spec.workflow.mutates_checkout { LockSharing::Exclusive } else { LockSharing::Shared };
            Some(lock::take_lock(&state.join("lock"), sharing, &owner).await?)
        }
    };
    let run_lock = lock::take_lock(&project.run_lock(run), LockSharing::Exclusive, &owner).await.map_err(|error| {
        AppError::from(error).with_advice(format!("another process drives workflow run {}", short_id(run)))
    })?;
    Ok(RunLocks { owner, _run: run_lock, _checkout: checkout })
}
