//! Starts a workflow run, or takes over one that no process drives, and drives it to its end or to a question.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ralph_core::event::StopSignal;
use ralph_core::outcome::RunEnd;
use ralph_engine::lock::RunOwner;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, EngineError, OutputVisibility, StoredAgent};
use ralph_process::{Keeper, StartupPipe};
use ralph_store::{FIRST_FENCE, NewWorkflowRun, OpenMode, Store, WorkflowRunRow, WorkflowStep};
use ralph_util::redact;
use tokio::sync::Semaphore;

use super::driver::WorkflowEnd;
use super::fact::{NodeAgent, WorkflowFact};
use super::journal::RunStatus;
use super::log::WorkflowLog;
use super::lookup::{find_root_run, load_tree_cost};
use super::observer::WorkflowObserver;
use super::opened_run::{DriveLinks, GraphStart, OpenedRun, RunLocks, load_spec, take_locks};
use super::orders::ordered_limit;
use super::prepare::PreparedWorkflow;
use super::services::{WorkflowBudget, WorkflowHost};
use super::spec::WorkflowRunSpec;
use super::worktree::set_up;
use crate::config::{ConfigSource, Settings};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::run::{ControlSource, WorktreeOutcome, abandon_store, kill_leftover_processes};
use crate::view::short_id;

/// The process that drives workflow runs.
pub struct WorkflowProcess {
    pub settings: Settings,
    pub config: ConfigSource,
    /// Starts agents and programs. It must be forked before this process has a second thread and before it takes a lock.
    pub keeper: Keeper,
    pub control: ControlSource,
    pub person: Box<dyn Interaction + Send>,
    pub observer: Arc<dyn WorkflowObserver>,
    /// Releases the command that has started this process in the background, once the run is stored.
    pub startup: Option<StartupPipe>,
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

/// Starts a run and drives it.
pub async fn run_workflow(prepared: PreparedWorkflow, mut process: WorkflowProcess) -> AppResult<FinishedWorkflow> {
    let PreparedWorkflow { run, project, message, spec, reused, .. } = prepared;
    project.create_state_folder().map_err(EngineError::from)?;
    let locks = take_locks(&project, &run, &spec).await?;
    redact::prepare_secrets();
    let store = Store::open(&project.state_folder(), OpenMode::Create).await?;
    let store = store.ok_or_else(|| AppError::from_message(ErrorKind::Internal, "the database was not created"))?;
    let started = started_fact(&spec, &message);
    let first = FirstStep {
        message: &message,
        owner: &locks.owner,
        started: &started,
        parent: None,
        rerun_of: reused.as_ref().map(|reused| reused.run.as_str()),
    };
    insert_run(&store, &run, &spec, &first).await?;
    process.startup.take().into_iter().for_each(StartupPipe::release_parent);
    let start = GraphStart { rows: reused.map(|reused| reused.rows).unwrap_or_default(), ..GraphStart::default() };
    let opened = OpenedRun { run, project, inherited: None, message, spec, start, first_event: started };
    drive_in_process(opened, process, store, locks).await
}

/// Takes over a run that no process drives, and continues it. A failed run continues at its failed nodes. A child run is
/// continued by the run that has started it.
pub async fn resume_workflow_run(
    project: &Project,
    row: WorkflowRunRow,
    store: Store,
    mut process: WorkflowProcess,
) -> AppResult<FinishedWorkflow> {
    let is_child = row.parent.is_some();
    let row = find_root_run(&store, row).await?;
    if is_child && row.ended_at.is_some() && row.status != "failed" {
        let message = format!("workflow run {}, which has started it, has ended: {}", short_id(&row.id), row.status);
        return Err(AppError::preflight(message));
    }
    let spec = load_spec(&store, &row.id).await?;
    let locks = take_locks(project, &row.id, &spec).await?;
    redact::prepare_secrets();
    let fence = store.take_over_workflow_run(&row.id, &locks.owner.to_json()).await?;
    process.startup.take().into_iter().for_each(StartupPipe::release_parent);
    kill_leftover_processes(&row.id, process.person.as_ref());
    let (row, start) = GraphStart::load(&store, &row.id, fence).await?;
    let opened = OpenedRun {
        run: row.id,
        project: project.clone(),
        inherited: None,
        message: row.message,
        spec,
        start,
        first_event: WorkflowFact::Resumed,
    };
    drive_in_process(opened, process, store, locks).await
}

/// Returns the first event of a run.
pub(super) fn started_fact(spec: &WorkflowRunSpec, message: &str) -> WorkflowFact {
    WorkflowFact::Started {
        workflow: spec.workflow.name.clone(),
        message: message.to_owned(),
        file_sha256: spec.file_sha256.clone(),
        base_commit: spec.base_commit.clone(),
        agents: spec.agents.iter().map(|(node, agent)| (node.clone(), node_agent(agent))).collect(),
    }
}

fn node_agent(agent: &StoredAgent) -> NodeAgent {
    NodeAgent { agent: agent.name.clone(), model: agent.model.clone() }
}

/// The fields of the first step of a run.
pub(super) struct FirstStep<'a> {
    pub message: &'a str,
    pub owner: &'a RunOwner,
    pub started: &'a WorkflowFact,
    /// The run that starts it, and its node.
    pub parent: Option<(&'a str, &'a str)>,
    pub rerun_of: Option<&'a str>,
}

/// Stores a new run with its first event.
pub(super) async fn insert_run(
    store: &Store,
    run: &str,
    spec: &WorkflowRunSpec,
    first_step: &FirstStep<'_>,
) -> AppResult<()> {
    let FirstStep { message, owner, started, parent, rerun_of } = *first_step;
    let spec_json = serde_json::to_string(spec).map_err(|error| AppError::internal(&error))?;
    let owner = owner.to_json();
    let new =
        NewWorkflowRun { workflow: &spec.workflow.name, message, spec: &spec_json, owner: &owner, parent, rerun_of };
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

/// Drives a run without a parent.
async fn drive_in_process(
    opened: OpenedRun,
    process: WorkflowProcess,
    store: Store,
    _locks: RunLocks,
) -> AppResult<FinishedWorkflow> {
    let WorkflowProcess { settings, config, keeper, control, person, observer, startup: _ } = process;
    let mut control = control.open()?;
    let worktree = opened.open_worktree(&settings)?;
    if let Some(assigned) = &worktree
        && let Some(signal) = set_up(assigned, &opened.project, &opened.run, &keeper, &mut control).await?
    {
        return Ok(stopped_in_setup(opened, signal));
    }
    let spent = load_tree_cost(&store, &opened.run).await?.unwrap_or(0);
    let limit = ordered_limit(&store, &opened.run).await?.or(opened.spec.max_cost_micros);
    let budget = WorkflowBudget::new(limit, u64::try_from(spent).unwrap_or(0));
    let store = Arc::new(store);
    let run = opened.run.clone();
    // The log contains the tool calls of agents even if the terminal does not show them.
    let host = WorkflowHost {
        settings,
        config,
        visibility: OutputVisibility::Shown,
        keeper,
        store: Arc::clone(&store),
        person,
        budget,
        agent_slots: Arc::new(Semaphore::new(opened.spec.slots.max(1) as usize)),
        root: opened.run.clone(),
        is_pausing: AtomicBool::new(false),
    };
    let links = DriveLinks { control, observer, parent: None };
    let driven = Box::new(opened).drive_graph(Arc::new(host), links, worktree).await;
    let cost = match &driven {
        Ok(_) => load_tree_cost(&store, &run).await,
        Err(_) => Ok(None),
    };
    let (driven, cost_micros) = match (driven, cost) {
        (Ok(driven), Ok(cost)) => (driven, cost),
        (Err(error), _) | (_, Err(error)) => {
            abandon_store(store);
            return Err(error);
        }
    };
    if let Some(store) = Arc::into_inner(store) {
        store.close().await;
    }
    Ok(FinishedWorkflow { run, end: driven.end, worktree: driven.worktree, log: driven.log, cost_micros })
}

fn stopped_in_setup(opened: OpenedRun, signal: StopSignal) -> FinishedWorkflow {
    let log = WorkflowLog::path_of(&opened.project, &opened.run);
    let end = interrupted_end(signal);
    FinishedWorkflow { run: opened.run, end, worktree: None, log, cost_micros: None }
}

/// Returns the end of a run that was stopped before its nodes started.
pub(super) fn interrupted_end(signal: StopSignal) -> WorkflowEnd {
    let end = RunEnd::interrupted_by_signal(signal);
    WorkflowEnd {
        status: "interrupted",
        reason: end.reason,
        exit_code: end.exit_code,
        output: None,
        proof: None,
        node_proof: None,
        questions: Vec::new(),
    }
}
