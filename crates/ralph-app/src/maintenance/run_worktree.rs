//! The work tree of a stored run.
use std::path::PathBuf;

use ralph_engine::project::Project;
use ralph_engine::run_driver::RunSpec;
use ralph_engine::worktree::{self, WorktreeLayout};
use ralph_store::RunRow;

use crate::error::AppResult;

/// Returns the name of the run's own work tree, if it had one.
pub(super) fn own_worktree_name(run: &RunRow) -> Option<String> {
    RunSpec::parse(&run.settings).ok()?.worktree_name
}

/// Returns the folder that a run worked in: the user's, or its own work tree.
pub(crate) fn worktree_root(project: &Project, run: &RunRow) -> AppResult<PathBuf> {
    let Some(name) = own_worktree_name(run) else { return Ok(project.root.clone()) };
    let layout = WorktreeLayout::for_project(project)?;
    // The references belong to the repository, so that the run can be read without its work tree.
    Ok(worktree::find_worktree(&layout, &name)?.map_or_else(|| project.root.clone(), |tree| tree.path))
}
