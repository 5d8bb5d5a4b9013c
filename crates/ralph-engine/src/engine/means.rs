//! What a run stands on while it is driven: what keeps every other engine away from it, and what it works with.
use std::path::PathBuf;
use std::sync::Arc;

use ralph_core::event::Millis;
use tokio::task::AbortHandle;

use super::drive::EngineError;
use super::ledger::Account;
use super::plan::RunPlan;
use super::signals::Asks;
use crate::lock::{self, Held, LockError, Owner, Sharing};
use ralph_process::Keeper;
use ralph_store::Store;
use ralph_util::private;

/// What keeps every other engine away from a run until it is dropped: the locks of the run and of its tree, or the lease
/// of the task whose stage it is.
#[derive(Debug)]
pub struct Hold {
    owner: Owner,
    _run: RunLock,
    _tree: Option<Held>,
}

/// The lock of a run, which shows others that somebody drives it.
#[derive(Debug)]
enum RunLock {
    Held {
        _lock: Held,
    },
    /// It is taken as soon as whoever still has it lets go.
    Awaited(AbortHandle),
}

impl Drop for RunLock {
    fn drop(&mut self) {
        if let Self::Awaited(wait) = self {
            wait.abort();
        }
    }
}

/// The lock of a work tree, before that of the run.
#[derive(Debug)]
pub struct TreeHold {
    owner: Owner,
    tree: Held,
}

impl TreeHold {
    /// The keeper must have been forked before: it would hold the lock too, and go on holding it after our death.
    pub async fn take(plan: &RunPlan, now: Millis) -> Result<Self, EngineError> {
        let state = plan.project.state();
        private::folder(&state).map_err(|source| EngineError::Folder { path: state.clone(), source })?;
        let owner = Owner::of(&plan.id, now);
        let tree = lock::take(&state.join("lock"), plan.sharing, &owner).await?;
        Ok(Self { owner, tree })
    }
}

/// Everything that the engine needs beside the plan. Keeper and store may serve other runs at the same time.
pub struct Means {
    pub keeper: Keeper,
    pub hold: Hold,
    pub store: Arc<Store>,
    pub asks: Asks,
    /// Where a worker counts what the run costs, if one drives it.
    pub account: Option<Account>,
}

impl Hold {
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Takes the lock of the run as well. Nobody can know the run before this.
    pub async fn take(plan: &RunPlan, tree: TreeHold) -> Result<Self, EngineError> {
        let TreeHold { owner, tree } = tree;
        let run = lock::take(&lock_of(plan)?, Sharing::Alone, &owner).await?;
        let state = plan.project.state();
        tracing::debug!(run = plan.id, state = %state.display(), "holds the locks");
        Ok(Self { owner, _run: RunLock::Held { _lock: run }, _tree: Some(tree) })
    }

    /// Takes the lock of a run alone, for one that works in a tree of its own.
    pub async fn in_own_tree(plan: &RunPlan, now: Millis) -> Result<Self, EngineError> {
        let (owner, lock) = (Owner::of(&plan.id, now), lock_of(plan)?);
        let run = lock::take(&lock, Sharing::Alone, &owner).await?;
        Ok(Self { owner, _run: RunLock::Held { _lock: run }, _tree: None })
    }

    /// Holds a run by the lease of its task. The lock of the run only shows that somebody drives it: one who was stopped
    /// and lost the lease may still have it.
    pub async fn leased(plan: &RunPlan, now: Millis) -> Result<Self, EngineError> {
        let (owner, lock) = (Owner::of(&plan.id, now), lock_of(plan)?);
        let run = match lock::take(&lock, Sharing::Alone, &owner).await {
            Ok(run) => RunLock::Held { _lock: run },
            Err(LockError::Taken { .. }) => {
                RunLock::Awaited(tokio::spawn(wait_for(lock, owner.clone())).abort_handle())
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self { owner, _run: run, _tree: None })
    }

    /// Lets go of a run that will never be stored: nothing of it shall be found.
    pub fn forget(self, plan: &RunPlan) {
        // The lock is removed while it is held; whoever waits for it looks again. What else lies there stays.
        let _ = std::fs::remove_file(plan.project.run_lock(&plan.id));
        let _ = std::fs::remove_dir(plan.project.run_folder(&plan.id));
    }
}

/// Returns where the lock of a run is; its folder is there then.
fn lock_of(plan: &RunPlan) -> Result<PathBuf, EngineError> {
    let folder = plan.project.run_folder(&plan.id);
    private::folder(&folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
    Ok(plan.project.run_lock(&plan.id))
}

/// Takes a lock when it becomes free, and has it until this is dropped.
async fn wait_for(lock: PathBuf, owner: Owner) {
    loop {
        match lock::take(&lock, Sharing::Alone, &owner).await {
            Ok(_held) => std::future::pending().await,
            Err(LockError::Taken { .. }) => {}
            Err(_) => return,
        }
    }
}
