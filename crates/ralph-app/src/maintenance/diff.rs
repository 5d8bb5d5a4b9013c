//! Compares the files before and after a run, or before and after all runs of a task.
use std::path::Path;

use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_engine::worktree::{self, AttemptSnapshot, RunTrees, WorktreeError, WorktreeLayout};
use ralph_store::RunRow;

use super::run_worktree::{own_worktree_name, worktree_root};
use crate::error::{AppError, AppResult};
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
    let text = git::render_diff(&root, &before, &after, git_options(detail)).map_err(WorktreeError::Git)?;
    Ok(RunDiff { run_id: run.id, text: String::from_utf8_lossy(&text).into_owned(), end })
}

/// Returns which files one iteration of a run in a separate work tree changed; `None` if no snapshot was taken after it, or a
/// later run of the same stage has replaced that.
pub async fn diff_iteration(project: &Project, run: &str, iteration: u32) -> AppResult<Option<String>> {
    Ok(compare_iteration(project, run, iteration, DiffDetail::FileList).await?.map(|diff| diff.text))
}

/// Returns the changes of one iteration, as [`diff_iteration`]. Those of an iteration that has not ended are
/// compared with the files of now.
async fn compare_iteration(
    project: &Project,
    run: &str,
    iteration: u32,
    detail: DiffDetail,
) -> AppResult<Option<RunDiff>> {
    let FoundRun { store, run } = find_run(project, Some(run)).await?;
    let runs_of_task = match &run.task {
        Some(task) => store.runs_of_task(task).await?,
        None => Vec::new(),
    };
    store.close().await;
    let newest = runs_of_task.iter().rfind(|other| other.role == run.role);
    if newest.is_some_and(|newest| newest.id != run.id) {
        return Ok(None);
    }
    let Some(name) = own_worktree_name(&run) else { return Ok(None) };
    let layout = WorktreeLayout::for_project(project)?;
    let snapshots = worktree::list_snapshots(&layout, &name)?;
    // A stage that was sent back begins again with iteration 1: older snapshots are those of its earlier rounds.
    let is_of_run = |taken: &&AttemptSnapshot| {
        taken.earlier_round.is_none()
            && run.role.as_ref().is_none_or(|role| taken.key.stage == *role)
            && taken.taken_at.saturating_mul(1_000).saturating_add(999) >= run.started_at
    };
    let of_stage: Vec<&AttemptSnapshot> = snapshots.iter().filter(is_of_run).collect();
    let root = worktree_root(project, &run)?;
    let is_open = run.status == "running" && i64::from(iteration) == run.iterations.max(1);
    let (after, end) = match of_stage.iter().rfind(|taken| taken.key.iteration == iteration) {
        // A failed attempt of this iteration may have a snapshot already.
        _ if is_open => (worktree::write_current_tree(&root)?, DiffEnd::Now),
        Some(after) => (after.commit.clone(), DiffEnd::RunEnd),
        None => return Ok(None),
    };
    let before = match of_stage.iter().rfind(|taken| taken.key.iteration < iteration) {
        Some(before) => before.commit.clone(),
        None => match worktree::read_run_trees(&root, &run.id)? {
            Some(trees) => trees.before,
            None => return Ok(None),
        },
    };
    let text = git::render_diff(&root, &before, &after, git_options(detail)).map_err(WorktreeError::Git)?;
    Ok(Some(RunDiff { run_id: run.id, text: String::from_utf8_lossy(&text).into_owned(), end }))
}

/// Returns the diff of one iteration. An iteration whose files were not stored is an error.
pub async fn diff_stored_iteration(
    project: &Project,
    run: &str,
    iteration: u32,
    detail: DiffDetail,
) -> AppResult<RunDiff> {
    compare_iteration(project, run, iteration, detail).await?.ok_or_else(|| {
        AppError::preflight(format!("the files after iteration {iteration} are not stored"))
            .with_cause("only runs in a separate work tree store them after each iteration, and a later run of a stage replaces them")
    })
}

/// Returns the options of `git diff`.
fn git_options(detail: DiffDetail) -> &'static [&'static str] {
    match detail {
        DiffDetail::Full => &[],
        DiffDetail::FileList => &["--stat=100"],
    }
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
