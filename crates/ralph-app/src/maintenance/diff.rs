//! Compares the files before and after a run.
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_engine::worktree::{self, RunTrees, WorktreeError};

use super::run_worktree::worktree_root;
use crate::error::AppResult;
use crate::run::{FoundRun, find_run};
use crate::view::short_id;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffDetail {
    Full,
    /// Only which files changed, and how much.
    FileList,
}

/// The state that the files before the run are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffEnd {
    RunEnd,
    /// The files as they are now: the run is active, or was interrupted.
    Now,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDiff {
    pub run_id: String,
    /// The diff as git prints it.
    pub text: String,
    pub end: DiffEnd,
}

/// Returns the changes of the run whose id starts or ends with `part`, or of the newest run.
pub async fn diff_run(project: &Project, part: Option<&str>, detail: DiffDetail) -> AppResult<RunDiff> {
    let FoundRun { store, run } = find_run(project, part).await?;
    store.close().await;
    let root = worktree_root(project, &run)?;
    let trees = worktree::read_run_trees(&root, &run.id)?;
    let RunTrees { before, after } = trees.ok_or(WorktreeError::NoRunSnapshot { run: short_id(&run.id).to_owned() })?;
    let end = if after.is_some() { DiffEnd::RunEnd } else { DiffEnd::Now };
    let after = match after {
        Some(after) => after,
        None => worktree::write_current_tree(&root)?,
    };
    let options: &[&str] = match detail {
        DiffDetail::Full => &[],
        DiffDetail::FileList => &["--stat=100"],
    };
    let text = git::render_diff(&root, &before, &after, options).map_err(WorktreeError::Git)?;
    Ok(RunDiff { run_id: run.id, text: String::from_utf8_lossy(&text).into_owned(), end })
}
