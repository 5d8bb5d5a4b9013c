//! Accepted work is merged into the branch of the user's work tree. The merge is made of objects alone; only when it was
//! verified are the user's files touched, then the branch. What is going on stands in two references, so that whoever comes
//! after a crash finishes it or takes it back.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::obstacles::find_obstacles;
use super::snapshot::keep_commit;
use super::{WorktreeError, WorktreeLayout, accept, ref_names};
use crate::git::{self, CommitAuthor, ExpectedRef, MergeResult, NewCommit, RefUpdate, TreeDiffEntry, TreeDiffKind};
use ralph_util::failpoints::{self, FailPoint};

/// The branch that work is landed on, and where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingTarget {
    /// Its full name.
    pub branch: String,
    pub tip: String,
}

impl LandingTarget {
    /// Returns the branch as people write it.
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
    /// The result.
    pub merged: String,
}

impl PreparedLanding {
    /// Tells whether the branch has the work already.
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
    /// Where the branch was.
    pub tip: String,
}

/// Returns all accepted work of the repository that the user's branch does not have.
pub fn list_unlanded_work(layout: &WorktreeLayout) -> Result<Vec<UnlandedWork>, WorktreeError> {
    let root = &layout.root;
    let Some(tip) = git::head_commit(root)? else { return Ok(Vec::new()) };
    let all = git::list_unmerged_refs(root, &ref_names::accepted_ref("*"), &tip)?.into_iter();
    let of = |found: git::RefEntry| {
        let name = ref_names::task_of_accepted_ref(&found.name)?.to_owned();
        Some(UnlandedWork { task_id: name, accepted: found.commit, tip: tip.clone() })
    };
    Ok(all.filter_map(of).collect())
}

/// Merges the accepted work of a task with the branch of the user's work tree. Nothing of the user's is touched.
pub fn prepare_landing(layout: &WorktreeLayout, name: &str) -> Result<PreparedLanding, WorktreeError> {
    let root = &layout.root;
    let accepted = accept::accepted_commit(layout, name)?
        .ok_or_else(|| WorktreeError::NothingAccepted { name: name.to_owned() })?;
    refuse_moved_branch(layout, name, &accepted)?;
    let onto = read_landing_target(root)?;
    refuse_operation_in_progress(root)?;
    let merged = if git::is_ancestor(root, &accepted, &onto.tip)? {
        onto.tip.clone()
    } else if git::is_ancestor(root, &onto.tip, &accepted)? {
        accepted.clone()
    } else {
        merge_onto_target(root, name, (&onto, &accepted))?
    };
    let landing = PreparedLanding { task_id: name.to_owned(), target: onto, accepted, merged };
    refuse_overwriting(root, &landing)?;
    Ok(landing)
}

fn read_landing_target(root: &Path) -> Result<LandingTarget, WorktreeError> {
    let branch = git::current_branch(root)?.ok_or(WorktreeError::DetachedHead)?;
    let tip = git::head_commit(root)?.ok_or(WorktreeError::NoCommitYet)?;
    Ok(LandingTarget { branch, tip })
}

fn merge_onto_target(
    root: &Path,
    name: &str,
    (onto, accepted): (&LandingTarget, &str),
) -> Result<String, WorktreeError> {
    let tree = match git::merge_commits(root, &onto.tip, accepted)? {
        MergeResult::Clean { tree } => tree,
        MergeResult::Conflict { files } => {
            return Err(WorktreeError::MergeConflict {
                name: name.to_owned(),
                onto: onto.short_branch_name().to_owned(),
                files,
            });
        }
    };
    let message = format!("Merge branch 'ralph/{name}'");
    let new = NewCommit { tree: &tree, parents: &[&onto.tip, accepted], message: &message };
    Ok(git::commit_tree(root, &new, CommitAuthor::User)?)
}

/// Only what was accepted is landed. A branch that lags behind was held by somebody; one with other commits is somebody's.
fn refuse_moved_branch(layout: &WorktreeLayout, name: &str, accepted: &str) -> Result<(), WorktreeError> {
    match git::resolve_commit(&layout.root, &ref_names::branch_ref(name))? {
        Some(is) if !git::is_ancestor(&layout.root, &is, accepted)? => Err(WorktreeError::BranchMoved {
            branch: format!("ralph/{name}"),
            current: is,
            expected: accepted.to_owned(),
        }),
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
    let there = |name: &str| head.with_file_name(name).exists();
    match OPERATION_MARKERS.iter().find(|(sign, _)| there(sign)) {
        Some((_, what)) => Err(WorktreeError::OperationInProgress { operation: what }),
        None => Ok(()),
    }
}

/// Refuses where a file of the user's that is nowhere else would be written over.
fn refuse_overwriting(root: &Path, landing: &PreparedLanding) -> Result<(), WorktreeError> {
    let changes = git::diff_trees(root, &landing.target.tip, &landing.merged)?;
    let touched: BTreeSet<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
    let mut files = git::uncommitted_files(root)?;
    files.retain(|file| touched.contains(file.as_path()));
    files.extend(find_obstacles(root, &changes));
    files.sort();
    files.dedup();
    if files.is_empty() { Ok(()) } else { Err(WorktreeError::WouldOverwrite { name: landing.task_id.clone(), files }) }
}

/// Gives the user's branch and work tree the result.
pub fn finish_landing(layout: &WorktreeLayout, landing: &PreparedLanding) -> Result<(), WorktreeError> {
    let PreparedLanding { task_id: name, target: was, merged, .. } = landing;
    let root = &layout.root;
    let overtaken =
        || WorktreeError::BranchMovedMeanwhile { name: name.clone(), branch: was.short_branch_name().to_owned() };
    if read_landing_target(root)? != *was {
        return Err(overtaken());
    }
    refuse_operation_in_progress(root)?;
    refuse_overwriting(root, landing)?;
    if !landing.is_already_landed() {
        record_landing(root, name, (&was.tip, merged))?;
        failpoints::reach_fail_point(FailPoint::LandRecorded);
        if let Err(error) = git::update_files_and_index(root, &was.tip, merged) {
            recover_landing(layout, name)?;
            return Err(error.into());
        }
        failpoints::reach_fail_point(FailPoint::LandFilesMoved);
        if move_target_branch(root, name, (was, merged)).is_err() {
            abandon_landing(root, name, merged)?;
            return Err(overtaken());
        }
        failpoints::reach_fail_point(FailPoint::LandBranchMoved);
    }
    accept::advance_branch(layout, name)
}

fn record_landing(root: &Path, name: &str, (from, to): (&str, &str)) -> Result<(), WorktreeError> {
    let put = |name, to: &str| RefUpdate::Set { name, to: to.to_owned(), expected: ExpectedRef::Any };
    let records = [put(ref_names::landing_from_ref(name), from), put(ref_names::landing_to_ref(name), to)];
    Ok(git::update_refs(root, &records, "ralph: a landing begins")?)
}

fn landing_ref_deletions(name: &str) -> [RefUpdate; 2] {
    [ref_names::landing_from_ref(name), ref_names::landing_to_ref(name)].map(|name| RefUpdate::Delete { name })
}

fn move_target_branch(root: &Path, name: &str, (onto, merged): (&LandingTarget, &str)) -> Result<(), WorktreeError> {
    let mut changes = vec![RefUpdate::move_between(&onto.branch, &onto.tip, merged)];
    changes.extend(landing_ref_deletions(name));
    Ok(git::update_refs(root, &changes, &format!("ralph land {name}"))?)
}

/// Gives the user's files back what their branch has now, where a landing had moved them.
fn abandon_landing(root: &Path, name: &str, merged: &str) -> Result<(), WorktreeError> {
    let tip = git::head_commit(root)?.ok_or(WorktreeError::NoCommitYet)?;
    git::update_files_and_index(root, merged, &tip)?;
    Ok(git::update_refs(root, &landing_ref_deletions(name), "ralph: the landing is over")?)
}

/// Finishes or takes back a landing that a crash cut short. What was verified and is whole in the user's files is finished;
/// files that were half moved are put back.
pub fn recover_landing(layout: &WorktreeLayout, name: &str) -> Result<(), WorktreeError> {
    let root = &layout.root;
    let at = |reference: String| git::resolve_commit(root, &reference);
    let (Some(from), Some(to)) = (at(ref_names::landing_from_ref(name))?, at(ref_names::landing_to_ref(name))?) else {
        return Ok(());
    };
    match read_landing_target(root) {
        Ok(onto) if onto.tip == from && are_files_moved(root, (&from, &to))? => {
            return move_target_branch(root, name, (&onto, &to));
        }
        Ok(onto) if onto.tip == from => roll_back_files(layout, name, (&from, &to))?,
        // The branch is somewhere else: whoever moved it has dealt with the files.
        Ok(_) | Err(WorktreeError::DetachedHead | WorktreeError::NoCommitYet) => {}
        Err(error) => return Err(error),
    }
    Ok(git::update_refs(root, &landing_ref_deletions(name), "ralph: the landing is over")?)
}

/// Tells whether the files were moved to the end: the index is written last. Other files in it are the user's.
fn are_files_moved(root: &Path, (from, to): (&str, &str)) -> Result<bool, WorktreeError> {
    let others = git::index_differences(root, to)?;
    Ok(git::diff_trees(root, from, to)?.iter().all(|change| !others.contains(&change.path)))
}

/// Puts back the files that have what they should have had after the landing. All others are the user's.
fn roll_back_files(layout: &WorktreeLayout, name: &str, (from, to): (&str, &str)) -> Result<(), WorktreeError> {
    let root = &layout.root;
    let now = git::commit_worktree(root, &format!("ralph: {name}, a landing that was cut short"))?.commit;
    keep_commit(layout, name, "cut-short", &now)?;
    let others: BTreeSet<PathBuf> = git::diff_trees(root, to, &now)?.into_iter().map(|one| one.path).collect();
    let moved = git::diff_trees(root, from, to)?.into_iter().filter(|change| !others.contains(&change.path));
    let (added, rest): (Vec<TreeDiffEntry>, Vec<TreeDiffEntry>) =
        moved.partition(|change| change.kind == TreeDiffKind::Added);
    for change in added {
        remove_file_and_empty_parents(root, &change.path)?;
    }
    let rest: Vec<PathBuf> = rest.into_iter().map(|change| change.path).collect();
    Ok(git::restore_files(root, from, &rest)?)
}

/// Removes a file that git had put there, and the folders that are empty then.
pub(super) fn remove_file_and_empty_parents(root: &Path, path: &Path) -> Result<(), WorktreeError> {
    let whole = root.join(path);
    match fs::remove_file(&whole) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => return Err(WorktreeError::Folder { path: whole, source }),
    }
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(above)).is_err() {
            break;
        }
    }
    Ok(())
}
