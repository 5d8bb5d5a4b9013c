//! Removes a task work tree if nothing would be lost: its commits are merged, and everything in it is committed.
use super::{TaskWorktree, WorktreeError, WorktreeLayout, find_worktree, ref_names};
use crate::git::{self, RefUpdate};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeRemoval {
    Removed,
    /// The work tree was kept, for this reason.
    Kept(String),
    NotFound,
}

/// Removes the work tree of a task, unless work would be lost. Its branch and its snapshots stay.
pub fn remove_worktree(layout: &WorktreeLayout, name: &str) -> Result<WorktreeRemoval, WorktreeError> {
    let Some(tree) = find_worktree(layout, name)? else { return Ok(WorktreeRemoval::NotFound) };
    if let Some(loss) = describe_loss(layout, &tree)? {
        return Ok(WorktreeRemoval::Kept(loss));
    }
    match git::remove_worktree(&layout.root, &tree.path, &ref_names::lock_reason(name, layout.project_key())) {
        Ok(()) => Ok(WorktreeRemoval::Removed),
        Err(error) => Ok(WorktreeRemoval::Kept(error.to_string())),
    }
}

/// Describes the work that would be lost with a work tree, if any.
pub fn describe_loss(layout: &WorktreeLayout, tree: &TaskWorktree) -> Result<Option<String>, WorktreeError> {
    let (here, there) = (git::head_commit(&layout.root)?, git::head_commit(&tree.path)?);
    let is_merged = match (&here, &there) {
        (Some(here), Some(there)) => git::is_ancestor(&layout.root, there, here)?,
        (_, _) => false,
    };
    if !is_merged {
        return Ok(Some("it has commits that are not merged".to_owned()));
    }
    let position = git::read_position(&tree.path, None)?;
    Ok(position.uncommitted.first().map(|first| format!("it contains the uncommitted file {first}")))
}

/// Returns the task work trees of a project.
pub fn list_task_worktrees(layout: &WorktreeLayout) -> Result<Vec<TaskWorktree>, WorktreeError> {
    let end = ref_names::lock_reason("", layout.project_key());
    let (start, end) = end.split_at(end.find(" of ").unwrap_or_default());
    let names = git::list_worktrees(&layout.root)?.into_iter().filter_map(|linked| {
        let name = linked.lock_reason?.strip_prefix(start)?.strip_suffix(end)?.to_owned();
        Some(name)
    });
    let found: Result<Vec<Option<TaskWorktree>>, WorktreeError> =
        names.map(|name| find_worktree(layout, &name)).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// Removes a work tree without any work, with its branch and references. If there is work, these stay.
pub fn discard_untouched(layout: &WorktreeLayout, name: &str) -> Result<WorktreeRemoval, WorktreeError> {
    let removal = remove_worktree(layout, name)?;
    let all = git::list_refs(&layout.root, &ref_names::task_ref_prefix(name))?;
    let base = ref_names::base_ref(name, layout.project_key());
    let base = all.iter().find(|found| found.name == base).map(|found| found.commit.clone());
    let branch = git::resolve_commit(&layout.root, &ref_names::branch_ref(name))?;
    let is_untouched = base.is_some() && branch == base && all.iter().all(|found| Some(&found.commit) == base.as_ref());
    if removal == WorktreeRemoval::Removed && is_untouched {
        let found = all.into_iter().map(|found| found.name).chain([ref_names::branch_ref(name)]);
        let deletions: Vec<RefUpdate> = found.map(|name| RefUpdate::Delete { name }).collect();
        git::update_refs(&layout.root, &deletions, "ralph: nothing was done")?;
    }
    Ok(removal)
}
