//! A tree is made, or opened where it is there already. Whatever cut an earlier attempt short, the next one goes on.
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{TaskWorktree, WorktreeError, WorktreeLayout, ref_names};
use crate::git::{self, CommitAuthor, LinkedWorktree, MergeResult, NewCommit, RefUpdate};
use crate::project::HOME_POINTER_FILE;
use ralph_util::failpoints::{self, FailPoint};

/// How a tree came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeOrigin {
    Created,
    Existing,
    /// Somebody had removed its folder: it stands again on the commit that it stood on.
    Recreated,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedWorktree {
    pub worktree: TaskWorktree,
    pub origin: WorktreeOrigin,
}

/// Makes the tree of a task from the commit that the user's work tree stands on and the accepted work of the tasks that it
/// comes after, or opens it where it is there.
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

/// Finds the tree of a task, as it is.
pub fn find_worktree(layout: &WorktreeLayout, name: &str) -> Result<Option<TaskWorktree>, WorktreeError> {
    let Some(base) = recorded_base(layout, name)? else { return Ok(None) };
    let found = find_registered(layout, name)?.filter(|linked| linked.path.is_dir());
    let Some(linked) = found else { return Ok(None) };
    ensure_usable(layout, &linked.path)?;
    Ok(Some(TaskWorktree { task_id: name.to_owned(), path: linked.path, base }))
}

/// Returns where the work on a task began, if it has begun.
pub(super) fn recorded_base(layout: &WorktreeLayout, name: &str) -> Result<Option<String>, WorktreeError> {
    let own = ref_names::base_ref(name, &layout.project_key());
    let all = git::list_refs(&layout.root, &ref_names::base_ref_prefix(name))?;
    match all.iter().find(|found| found.name == own).or(all.first()) {
        None => Ok(None),
        Some(found) if found.name == own => Ok(Some(found.commit.clone())),
        Some(other) => {
            let key = other.name.strip_prefix(&ref_names::base_ref_prefix(name)).unwrap_or_default().to_owned();
            Err(WorktreeError::OtherProject { name: name.to_owned(), key })
        }
    }
}

/// Records first where the work begins. From then on a crash leaves something that can be finished.
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
    let records = [branch, ref_names::base_ref(name, &layout.project_key()), ref_names::accepted_ref(name)];
    let records = records.map(|reference| RefUpdate::create(reference, &base));
    git::update_refs(&layout.root, &records, "ralph: the work begins here")?;
    failpoints::reach_fail_point(FailPoint::TreeRecorded);
    let tree = TaskWorktree { task_id: name.to_owned(), path: layout.task_path(name), base: base.clone() };
    add_worktree(layout, &tree, &base)?;
    Ok(OpenedWorktree { worktree: tree, origin: WorktreeOrigin::Created })
}

/// Puts together what the work begins with.
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

/// Opens what was made before, and finishes it where that was cut short.
fn reopen_worktree(layout: &WorktreeLayout, name: &str, base: String) -> Result<OpenedWorktree, WorktreeError> {
    let Some(linked) = find_registered(layout, name)? else { return resume_creation(layout, name, base) };
    let tree = TaskWorktree { task_id: name.to_owned(), path: linked.path.clone(), base };
    if !linked.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        let head = linked.head.clone().unwrap_or_else(|| tree.base.clone());
        // The list of work trees is all that leads to it, and is about to be written anew.
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

/// Goes on where a ralph died that was making a tree, or where somebody took the tree out of git's list.
fn resume_creation(layout: &WorktreeLayout, name: &str, base: String) -> Result<OpenedWorktree, WorktreeError> {
    let path = layout.task_path(name);
    let accepted = git::resolve_commit(&layout.root, &ref_names::accepted_ref(name))?.unwrap_or_else(|| base.clone());
    let tree = TaskWorktree { task_id: name.to_owned(), path: path.clone(), base };
    let listed = git::list_worktrees(&layout.root)?.into_iter().find(|linked| is_same_path(&linked.path, &path));
    let at = match listed.as_ref().and_then(|linked| linked.head.clone()) {
        Some(head) if head != accepted => {
            super::snapshot::keep_commit(layout, name, "kept", &head)?;
            head
        }
        Some(_) | None => accepted,
    };
    if listed.is_some() && path.join(".git").is_file() {
        // It was never handed to anybody: what lies in it is the beginning of a checkout.
        git::finish_worktree_checkout(&path, &at)?;
        mark_complete(layout, &tree)?;
    } else {
        remove_stale_git_file(name, &path)?;
        add_worktree(layout, &tree, &at)?;
    }
    Ok(OpenedWorktree { worktree: tree, origin: WorktreeOrigin::Created })
}

fn add_worktree(layout: &WorktreeLayout, tree: &TaskWorktree, at: &str) -> Result<(), WorktreeError> {
    layout.create_folder()?;
    git::add_worktree(&layout.root, &tree.path, at)?;
    failpoints::reach_fail_point(FailPoint::TreeAdded);
    mark_complete(layout, tree)
}

/// Says whose the tree is and that it is whole, and keeps git from removing it.
fn mark_complete(layout: &WorktreeLayout, tree: &TaskWorktree) -> Result<(), WorktreeError> {
    write_home_file(layout, &tree.path)?;
    Ok(git::lock_worktree(&layout.root, &tree.path, &ref_names::lock_reason(&tree.task_id, &layout.project_key()))?)
}

/// Lets every ralph that is started in the tree find the files of its project.
fn write_home_file(layout: &WorktreeLayout, path: &Path) -> Result<(), WorktreeError> {
    let file = git::worktree_git_path(path, HOME_POINTER_FILE)?;
    fs::write(&file, layout.home.as_os_str().as_bytes()).map_err(|source| WorktreeError::Folder { path: file, source })
}

/// Finds a tree that was whole once: by the lock on it or, where somebody took that off, by its place.
fn find_registered(layout: &WorktreeLayout, name: &str) -> Result<Option<LinkedWorktree>, WorktreeError> {
    let (reason, path) = (ref_names::lock_reason(name, &layout.project_key()), layout.task_path(name));
    let all = git::list_worktrees(&layout.root)?;
    let locked = all.iter().find(|linked| linked.lock_reason.as_ref() == Some(&reason));
    let placed = || all.iter().find(|linked| is_same_path(&linked.path, &path) && was_completed(&linked.path));
    Ok(locked.or_else(placed).cloned())
}

/// Tells whether a tree was made to the end: only then is it said whose it is.
fn was_completed(path: &Path) -> bool {
    path.join(".git").is_file() && git::worktree_git_path(path, HOME_POINTER_FILE).is_ok_and(|file| file.is_file())
}

/// Sees that a folder is a work tree of this repository. Where one of both was moved, they find each other again.
fn ensure_usable(layout: &WorktreeLayout, path: &Path) -> Result<(), WorktreeError> {
    let ours = git::git_common_dir(&layout.root)?;
    let leads_nowhere = || {
        let text = fs::read_to_string(path.join(".git")).unwrap_or_default();
        let named = text.strip_prefix("gitdir: ").map(|named| path.join(named.trim_end()));
        named.is_some_and(|named| !named.exists())
    };
    if leads_nowhere() {
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
    let is_free = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if path.symlink_metadata().is_err() || is_free() {
        return Ok(());
    }
    Err(WorktreeError::PathOccupied { name: name.to_owned(), path: path.to_path_buf() })
}

/// Makes room where git had made a folder and nothing in it but its own mark.
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
