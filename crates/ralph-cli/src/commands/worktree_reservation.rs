//! Keeps everybody else away from a work tree of ralph's own while a command changes what lies in it.
use std::time::Duration;

use ralph_core::outcome::exit_code;

use super::task::{ensure_not_running, unknown_task_error};
use crate::error::CommandError;
use ralph_app::view::short_id;
use ralph_engine::lock::{self, HeldLock, LockError, LockSharing, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{RunRow, Store, TaskLease, TaskListItem};
use ralph_util::failpoints::{self, FailPoint};
use ralph_util::private_files;

/// Git has time enough. Whoever dies meanwhile is found out, and nobody waits for him.
const RESERVATION_LEASE: Duration = Duration::from_secs(600);

/// Whose a tree is.
pub enum WorktreeOwner {
    Task(Box<TaskListItem>),
    Run(Box<RunRow>),
}

impl WorktreeOwner {
    /// Finds out whose the tree of that name is.
    pub async fn find(store: &Store, name: &str) -> Result<Self, CommandError> {
        let heads = store.list_tasks().await?;
        if let Some(head) = heads.iter().find(|head| head.id == name) {
            return Ok(Self::Task(Box::new(head.clone())));
        }
        if let Some(run) = find_run_by_tree_name(store, name).await? {
            return Ok(Self::Run(Box::new(run)));
        }
        Err(unknown_task_error(name, &heads.iter().map(|head| head.id.as_str()).collect::<Vec<_>>()))
    }

    /// Returns what the tree is called.
    pub fn tree_name(&self) -> String {
        match self {
            Self::Task(head) => head.id.clone(),
            Self::Run(run) => format!("run-{}", short_id(&run.id)),
        }
    }

    /// Keeps workers and runs away from the tree, unless one is at work there.
    pub async fn reserve_worktree(
        &self,
        store: &Store,
        project: &Project,
    ) -> Result<WorktreeReservation, CommandError> {
        match self {
            Self::Task(head) => lease_task(store, project, head).await.map(WorktreeReservation::Task),
            Self::Run(run) => lock_run(project, run).await.map(WorktreeReservation::Run),
        }
    }
}

/// Returns the run that worked in a tree of its own with that name.
pub async fn find_run_by_tree_name(store: &Store, name: &str) -> Result<Option<RunRow>, CommandError> {
    let Some(part) = name.strip_prefix("run-") else { return Ok(None) };
    Ok(store.find_runs_by_id_part(part).await?.into_iter().find(|run| short_id(&run.id) == part))
}

/// What keeps others away.
#[derive(Debug)]
pub enum WorktreeReservation {
    /// The lease of the task.
    Task(TaskLease),
    /// The lock of the run, until it is dropped.
    Run(HeldLock),
}

impl WorktreeReservation {
    /// Lets others in again.
    pub async fn release(self, store: &Store) -> Result<(), CommandError> {
        match self {
            Self::Task(claim) => Ok(store.release_lease(&claim).await.map(drop)?),
            Self::Run(held) => {
                drop(held);
                Ok(())
            }
        }
    }
}

async fn lease_task(store: &Store, project: &Project, head: &TaskListItem) -> Result<TaskLease, CommandError> {
    ensure_not_running(head, project)?;
    ensure_task_is_free(store, &head.id).await?;
    let owner = RunOwner::for_this_process(&head.id, Clock::wall_now()).to_json();
    failpoints::reach_fail_point(FailPoint::WorktreeLockChecked);
    let claim =
        store.lease_task(&head.id, &owner, RESERVATION_LEASE).await?.ok_or_else(|| task_taken_error(&head.id, None))?;
    // From now on none can begin. One that began since the first look shows itself.
    let heads = store.list_tasks().await?;
    let seen = heads.iter().find(|seen| seen.id == head.id).map_or(Ok(()), |seen| ensure_not_running(seen, project));
    if seen.is_err() {
        store.release_lease(&claim).await?;
    }
    seen.map(|()| claim)
}

/// Refuses a task that a worker has, with or without a loop. The lease of a dead one is over.
pub async fn ensure_task_is_free(store: &Store, task: &str) -> Result<(), CommandError> {
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

fn task_taken_error(task: &str, owner: Option<&RunOwner>) -> CommandError {
    let who = owner.map(|owner| format!(": {owner}")).unwrap_or_default();
    CommandError::preflight_error(format!("a worker has task {task}{who}")).with_hint(format!(
        "`ralph status` shows how far it is: wait until it is through, or end its work with `ralph cancel {task}`"
    ))
}

async fn lock_run(project: &Project, run: &RunRow) -> Result<HeldLock, CommandError> {
    private_files::ensure_folder(&project.run_folder(&run.id))
        .map_err(|error| CommandError::from_error(exit_code::STATE_UNUSABLE, &error))?;
    let owner = RunOwner::for_this_process(&run.id, Clock::wall_now());
    match lock::take_lock(&project.run_lock(&run.id), LockSharing::Exclusive, &owner).await {
        Err(LockError::Taken { .. }) => {
            let short = short_id(&run.id);
            Err(CommandError::preflight_error(format!("run {short} works in this tree"))
                .with_hint(format!("wait for its end, or end it: ralph cancel {short}")))
        }
        held => Ok(held?),
    }
}
