//! Reserves a work tree that ralph created, so that no worker and no run uses it while its files change.
use std::time::Duration;

use ralph_engine::lock::{self, HeldLock, LockError, LockSharing, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{RunRow, Store, TaskLease, TaskListItem};
use ralph_util::failpoints::{self, FailPoint};
use ralph_util::private_files;

use crate::control::ControlAdvice;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::task_files::{find_run_by_tree_name, unknown_task_error};
use crate::tasks::ensure_not_running;
use crate::view::short_id;

/// Enough time for git. The lease of a process that died is expired earlier.
const RESERVATION_LEASE: Duration = Duration::from_secs(600);

/// The task or run that a work tree belongs to.
pub enum WorktreeOwner {
    Task(Box<TaskListItem>),
    Run(Box<RunRow>),
}

impl WorktreeOwner {
    /// Finds the owner of the work tree with this name.
    pub async fn find(store: &Store, name: &str) -> AppResult<Self> {
        if let Some(task) = store.list_tasks().await?.into_iter().find(|task| task.id == name) {
            return Ok(Self::Task(Box::new(task)));
        }
        if let Some(run) = find_run_by_tree_name(store, name).await? {
            return Ok(Self::Run(Box::new(run)));
        }
        Err(unknown_task_error(store, name).await?)
    }

    /// Returns the name of the work tree.
    pub fn tree_name(&self) -> String {
        match self {
            Self::Task(head) => head.id.clone(),
            Self::Run(run) => format!("run-{}", short_id(&run.id)),
        }
    }

    /// Keeps workers and runs out of the work tree. Fails if one uses it.
    pub async fn reserve_worktree(&self, store: &Store, project: &Project) -> AppResult<WorktreeReservation> {
        match self {
            Self::Task(head) => lease_task(store, project, head).await.map(WorktreeReservation::Task),
            Self::Run(run) => lock_run(project, run).await.map(WorktreeReservation::Run),
        }
    }
}

/// Keeps others out of a work tree until it is released.
#[derive(Debug)]
pub enum WorktreeReservation {
    /// The lease of the task.
    Task(TaskLease),
    /// The lock of the run.
    Run(HeldLock),
}

impl WorktreeReservation {
    /// Gives the work tree back.
    pub async fn release(self, store: &Store) -> AppResult<()> {
        match self {
            Self::Task(claim) => Ok(store.release_lease(&claim).await.map(drop)?),
            Self::Run(held) => {
                drop(held);
                Ok(())
            }
        }
    }
}

async fn lease_task(store: &Store, project: &Project, head: &TaskListItem) -> AppResult<TaskLease> {
    ensure_not_running(head, project)?;
    ensure_task_is_free(store, &head.id).await?;
    let owner = RunOwner::for_this_process(&head.id, Clock::wall_now()).to_json();
    failpoints::reach_fail_point(FailPoint::WorktreeLockChecked);
    let claim =
        store.lease_task(&head.id, &owner, RESERVATION_LEASE).await?.ok_or_else(|| task_taken_error(&head.id, None))?;
    // No run can start from now on; one that started since the first check is found here.
    let heads = store.list_tasks().await?;
    let seen = heads.iter().find(|seen| seen.id == head.id).map_or(Ok(()), |seen| ensure_not_running(seen, project));
    if seen.is_err() {
        store.release_lease(&claim).await?;
    }
    seen.map(|()| claim)
}

/// Refuses a task that a worker has leased, with or without a loop. Expires the lease of a dead worker.
pub async fn ensure_task_is_free(store: &Store, task: &str) -> AppResult<()> {
    let leases = store.list_leases().await?.into_iter();
    for lease in leases.filter(|lease| lease.task_lease.task_id == task && !lease.is_expired) {
        let owner = RunOwner::parse(&lease.owner);
        if !owner.as_ref().is_some_and(|owner| owner.process.has_exited_here()) {
            return Err(task_taken_error(task, owner.as_ref()));
        }
        store.expire_lease(&lease.task_lease).await?;
    }
    Ok(())
}

fn task_taken_error(task: &str, owner: Option<&RunOwner>) -> AppError {
    let who = owner.map(|owner| format!(": {owner}")).unwrap_or_default();
    AppError::preflight(format!("a worker has task {task}{who}"))
        .with_advice(ControlAdvice::WaitForWorker { task: task.to_owned() })
}

async fn lock_run(project: &Project, run: &RunRow) -> AppResult<HeldLock> {
    private_files::ensure_folder(&project.run_folder(&run.id))
        .map_err(|error| AppError::from_error(ErrorKind::StateUnusable, &error))?;
    let owner = RunOwner::for_this_process(&run.id, Clock::wall_now());
    match lock::take_lock(&project.run_lock(&run.id), LockSharing::Exclusive, &owner).await {
        Err(LockError::Taken { .. }) => {
            let short = short_id(&run.id);
            Err(AppError::preflight(format!("run {short} works in this tree"))
                .with_advice(ControlAdvice::WaitOrCancel { id: short.to_owned() }))
        }
        held => Ok(held?),
    }
}
