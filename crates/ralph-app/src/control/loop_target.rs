//! Finds the loop that a person names by its task or its run, for every use case that controls one.
use std::fmt::{self, Display};
use std::time::Duration;

use ralph_core::control_command::ControlCommand;
use ralph_core::task::TaskStatus;
use ralph_engine::control::{CommandDelivery, DriverStatus, find_driver, send_command};
use ralph_engine::lock::RunOwner;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, RunSpec};
use ralph_store::{CommandAnswer, CommandTarget, LoopRow, Store, TaskOwnership, TaskSettlement};
use ralph_util::suggest;

use super::active_work::prepared_tasks;
use super::{ANSWER_TIMEOUT, ControlAdvice, poll_with_timeout};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::{
    ambiguous_run_error, describe_candidate, open_existing_store, refuse_session_run, several_candidates_error,
};
use crate::view::short_id;

/// The task or run that a person wants to control.
pub struct LoopTarget {
    pub project: Project,
    pub store: Store,
    pub kind: LoopTargetKind,
}

pub enum LoopTargetKind {
    /// A run, which may have ended.
    Run(Box<LoopRow>),
    Task {
        id: String,
        status: TaskStatus,
    },
}

/// A loop and the process that drives it.
pub struct DrivenLoop {
    pub row: LoopRow,
    /// The process, if it has recorded itself.
    pub owner: Option<RunOwner>,
}

/// Where a loop is: `TASK-001 at iteration 3/15`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopPosition {
    /// The id of the task, or the short id of the run.
    pub name: String,
    pub iteration: i64,
    pub max_iterations: i64,
}

impl Display for LoopPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at iteration {}/{}", self.name, self.iteration, self.max_iterations)
    }
}

impl LoopTarget {
    /// Finds the loop that is named, or the only active one. Fails if several are active, and names them.
    pub async fn find_named_or_only(project: &Project, id: Option<&str>) -> AppResult<Self> {
        match id {
            Some(id) => Self::find(project, id).await,
            None => Self::find_only_active(project).await,
        }
    }

    async fn find_only_active(project: &Project) -> AppResult<Self> {
        let none = || AppError::preflight("no loop is active in this project").with_advice(ControlAdvice::ListTargets);
        let store = open_existing_store(project).await?.ok_or_else(none)?;
        let mut active = load_active_targets(project, &store).await?;
        match active.len() {
            0 => Err(none()),
            1 => Self::find(project, &active.swap_remove(0).id).await,
            _ => {
                let candidates = active.into_iter().map(|target| target.description);
                Err(several_candidates_error("several loops are active", candidates))
            }
        }
    }

    /// Finds the task with this id, else the run whose id starts or ends with it.
    pub async fn find(project: &Project, id: &str) -> AppResult<Self> {
        if id.trim().is_empty() {
            return Err(AppError::invalid_request("the id is empty").with_advice(ControlAdvice::ListTargets));
        }
        let Some(store) = open_existing_store(project).await? else {
            return Err(unknown_target_error(id, &[]));
        };
        let kind = match store.get_task(id).await? {
            Some(row) => LoopTargetKind::Task { id: row.task.id, status: row.task.status },
            None => LoopTargetKind::Run(Box::new(find_controllable_run(&store, id).await?)),
        };
        Ok(Self { project: project.clone(), store, kind })
    }

    /// Closes the store.
    pub async fn close(self) {
        self.store.close().await;
    }

    /// Returns the id of the task, or the short id of the run.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            LoopTargetKind::Run(row) => loop_name(row),
            LoopTargetKind::Task { id, .. } => id,
        }
    }

    /// Returns the loop that is recorded as running.
    pub async fn find_open_loop(&self) -> AppResult<Option<LoopRow>> {
        match &self.kind {
            LoopTargetKind::Run(row) => Ok(self.store.loop_of_run(&row.run.id).await?.filter(is_running)),
            LoopTargetKind::Task { id, .. } => {
                let loops = self.store.running_loops().await?;
                Ok(loops.into_iter().rfind(|row| row.run.task.as_ref() == Some(id)))
            }
        }
    }

    /// Returns the running loop, if a process drives it.
    pub async fn find_driven_loop(&self) -> AppResult<Option<DrivenLoop>> {
        let Some(row) = self.find_open_loop().await? else { return Ok(None) };
        match find_driver(&self.project, &row) {
            DriverStatus::Driven(owner) => Ok(Some(DrivenLoop { row, owner })),
            DriverStatus::NotDriven => Ok(None),
        }
    }

    /// Returns the worker that has leased the task, with or without a loop.
    pub async fn find_worker(&self) -> AppResult<Option<RunOwner>> {
        let LoopTargetKind::Task { id, .. } = &self.kind else { return Ok(None) };
        let ownership = self.store.task_ownership(id).await?;
        let owner = ownership.and_then(|task| task.owner_json).as_deref().and_then(RunOwner::parse);
        Ok(owner.filter(|owner| !owner.process.has_exited_here()))
    }

    /// Settles a task that no worker has leased.
    pub async fn settle_task(&self, id: &str, settlement: TaskSettlement) -> AppResult<()> {
        let taken = || {
            AppError::from_message(ErrorKind::StateUnusable, format!("a worker has just taken {id}"))
                .with_advice(ControlAdvice::ShowStatus)
        };
        if self.find_worker().await?.is_some() {
            return Err(taken());
        }
        let Some(TaskOwnership { fence, .. }) = self.store.task_ownership(id).await? else {
            return Err(unknown_target_error(id, &[]));
        };
        if self.store.settle_task(id, fence, settlement, Clock::wall_now()).await? { Ok(()) } else { Err(taken()) }
    }

    /// Records a command for the driver of the loop, and notifies the driver.
    pub async fn send_command(&self, command: &ControlCommand, owner: Option<&RunOwner>) -> AppResult<CommandDelivery> {
        let target = match &self.kind {
            LoopTargetKind::Run(row) => CommandTarget::Run(&row.run.id),
            LoopTargetKind::Task { id, .. } => CommandTarget::Task(id),
        };
        Ok(send_command(&self.store, target, command, Clock::wall_now(), owner).await?)
    }

    /// Waits until the driver has answered a command, up to [`ANSWER_TIMEOUT`].
    pub async fn wait_for_answer(&self, command_id: &str) -> AppResult<Option<CommandAnswer>> {
        let answered = async || Ok(self.store.command_answer(command_id).await?);
        poll_with_timeout(ANSWER_TIMEOUT, answered).await
    }
}

/// Returns whether a text is the id of a task, or the short or full id of a run.
pub async fn is_target_name(project: &Project, text: &str) -> AppResult<bool> {
    let Some(store) = open_existing_store(project).await? else { return Ok(false) };
    let is_task = store.get_task(text).await?.is_some();
    let named = store.find_runs_by_id_part(text).await?;
    store.close().await;
    Ok(is_task || named.iter().any(|run| run.id == text || short_id(&run.id) == text))
}

/// A loop that a command without an id could mean.
struct ActiveTarget {
    /// The id of its task or its run.
    id: String,
    description: String,
}

/// Returns the loops that a process drives, and the tasks that a worker prepares.
async fn load_active_targets(project: &Project, store: &Store) -> AppResult<Vec<ActiveTarget>> {
    let is_driven = |row: &LoopRow| matches!(find_driver(project, row), DriverStatus::Driven(_));
    let loops: Vec<LoopRow> = store.running_loops().await?.into_iter().filter(is_driven).collect();
    let target_of = |row: &LoopRow| ActiveTarget {
        id: row.run.task.clone().unwrap_or_else(|| row.run.id.clone()),
        description: describe_candidate(&row.run),
    };
    let preparing = prepared_tasks(store, &loops).await?;
    let preparing = preparing.into_iter().map(|id| ActiveTarget { description: id.clone(), id });
    Ok(loops.iter().map(target_of).chain(preparing).collect())
}

/// Returns the id of the loop's task, or the short id of its run.
fn loop_name(row: &LoopRow) -> &str {
    row.run.task.as_deref().unwrap_or_else(|| short_id(&row.run.id))
}

/// Returns where a loop is.
#[must_use]
pub fn describe_loop(row: &LoopRow) -> LoopPosition {
    LoopPosition {
        name: loop_name(row).to_owned(),
        iteration: row.run.iterations,
        max_iterations: row.run.max_iterations,
    }
}

/// Returns how long the agents of a loop have to stop before they are killed.
pub(super) fn grace_period(row: &LoopRow) -> Duration {
    RunSpec::parse(&row.run.settings).map_or(ANSWER_TIMEOUT, |spec| spec.stop_grace)
}

fn is_running(row: &LoopRow) -> bool {
    row.run.status == "running"
}

/// Like [`find_run_by_part`], without the loops of sessions, which no process of ralph drives.
async fn find_controllable_run(store: &Store, part: &str) -> AppResult<LoopRow> {
    let row = find_run_by_part(store, part).await?;
    refuse_session_run(&row.run, "controlled")?;
    Ok(row)
}

async fn find_run_by_part(store: &Store, part: &str) -> AppResult<LoopRow> {
    let mut found = store.find_runs_by_id_part(part).await?;
    let row = match found.len() {
        1 => store.loop_of_run(&found.swap_remove(0).id).await?,
        0 => None,
        _ => return Err(ambiguous_run_error(part, &found)),
    };
    match row {
        Some(row) => Ok(row),
        None => {
            let tasks = store.list_tasks().await?;
            Err(unknown_target_error(part, &tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>()))
        }
    }
}

fn unknown_target_error(id: &str, tasks: &[&str]) -> AppError {
    let failure = AppError::not_found(format!("there is no task and no run {id:?} here"));
    match suggest::nearest_name(id, tasks) {
        Some(near) => failure.with_advice(format!("did you mean {near}?")),
        None => failure.with_advice(ControlAdvice::ListTargets),
    }
}
