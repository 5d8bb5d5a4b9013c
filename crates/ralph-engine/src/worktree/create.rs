//! Creates a task work tree, or opens the existing one. An interrupted creation is resumed by the next call.
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{TaskWorktree, WorktreeError, WorktreeLayout, ref_names};
use crate::git::{self, CommitAuthor, LinkedWorktree, MergeResult, NewCommit, RefUpdate};
use crate::project::HOME_POINTER_FILE;
use ralph_util::failpoints::{self, FailPoint};

/// Whether a work tree was created or existed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeOrigin {
    Created,
    Existing,
    /// Its folder had been removed: it was created again at its last HEAD commit.
    Recreated,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedWorktree {
    pub worktree: TaskWorktree,
    pub origin: WorktreeOrigin,
}

/// Opens the work tree of a task, or creates it from the user's HEAD commit and the accepted work of the tasks that the
/// task depends on.
pub fn open_or_create(
    layout: &WorktreeLayout,
    name: &str,
    dependencies: &[String],
) -> Result<OpenedWorktree, WorktreeError> {
    match recorded_base(layout, name)? {
        Some(base) => reopen_worktree(layout, name, base),
        None => begin_worktree(layout, name, dependencies),
    }
}

/// Finds the work tree of a task without creating or repairing it.
pub fn find_worktree(layout: &WorktreeLayout, name: &str) -> Result<Option<TaskWorktree>, WorktreeError> {
    let Some(base) = recorded_base(layout, name)? else { return Ok(None) };
    let found = find_registered(layout, name)?.filter(|linked| linked.path.is_dir());
    let Some(linked) = found else { return Ok(None) };
    ensure_usable(layout, &linked.path)?;
    Ok(Some(TaskWorktree { task_id: name.to_owned(), path: linked.path, base }))
}

/// Returns the commit from which the work on a task started, if it has started.
pub(super) fn recorded_base(layout: &WorktreeLayout, name: &str) -> Result<Option<String>, WorktreeError> {
    let base_ref = ref_names::base_ref(name, layout.project_key());
    let all = git::list_refs(&layout.root, &ref_names::base_ref_prefix(name))?;
    match all.iter().find(|found| found.name == base_ref).or(all.first()) {
        None => Ok(None),
        Some(found) if found.name == base_ref => Ok(Some(found.commit.clone())),
        Some(other) => {
            let key = other.name.strip_prefix(&ref_names::base_ref_prefix(name)).unwrap_or_default().to_owned();
            Err(WorktreeError::OtherProject { name: name.to_owned(), key })
        }
    }
}

/// Records the base commit, then creates the work tree. After the record, an interrupted creation can be resumed.
fn begin_worktree(
    layout: &WorktreeLayout,
    name: &str,
    dependencies: &[String],
) -> Result<OpenedWorktree, WorktreeError> {
    let branch = ref_names::branch_ref(name);
    if git::resolve_commit(&layout.root, &branch)?.is_some() {
        return Err(WorktreeError::BranchTaken { branch: format!("ralph/{name}") });
    }
    refuse_occupied_path(name, &layout.task_path(name))?;
    let base = build_base_commit(layout, name, dependencies)?;
    let records = [branch, ref_names::base_ref(name, layout.project_key()), ref_names::accepted_ref(name)];
    let records = records.map(|reference| RefUpdate::create(reference, &base));
    git::update_refs(&layout.root, &records, "ralph: start of the work")?;
    failpoints::reach_fail_point(FailPoint::TreeRecorded);
    let tree = TaskWorktree { task_id: name.to_owned(), path: layout.task_path(name), base: base.clone() };
    add_worktree(layout, &tree, &base)?;
    Ok(OpenedWorktree { worktree: tree, origin: WorktreeOrigin::Created })
}

/// Merges the user's HEAD commit with the accepted work of the dependencies.
fn build_base_commit(layout: &WorktreeLayout, name: &str, dependencies: &[String]) -> Result<String, WorktreeError> {
    let root = &layout.root;
    let mut base = git::head_commit(root)?.ok_or(WorktreeError::NoCommitYet)?;
    for dependency in dependencies {
        let Some(accepted) = git::resolve_commit(root, &ref_names::accepted_ref(dependency))? else {
            continue;
        };
        if git::is_ancestor(root, &accepted, &base)? {
            continue;
        }
        if git::is_ancestor(root, &base, &accepted)? {
            base = accepted;
            continue;
        }
        let tree = match git::merge_commits(root, &base, &accepted)? {
            MergeResult::Clean { tree } => tree,
            MergeResult::Conflict { files } => {
                let (name, dependency) = (name.to_owned(), dependency.clone());
                return Err(WorktreeError::DependencyConflict { name, dependency, files });
            }
        };
        let message = format!("Merge {dependency} into the work on {name}");
        let new = NewCommit { tree: &tree, parents: &[&base, &accepted], message: &message };
        base = git::commit_tree(root, &new, CommitAuthor::User)?;
    }
    Ok(base)
}

/// Opens an existing work tree. Finishes its creation if that was interrupted.
fn reopen_worktree(layout: &WorktreeLayout, name: &str, base: String) -> Result<OpenedWorktree, WorktreeError> {
    let Some(linked) = find_registered(layout, name)? else { return resume_creation(layout, name, base) };
    let tree = TaskWorktree { task_id: name.to_owned(), path: linked.path.clone(), base };
    if !linked.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        let head = linked.head.clone().unwrap_or_else(|| tree.base.clone());
        // Only the registered work tree points to this commit, and it is about to be replaced.
        super::snapshot::keep_commit(layout, name, "kept", &head)?;
        refuse_occupied_path(name, &linked.path)?;
        add_worktree(layout, &tree, &head)?;
        return Ok(OpenedWorktree { worktree: tree, origin: WorktreeOrigin::Recreated });
    }
    ensure_usable(layout, &linked.path)?;
    if linked.lock_reason.is_none() {
        mark_complete(layout, &tree)?;
    }
    Ok(OpenedWorktree { worktree: tree, origin: WorktreeOrigin::Existing })
}

/// Resumes the creation of a work tree after a crash, or after the work tree was removed from git's list.
fn resume_creation(layout: &WorktreeLayout, name: &str, base: String) -> Result<OpenedWorktree, WorktreeError> {
    let path = layout.task_path(name);
    let accepted = git::resolve_commit(&layout.root, &ref_names::accepted_ref(name))?.unwrap_or_else(|| base.clone());
    let tree = TaskWorktree { task_id: name.to_owned(), path: path.clone(), base };
    let listed = git::list_worktrees(&layout.root)?.into_iter().find(|linked| is_same_path(&linked.path, &path));
    let commit = match listed.as_ref().and_then(|linked| linked.head.clone()) {
        Some(head) if head != accepted => {
            super::snapshot::keep_commit(layout, name, "kept", &head)?;
            head
        }
        Some(_) | None => accepted,
    };
    if listed.is_some() && path.join(".git").is_file() {
        // No agent has worked in it yet: it contains only an incomplete checkout.
        git::finish_worktree_checkout(&path, &commit)?;
        mark_complete(layout, &tree)?;
    } else {
        remove_stale_git_file(name, &path)?;
        add_worktree(layout, &tree, &commit)?;
    }
    Ok(OpenedWorktree { worktree: tree, origin: WorktreeOrigin::Created })
}

fn add_worktree(layout: &WorktreeLayout, tree: &TaskWorktree, commit: &str) -> Result<(), WorktreeError> {
    layout.create_folder()?;
    git::add_worktree(&layout.root, &tree.path, commit)?;
    failpoints::reach_fail_point(FailPoint::TreeAdded);
    mark_complete(layout, tree)
}

/// Marks a work tree as complete: records its project, and locks it so that git does not remove it.
fn mark_complete(layout: &WorktreeLayout, tree: &TaskWorktree) -> Result<(), WorktreeError> {
    write_home_file(layout, &tree.path)?;
    Ok(git::lock_worktree(&layout.root, &tree.path, &ref_names::lock_reason(&tree.task_id, layout.project_key()))?)
}

/// Writes the file by which a ralph process in the work tree finds the home of its project.
fn write_home_file(layout: &WorktreeLayout, path: &Path) -> Result<(), WorktreeError> {
    let file = git::worktree_git_path(path, HOME_POINTER_FILE)?;
    fs::write(&file, layout.home.as_os_str().as_bytes()).map_err(|source| WorktreeError::Folder { path: file, source })
}

/// Finds a work tree that was completed, by the reason of its lock or, if it was unlocked, by its path.
fn find_registered(layout: &WorktreeLayout, name: &str) -> Result<Option<LinkedWorktree>, WorktreeError> {
    let (reason, path) = (ref_names::lock_reason(name, layout.project_key()), layout.task_path(name));
    let all = git::list_worktrees(&layout.root)?;
    let locked = all.iter().find(|linked| linked.lock_reason.as_ref() == Some(&reason));
    let at_path = || all.iter().find(|linked| is_same_path(&linked.path, &path) && was_completed(&linked.path));
    Ok(locked.or_else(at_path).cloned())
}

/// Returns whether a work tree was completed: only then it has a home file.
fn was_completed(path: &Path) -> bool {
    path.join(".git").is_file() && git::worktree_git_path(path, HOME_POINTER_FILE).is_ok_and(|file| file.is_file())
}

/// Ensures that a folder is a work tree of this repository. Repairs the links between them if one of them was moved.
fn ensure_usable(layout: &WorktreeLayout, path: &Path) -> Result<(), WorktreeError> {
    let ours = git::git_common_dir(&layout.root)?;
    let is_link_broken = || {
        let text = fs::read_to_string(path.join(".git")).unwrap_or_default();
        let named = text.strip_prefix("gitdir: ").map(|named| path.join(named.trim_end()));
        named.is_some_and(|named| !named.exists())
    };
    if is_link_broken() {
        git::repair_worktree(&layout.root, path)?;
        write_home_file(layout, path)?;
    }
    let repository = git::git_common_dir(path)?;
    if is_same_path(&repository, &ours) {
        return Ok(());
    }
    Err(WorktreeError::OtherRepository { path: path.to_path_buf(), repository })
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    one == other || real(one) == real(other)
}

fn refuse_occupied_path(name: &str, path: &Path) -> Result<(), WorktreeError> {
    let is_empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if path.symlink_metadata().is_err() || is_empty() {
        return Ok(());
    }
    Err(WorktreeError::PathOccupied { name: name.to_owned(), path: path.to_path_buf() })
}

/// Removes the `.git` file that an interrupted creation left as the only file of a folder.
fn remove_stale_git_file(name: &str, path: &Path) -> Result<(), WorktreeError> {
    let entries: Vec<PathBuf> = fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
    if let [only] = entries.as_slice()
        && only.file_name().is_some_and(|name| name == ".git")
        && only.is_file()
    {
        fs::remove_file(only).map_err(|source| WorktreeError::Folder { path: only.clone(), source })?;
    }
    refuse_occupied_path(name, path)
}
