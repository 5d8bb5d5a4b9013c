//! What a run stands on while it is driven: what keeps every other engine away from it, and what it works with.
use std::sync::Arc;

use ralph_core::event::Millis;

use super::drive::EngineError;
use super::plan::RunPlan;
use super::signals::Asks;
use crate::lock::{self, Held, LockError, Owner, Sharing};
use crate::private;
use crate::process::Keeper;
use crate::store::Store;

/// What keeps every other engine away from a run until it is dropped: the locks of the run and of its tree, or the lease
/// of the task whose stage it is.
#[derive(Debug)]
pub struct Hold {
    owner: Owner,
    _run: Option<Held>,
    _tree: Option<Held>,
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
}

impl Hold {
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Takes the lock of the run as well. Nobody can know the run before this.
    pub async fn take(plan: &RunPlan, tree: TreeHold) -> Result<Self, EngineError> {
        let TreeHold { owner, tree } = tree;
        let folder = plan.project.run_folder(&plan.id);
        private::folder(&folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
        let run = lock::take(&plan.project.run_lock(&plan.id), Sharing::Alone, &owner).await?;
        let state = plan.project.state();
        tracing::debug!(run = plan.id, state = %state.display(), "holds the locks");
        Ok(Self { owner, _run: Some(run), _tree: Some(tree) })
    }

    /// Takes the lock of a run alone, for one that works in a tree of its own.
    pub async fn in_own_tree(plan: &RunPlan, now: Millis) -> Result<Self, EngineError> {
        let owner = Owner::of(&plan.id, now);
        let folder = plan.project.run_folder(&plan.id);
        private::folder(&folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
        let run = lock::take(&plan.project.run_lock(&plan.id), Sharing::Alone, &owner).await?;
        Ok(Self { owner, _run: Some(run), _tree: None })
    }

    /// Holds a run by the lease of its task. The lock of the run only shows that somebody drives it: one who was stopped
    /// and lost the lease may still have it.
    pub async fn leased(plan: &RunPlan, now: Millis) -> Result<Self, EngineError> {
        let owner = Owner::of(&plan.id, now);
        let folder = plan.project.run_folder(&plan.id);
        private::folder(&folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
        match lock::take(&plan.project.run_lock(&plan.id), Sharing::Alone, &owner).await {
            Ok(run) => Ok(Self { owner, _run: Some(run), _tree: None }),
            Err(LockError::Taken { .. }) => Ok(Self { owner, _run: None, _tree: None }),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets go of a run that will never be stored: nothing of it shall be found.
    pub fn forget(self, plan: &RunPlan) {
        // The lock is removed while it is held; whoever waits for it looks again. What else lies there stays.
        let _ = std::fs::remove_file(plan.project.run_lock(&plan.id));
        let _ = std::fs::remove_dir(plan.project.run_folder(&plan.id));
    }
}
