//! Keeps everybody else away from a work tree of ralph's own while a command changes what lies in it.
use std::time::Duration;

use ralph_core::outcome::exit_code;

use super::task::{at_rest, unknown};
use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_engine::engine::Clock;
use ralph_engine::lock::{self, Held, LockError, Owner, Sharing};
use ralph_engine::project::Project;
use ralph_store::{Claim, RunRow, Store, TaskHead};
use ralph_util::fail::{self, Point};
use ralph_util::private;

/// Git has time enough. Whoever dies meanwhile is found out, and nobody waits for him.
const LEASE: Duration = Duration::from_secs(600);

/// Whose a tree is.
pub enum Whose {
    Task(Box<TaskHead>),
    Run(Box<RunRow>),
}

impl Whose {
    /// Finds out whose the tree of that name is.
    pub async fn find(store: &Store, name: &str) -> Result<Self, Failure> {
        let heads = store.tasks().await?;
        if let Some(head) = heads.iter().find(|head| head.id == name) {
            return Ok(Self::Task(Box::new(head.clone())));
        }
        if let Some(run) = run_named(store, name).await? {
            return Ok(Self::Run(Box::new(run)));
        }
        Err(unknown(name, &heads.iter().map(|head| head.id.as_str()).collect::<Vec<_>>()))
    }

    /// Returns what the tree is called.
    pub fn tree_name(&self) -> String {
        match self {
            Self::Task(head) => head.id.clone(),
            Self::Run(run) => format!("run-{}", short_id(&run.id)),
        }
    }

    /// Keeps workers and runs away from the tree, unless one is at work there.
    pub async fn hold(&self, store: &Store, project: &Project) -> Result<TreeHold, Failure> {
        match self {
            Self::Task(head) => of_task(store, project, head).await.map(TreeHold::Task),
            Self::Run(run) => of_run(project, run).await.map(TreeHold::Run),
        }
    }
}

/// Returns the run that worked in a tree of its own with that name.
pub async fn run_named(store: &Store, name: &str) -> Result<Option<RunRow>, Failure> {
    let Some(part) = name.strip_prefix("run-") else { return Ok(None) };
    Ok(store.runs_like(part).await?.into_iter().find(|run| short_id(&run.id) == part))
}

/// What keeps others away.
#[derive(Debug)]
pub enum TreeHold {
    /// The lease of the task.
    Task(Claim),
    /// The lock of the run, until it is dropped.
    Run(Held),
}

impl TreeHold {
    /// Lets others in again.
    pub async fn release(self, store: &Store) -> Result<(), Failure> {
        match self {
            Self::Task(claim) => Ok(store.give_back(&claim).await.map(drop)?),
            Self::Run(held) => {
                drop(held);
                Ok(())
            }
        }
    }
}

async fn of_task(store: &Store, project: &Project, head: &TaskHead) -> Result<Claim, Failure> {
    at_rest(head, project)?;
    free(store, &head.id).await?;
    let owner = Owner::of(&head.id, Clock::wall()).json();
    fail::point(Point::HoldLooked);
    let claim = store.hold_task(&head.id, &owner, LEASE).await?.ok_or_else(|| taken(&head.id, None))?;
    // From now on none can begin. One that began since the first look shows itself.
    let heads = store.tasks().await?;
    let seen = heads.iter().find(|seen| seen.id == head.id).map_or(Ok(()), |seen| at_rest(seen, project));
    if seen.is_err() {
        store.give_back(&claim).await?;
    }
    seen.map(|()| claim)
}

/// Refuses a task that a worker has, with or without a loop. The lease of a dead one is over.
pub async fn free(store: &Store, task: &str) -> Result<(), Failure> {
    let leases = store.leases().await?.into_iter();
    for lease in leases.filter(|lease| lease.claim.task == task && !lease.is_over) {
        let owner = Owner::parse(&lease.owner);
        if !owner.as_ref().is_some_and(|owner| owner.process.is_gone()) {
            return Err(taken(task, owner.as_ref()));
        }
        store.end_lease(&lease.claim).await?;
    }
    Ok(())
}

fn taken(task: &str, owner: Option<&Owner>) -> Failure {
    let who = owner.map(|owner| format!(": {owner}")).unwrap_or_default();
    Failure::preflight(format!("a worker has task {task}{who}")).hint(format!(
        "`ralph status` shows how far it is: wait until it is through, or end its work with `ralph cancel {task}`"
    ))
}

async fn of_run(project: &Project, run: &RunRow) -> Result<Held, Failure> {
    private::folder(&project.run_folder(&run.id)).map_err(|error| Failure::new(exit_code::STATE, &error))?;
    let owner = Owner::of(&run.id, Clock::wall());
    match lock::take(&project.run_lock(&run.id), Sharing::Alone, &owner).await {
        Err(LockError::Taken { .. }) => {
            let short = short_id(&run.id);
            Err(Failure::preflight(format!("run {short} works in this tree"))
                .hint(format!("wait for its end, or end it: ralph cancel {short}")))
        }
        held => Ok(held?),
    }
}
