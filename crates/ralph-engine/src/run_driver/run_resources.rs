//! The resources of a run in progress: the locks that keep other processes away from it, the keeper, the store and the
//! control input.
use std::path::PathBuf;
use std::sync::Arc;

use ralph_core::event::UnixMillis;
use tokio::task::AbortHandle;

use super::control_input::ControlInput;
use super::cost_ledger::CostAccount;
use super::plan::run_context::RunContext;
use super::plan::run_plan::RunPlan;
use super::process_driver::EngineError;
use crate::lock::{self, HeldLock, LockError, LockSharing, RunOwner};
use ralph_process::Keeper;
use ralph_store::Store;
use ralph_util::private_files;

/// Exclusive ownership of a run until it is dropped: the locks of the run and its work tree, or the lease of the task whose
/// stage it is.
#[derive(Debug)]
pub struct RunLease {
    owner: RunOwner,
    _run_lock: RunLock,
    _worktree_lock: Option<HeldLock>,
}

/// The lock of a run, which shows other processes that the run is driven.
#[derive(Debug)]
enum RunLock {
    Held {
        _lock: HeldLock,
    },
    /// A task that takes the lock as soon as its present holder releases it.
    Pending(AbortHandle),
}

impl Drop for RunLock {
    fn drop(&mut self) {
        if let Self::Pending(wait) = self {
            wait.abort();
        }
    }
}

/// The lock of a work tree, taken before that of the run.
#[derive(Debug)]
pub struct WorktreeLock {
    owner: RunOwner,
    lock: HeldLock,
}

impl WorktreeLock {
    /// Takes the lock. The keeper must have been forked before: it would inherit the lock and hold it after this process
    /// has died.
    pub async fn acquire(plan: &RunPlan, now: UnixMillis) -> Result<Self, EngineError> {
        let RunPlan { spec, context } = plan;
        let state = context.project.state_folder();
        private_files::ensure_folder(&state).map_err(|source| EngineError::Folder { path: state.clone(), source })?;
        let owner = RunOwner::for_this_process(&context.id, now);
        let tree = lock::take_lock(&state.join("lock"), spec.sharing, &owner).await?;
        Ok(Self { owner, lock: tree })
    }
}

/// Everything that the engine needs in addition to the plan. Other runs may share keeper and store.
pub struct RunResources {
    pub keeper: Keeper,
    pub lease: RunLease,
    pub store: Arc<Store>,
    pub control: ControlInput,
    /// The account in which a worker counts the cost of the run, if a worker drives it.
    pub cost_account: Option<CostAccount>,
}

impl RunLease {
    #[must_use]
    pub fn owner(&self) -> &RunOwner {
        &self.owner
    }

    /// Takes the lock of the run in addition. Other processes cannot find the run before this.
    pub async fn acquire(context: &RunContext, tree: WorktreeLock) -> Result<Self, EngineError> {
        let WorktreeLock { owner, lock: tree } = tree;
        let run = lock::take_lock(&prepare_lock_path(context)?, LockSharing::Exclusive, &owner).await?;
        let state = context.project.state_folder();
        tracing::debug!(run = context.id, state = %state.display(), "holds the locks");
        Ok(Self { owner, _run_lock: RunLock::Held { _lock: run }, _worktree_lock: Some(tree) })
    }

    /// Takes only the lock of the run, for a run in a separate work tree.
    pub async fn acquire_in_own_worktree(context: &RunContext, now: UnixMillis) -> Result<Self, EngineError> {
        let (owner, lock) = (RunOwner::for_this_process(&context.id, now), prepare_lock_path(context)?);
        let run = lock::take_lock(&lock, LockSharing::Exclusive, &owner).await?;
        Ok(Self { owner, _run_lock: RunLock::Held { _lock: run }, _worktree_lock: None })
    }

    /// Owns a run by the lease of its task. The lock of the run only shows that it is driven: a suspended worker that has
    /// lost the lease may still hold the lock.
    pub async fn acquire_under_task_lease(context: &RunContext, now: UnixMillis) -> Result<Self, EngineError> {
        let (owner, lock) = (RunOwner::for_this_process(&context.id, now), prepare_lock_path(context)?);
        let run = match lock::take_lock(&lock, LockSharing::Exclusive, &owner).await {
            Ok(run) => RunLock::Held { _lock: run },
            Err(LockError::Taken { .. }) => {
                RunLock::Pending(tokio::spawn(hold_lock_when_free(lock, owner.clone())).abort_handle())
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self { owner, _run_lock: run, _worktree_lock: None })
    }

    /// Releases a run that will never be stored, and removes its lock and its empty folder.
    pub fn discard_unstored_run(self, context: &RunContext) {
        // The lock is removed while it is held; a waiting process then opens the path again. Other files stay.
        let _ = std::fs::remove_file(context.project.run_lock(&context.id));
        let _ = std::fs::remove_dir(context.project.run_folder(&context.id));
    }
}

/// Creates the folder of a run and returns the path of its lock.
fn prepare_lock_path(context: &RunContext) -> Result<PathBuf, EngineError> {
    let folder = context.project.run_folder(&context.id);
    private_files::ensure_folder(&folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
    Ok(context.project.run_lock(&context.id))
}

/// Takes a lock when it becomes free, and holds it until this future is dropped.
async fn hold_lock_when_free(lock: PathBuf, owner: RunOwner) {
    loop {
        match lock::take_lock(&lock, LockSharing::Exclusive, &owner).await {
            Ok(_held) => std::future::pending().await,
            Err(LockError::Taken { .. }) => {}
            Err(_) => return,
        }
    }
}
