//! Lands accepted work on the branch of the user's work tree. The merge first creates only objects; after it was
//! verified, the user's files are updated, then the branch. Two references record the progress, so that a landing which
//! was interrupted by a crash can be finished or rolled back.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::obstacles::find_obstacles;
use super::snapshot::keep_commit;
use super::{WorktreeError, WorktreeLayout, accept, ref_names};
use crate::git::{self, CommitAuthor, ExpectedRef, MergeResult, NewCommit, RefUpdate, TreeDiffEntry, TreeDiffKind};
use ralph_util::failpoints::{self, FailPoint};

/// The branch that work is landed on, and its commit before the landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingTarget {
    /// Its full name.
    pub branch: String,
    pub tip: String,
}

impl LandingTarget {
    /// Returns the branch without `refs/heads/`.
    #[must_use]
    pub fn short_branch_name(&self) -> &str {
        self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch)
    }
}

/// A merge that is not landed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedLanding {
    pub task_id: String,
    pub target: LandingTarget,
    /// The work that is landed.
    pub accepted: String,
    /// The merge commit, or the accepted commit for a fast-forward.
    pub merged: String,
}

impl PreparedLanding {
    /// Returns whether the branch contains the work already.
    #[must_use]
    pub fn is_already_landed(&self) -> bool {
        self.merged == self.target.tip
    }
}

/// Accepted work that is not in the user's branch yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnlandedWork {
    pub task_id: String,
    pub accepted: String,
    /// The commit of the user's branch.
    pub tip: String,
}

/// Returns all accepted work of the repository that the user's branch does not contain.
pub fn list_unlanded_work(layout: &WorktreeLayout) -> Result<Vec<UnlandedWork>, WorktreeError> {
    let root = &layout.root;
    let Some(tip) = git::head_commit(root)? else { return Ok(Vec::new()) };
    let all = git::list_unmerged_refs(root, &ref_names::accepted_ref("*"), &tip)?.into_iter();
    let to_work = |found: git::RefEntry| {
        let task_id = ref_names::task_of_accepted_ref(&found.name)?.to_owned();
        Some(UnlandedWork { task_id, accepted: found.commit, tip: tip.clone() })
    };
    Ok(all.filter_map(to_work).collect())
}

/// Merges the accepted work of a task with the branch of the user's work tree. Only objects are written: branch and
/// files of the user do not change.
pub fn prepare_landing(layout: &WorktreeLayout, name: &str) -> Result<PreparedLanding, WorktreeError> {
    prepare_landing_onto(layout, name, None)
}

/// Like [`prepare_landing`], onto the result of another landing that was prepared before.
pub fn prepare_landing_onto(
    layout: &WorktreeLayout,
    name: &str,
    previous: Option<&PreparedLanding>,
) -> Result<PreparedLanding, WorktreeError> {
    let root = &layout.root;
    let accepted = accept::accepted_commit(layout, name)?
        .ok_or_else(|| WorktreeError::NothingAccepted { name: name.to_owned() })?;
    refuse_moved_branch(layout, name, &accepted)?;
    let mut target = read_landing_target(root)?;
    if let Some(previous) = previous {
        target.tip.clone_from(&previous.merged);
    }
    refuse_operation_in_progress(root)?;
    let merged = if git::is_ancestor(root, &accepted, &target.tip)? {
        target.tip.clone()
    } else if git::is_ancestor(root, &target.tip, &accepted)? {
        accepted.clone()
    } else {
        merge_onto_target(root, name, &target, &accepted)?
    };
    let landing = PreparedLanding { task_id: name.to_owned(), target, accepted, merged };
    refuse_overwriting(root, &landing)?;
    Ok(landing)
}

fn read_landing_target(root: &Path) -> Result<LandingTarget, WorktreeError> {
    let branch = git::current_branch(root)?.ok_or(WorktreeError::DetachedHead)?;
    let tip = git::head_commit(root)?.ok_or(WorktreeError::NoCommitYet)?;
    Ok(LandingTarget { branch, tip })
}

fn merge_onto_target(root: &Path, name: &str, target: &LandingTarget, accepted: &str) -> Result<String, WorktreeError> {
    let tree = match git::merge_commits(root, &target.tip, accepted)? {
        MergeResult::Clean { tree } => tree,
        MergeResult::Conflict { files } => {
            return Err(WorktreeError::MergeConflict {
                name: name.to_owned(),
                onto: target.short_branch_name().to_owned(),
                files,
            });
        }
    };
    let message = format!("Merge branch 'ralph/{name}'");
    let new = NewCommit { tree: &tree, parents: &[&target.tip, accepted], message: &message };
    Ok(git::commit_tree(root, &new, CommitAuthor::User)?)
}

/// Refuses a task branch with commits that were not accepted. A branch that is behind the accepted work is fine: it was
/// checked out during the acceptance.
fn refuse_moved_branch(layout: &WorktreeLayout, name: &str, accepted: &str) -> Result<(), WorktreeError> {
    match git::resolve_commit(&layout.root, &ref_names::branch_ref(name))? {
        Some(current) if !git::is_ancestor(&layout.root, &current, accepted)? => {
            Err(WorktreeError::BranchMoved { branch: format!("ralph/{name}"), current, expected: accepted.to_owned() })
        }
        Some(_) | None => Ok(()),
    }
}

fn refuse_operation_in_progress(root: &Path) -> Result<(), WorktreeError> {
    const OPERATION_MARKERS: &[(&str, &str)] = &[
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
    ];
    let head = git::worktree_git_path(root, "HEAD")?;
    let exists = |name: &str| head.with_file_name(name).exists();
    match OPERATION_MARKERS.iter().find(|(marker, _)| exists(marker)) {
        Some((_, operation)) => Err(WorktreeError::OperationInProgress { operation }),
        None => Ok(()),
    }
}

/// Refuses a landing that would overwrite an uncommitted, untracked or ignored file of the user.
fn refuse_overwriting(root: &Path, landing: &PreparedLanding) -> Result<(), WorktreeError> {
    let changes = git::diff_trees(root, &landing.target.tip, &landing.merged)?;
    let changed: BTreeSet<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
    let mut files = git::uncommitted_files(root)?;
    files.retain(|file| changed.contains(file.as_path()));
    files.extend(find_obstacles(root, &changes));
    files.sort();
    files.dedup();
    if files.is_empty() { Ok(()) } else { Err(WorktreeError::WouldOverwrite { name: landing.task_id.clone(), files }) }
}

/// Updates the user's work tree and branch with the result of the merge.
pub fn finish_landing(layout: &WorktreeLayout, landing: &PreparedLanding) -> Result<(), WorktreeError> {
    let PreparedLanding { task_id: name, target, merged, .. } = landing;
    let root = &layout.root;
    let branch_moved =
        || WorktreeError::BranchMovedMeanwhile { name: name.clone(), branch: target.short_branch_name().to_owned() };
    if read_landing_target(root)? != *target {
        return Err(branch_moved());
    }
    refuse_operation_in_progress(root)?;
    refuse_overwriting(root, landing)?;
    if !landing.is_already_landed() {
        record_landing(root, name, &target.tip, merged)?;
        failpoints::reach_fail_point(FailPoint::LandRecorded);
        if let Err(error) = git::update_files_and_index(root, &target.tip, merged) {
            recover_landing(layout, name)?;
            return Err(error.into());
        }
        failpoints::reach_fail_point(FailPoint::LandFilesMoved);
        if move_target_branch(root, name, target, merged).is_err() {
            abandon_landing(root, name, merged)?;
            return Err(branch_moved());
        }
        failpoints::reach_fail_point(FailPoint::LandBranchMoved);
    }
    accept::advance_branch(layout, name)
}

fn record_landing(root: &Path, name: &str, from: &str, to: &str) -> Result<(), WorktreeError> {
    let set = |name, to: &str| RefUpdate::Set { name, to: to.to_owned(), expected: ExpectedRef::Any };
    let records = [set(ref_names::landing_from_ref(name), from), set(ref_names::landing_to_ref(name), to)];
    Ok(git::update_refs(root, &records, "ralph: start of a landing")?)
}

fn landing_ref_deletions(name: &str) -> [RefUpdate; 2] {
    [ref_names::landing_from_ref(name), ref_names::landing_to_ref(name)].map(|name| RefUpdate::Delete { name })
}

fn move_target_branch(root: &Path, name: &str, target: &LandingTarget, merged: &str) -> Result<(), WorktreeError> {
    let mut changes = vec![RefUpdate::move_between(&target.branch, &target.tip, merged)];
    changes.extend(landing_ref_deletions(name));
    Ok(git::update_refs(root, &changes, &format!("ralph land {name}"))?)
}

/// Moves the user's files from the merge result to the current commit of the branch.
fn abandon_landing(root: &Path, name: &str, merged: &str) -> Result<(), WorktreeError> {
    let tip = git::head_commit(root)?.ok_or(WorktreeError::NoCommitYet)?;
    git::update_files_and_index(root, merged, &tip)?;
    Ok(git::update_refs(root, &landing_ref_deletions(name), "ralph: end of a landing")?)
}

/// Recovers a landing that was interrupted by a crash. If all files were updated, the landing is finished; else the
/// updated files are rolled back.
pub fn recover_landing(layout: &WorktreeLayout, name: &str) -> Result<(), WorktreeError> {
    let root = &layout.root;
    let from = git::resolve_commit(root, &ref_names::landing_from_ref(name))?;
    let to = git::resolve_commit(root, &ref_names::landing_to_ref(name))?;
    let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
    match read_landing_target(root) {
        Ok(target) if target.tip == from && are_files_moved(root, &from, &to)? => {
            return move_target_branch(root, name, &target, &to);
        }
        Ok(target) if target.tip == from => roll_back_files(layout, name, &from, &to)?,
        // The user has moved the branch since, which also updated the files.
        Ok(_) | Err(WorktreeError::DetachedHead | WorktreeError::NoCommitYet) => {}
        Err(error) => return Err(error),
    }
    Ok(git::update_refs(root, &landing_ref_deletions(name), "ralph: end of a landing")?)
}

/// Returns whether all files were updated: git writes the index last. Other files in the index belong to the user.
fn are_files_moved(root: &Path, from: &str, to: &str) -> Result<bool, WorktreeError> {
    let others = git::index_differences(root, to)?;
    Ok(git::diff_trees(root, from, to)?.iter().all(|change| !others.contains(&change.path)))
}

/// Rolls back the files that the landing has updated. All other files belong to the user and stay.
fn roll_back_files(layout: &WorktreeLayout, name: &str, from: &str, to: &str) -> Result<(), WorktreeError> {
    let root = &layout.root;
    let now = git::commit_worktree(root, &format!("ralph: {name}, an interrupted landing"))?.commit;
    keep_commit(layout, name, "cut-short", &now)?;
    let others: BTreeSet<PathBuf> = git::diff_trees(root, to, &now)?.into_iter().map(|entry| entry.path).collect();
    let moved = git::diff_trees(root, from, to)?.into_iter().filter(|change| !others.contains(&change.path));
    let (added, rest): (Vec<TreeDiffEntry>, Vec<TreeDiffEntry>) =
        moved.partition(|change| change.kind == TreeDiffKind::Added);
    for change in added {
        remove_file_and_empty_parents(root, &change.path)?;
    }
    let rest: Vec<PathBuf> = rest.into_iter().map(|change| change.path).collect();
    Ok(git::restore_files(root, from, &rest)?)
}

/// Removes a file, if it exists, and its parent folders that are empty then.
pub(super) fn remove_file_and_empty_parents(root: &Path, path: &Path) -> Result<(), WorktreeError> {
    let file = root.join(path);
    match fs::remove_file(&file) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => return Err(WorktreeError::Folder { path: file, source }),
    }
    for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(parent)).is_err() {
            break;
        }
    }
    Ok(())
}
