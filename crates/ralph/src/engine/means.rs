//! What a run stands on while it is driven: the locks that keep every other engine away from it.
use ralph_core::event::Millis;

use super::drive::EngineError;
use super::plan::RunPlan;
use crate::lock::{self, Held, Owner, Sharing};
use crate::private;
use crate::process::Keeper;
use crate::store::Store;

/// The locks of a run. Nobody else drives it, or works in its tree, until this is dropped.
#[derive(Debug)]
pub struct Hold {
    owner: Owner,
    _run: Held,
    _tree: Held,
}

/// Everything that the engine needs beside the plan.
pub struct Means {
    pub keeper: Keeper,
    pub hold: Hold,
    pub store: Store,
}

impl Hold {
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Takes the lock of the work tree and that of the run. The keeper must have been forked before: it would hold
    /// them too, and go on holding them after our death.
    pub async fn take(plan: &RunPlan, now: Millis) -> Result<Self, EngineError> {
        let owner = Owner::of(&plan.id, now);
        let folder = plan.project.run_folder(&plan.id);
        let state = plan.project.state();
        private::folder(&state).map_err(|source| EngineError::Folder { path: state.clone(), source })?;
        let tree = lock::take(&state.join("lock"), plan.sharing, &owner).await?;
        private::folder(&folder).map_err(|source| EngineError::Folder { path: folder.clone(), source })?;
        let run = lock::take(&plan.project.run_lock(&plan.id), Sharing::Alone, &owner).await?;
        tracing::debug!(run = plan.id, state = %state.display(), "holds the locks");
        Ok(Self { owner, _run: run, _tree: tree })
    }
}
