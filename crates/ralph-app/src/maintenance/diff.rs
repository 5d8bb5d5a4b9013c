//! Compares the files before and after a run, or before and after all runs of a task.
use std::path::Path;

use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_engine::worktree::{self, AttemptSnapshot, RunTrees, WorktreeError, WorktreeLayout};
use ralph_store::RunRow;

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

/// Returns the changes of the run whose id starts or ends with `part`, of all runs of the task with this id, or of the newest
/// run.
pub async fn diff_run(project: &Project, part: Option<&str>, detail: DiffDetail) -> AppResult<RunDiff> {
    let FoundRun { store, run } = find_run(project, part).await?;
    let of_task = match part {
        Some(task) => store.runs_of_task(task).await?,
        None => Vec::new(),
    };
    store.close().await;
    let root = worktree_root(project, &run)?;
    let trees = worktree::read_run_trees(&root, &run.id)?;
    let RunTrees { before, after } = trees.ok_or(WorktreeError::NoRunSnapshot { run: short_id(&run.id).to_owned() })?;
    let before = first_tree(&root, &of_task)?.unwrap_or(before);
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

/// Returns which files one iteration of a stage changed; `None` if no snapshot was taken after it, or a later run of the stage has
/// replaced that.
pub async fn diff_iteration(project: &Project, run: &str, iteration: u32) -> AppResult<Option<String>> {
    let FoundRun { store, run } = find_run(project, Some(run)).await?;
    let (Some(task), Some(role)) = (&run.task, &run.role) else { return Ok(None) };
    let runs_of_task = store.runs_of_task(task).await?;
    store.close().await;
    let newest = runs_of_task.iter().rfind(|other| other.role.as_ref() == Some(role));
    if newest.is_none_or(|newest| newest.id != run.id) {
        return Ok(None);
    }
    let layout = WorktreeLayout::for_project(project)?;
    let snapshots = worktree::list_snapshots(&layout, task)?;
    let of_stage: Vec<&AttemptSnapshot> =
        snapshots.iter().filter(|taken| taken.earlier_round.is_none() && taken.key.stage == *role).collect();
    let Some(after) = of_stage.iter().rfind(|taken| taken.key.iteration == iteration) else { return Ok(None) };
    let root = worktree_root(project, &run)?;
    let before = match of_stage.iter().rfind(|taken| taken.key.iteration < iteration) {
        Some(before) => before.commit.clone(),
        None => match worktree::read_run_trees(&root, &run.id)? {
            Some(trees) => trees.before,
            None => return Ok(None),
        },
    };
    let text = git::render_diff(&root, &before, &after.commit, &["--stat=100"]).map_err(WorktreeError::Git)?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Returns the files before the first of these runs whose snapshot is kept.
fn first_tree(root: &Path, runs: &[RunRow]) -> Result<Option<String>, WorktreeError> {
    for run in runs {
        if let Some(trees) = worktree::read_run_trees(root, &run.id)? {
            return Ok(Some(trees.before));
        }
    }
    Ok(None)
}
