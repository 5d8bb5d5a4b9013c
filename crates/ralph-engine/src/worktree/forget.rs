//! Removes the work tree, the branch and the references of a task, as far as no work is lost.
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::create::recorded_base;
use super::{
    WorktreeError, WorktreeLayout, WorktreeRemoval, accept, describe_loss, find_worktree, ref_names, remove_worktree,
};
use crate::git::{self, RefEntry, RefUpdate};

/// Describes the unmerged work of a task, one line for each place; empty if everything is merged.
pub fn describe_unmerged_work(layout: &WorktreeLayout, name: &str) -> Result<Vec<String>, WorktreeError> {
    if !belongs_to_project(layout, name)? {
        return Ok(Vec::new());
    }
    let mut unmerged = Vec::new();
    if let Some(tree) = find_worktree(layout, name)? {
        let loss = describe_loss(layout, &tree)?;
        unmerged.extend(loss.map(|loss| format!("the work tree {}: {loss}", tree.path.display())));
    }
    let references = [ref_names::branch_ref(name), ref_names::accepted_ref(name)];
    let commits: Vec<Option<String>> =
        references.iter().map(|reference| git::resolve_commit(&layout.root, reference)).collect::<Result<_, _>>()?;
    for commit in commits.iter().flatten() {
        if !is_merged(layout, commit)? {
            unmerged.push(format!("the branch ralph/{name}: it has commits that are not merged"));
            break;
        }
    }
    Ok(unmerged)
}

/// Returns the names of the tasks with a branch `ralph/NAME` that the user's branch does not contain.
pub fn list_unmerged_branches(layout: &WorktreeLayout) -> Result<BTreeSet<String>, WorktreeError> {
    let Some(head) = git::head_commit(&layout.root)? else { return Ok(BTreeSet::new()) };
    let prefix = ref_names::branch_ref("");
    let unmerged = git::list_unmerged_refs(&layout.root, &prefix, &head)?;
    Ok(unmerged.into_iter().filter_map(|found| found.name.strip_prefix(&prefix).map(str::to_owned)).collect())
}

/// Returns whether the branch of a task can be removed: the task belongs to this project, the user's branch contains its
/// accepted work and the branch, and no work tree uses it.
pub fn is_branch_removable(layout: &WorktreeLayout, name: &str) -> Result<bool, WorktreeError> {
    let branch = ref_names::branch_ref(name);
    let Some(tip) = git::resolve_commit(&layout.root, &branch)? else { return Ok(false) };
    let Some(accepted) = accept::accepted_commit(layout, name)? else { return Ok(false) };
    Ok(belongs_to_project(layout, name)?
        && find_worktree(layout, name)?.is_none()
        && accept::find_branch_checkout(&layout.root, &branch)?.is_none()
        && is_merged(layout, &tip)?
        && is_merged(layout, &accepted)?)
}

/// Removes the branch of a task whose work is merged. Its snapshots and the record of its accepted work stay. Returns
/// whether it was removed.
pub fn remove_merged_branch(layout: &WorktreeLayout, name: &str) -> Result<bool, WorktreeError> {
    if !is_branch_removable(layout, name)? {
        return Ok(false);
    }
    let deletion = [RefUpdate::Delete { name: ref_names::branch_ref(name) }];
    git::update_refs(&layout.root, &deletion, "ralph: the work is merged")?;
    Ok(true)
}

/// The result of forgetting a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForgottenTask {
    /// The removed work tree.
    pub worktree_path: Option<PathBuf>,
    /// References to snapshots that are not merged.
    pub kept_refs: Vec<String>,
}

/// Removes everything of a task whose work is merged, so that a new task with this name starts from scratch. Snapshots
/// of unmerged work keep their references.
pub fn forget_task(layout: &WorktreeLayout, name: &str) -> Result<ForgottenTask, WorktreeError> {
    if !belongs_to_project(layout, name)? {
        return Ok(ForgottenTask::default());
    }
    let branch = ref_names::branch_ref(name);
    if let Some(path) = accept::find_branch_checkout(&layout.root, &branch)? {
        return Err(WorktreeError::BranchCheckedOut { branch: format!("ralph/{name}"), path });
    }
    let tree = find_worktree(layout, name)?.map(|tree| tree.path);
    if let WorktreeRemoval::Kept(reason) = remove_worktree(layout, name)? {
        return Err(WorktreeError::CannotRemove { name: name.to_owned(), reason });
    }
    let base = recorded_base(layout, name)?.unwrap_or_default();
    let known: BTreeSet<String> = git::list_trees_since(&layout.root, &base)?.into_iter().collect();
    let mut all = git::list_refs(&layout.root, &ref_names::task_ref_prefix(name))?;
    all.extend(git::list_refs(&layout.root, &branch)?);
    let mut forgotten = ForgottenTask { worktree_path: tree, kept_refs: Vec::new() };
    let mut deletions = Vec::new();
    for found in all {
        if is_reachable_elsewhere(layout, &found, &known)? {
            deletions.push(RefUpdate::Delete { name: found.name });
        } else {
            forgotten.kept_refs.push(found.name);
        }
    }
    git::update_refs(&layout.root, &deletions, "ralph: the task is forgotten")?;
    Ok(forgotten)
}

/// Returns whether this project has work on the task. A task with the same name may belong to another project in the
/// same repository.
fn belongs_to_project(layout: &WorktreeLayout, name: &str) -> Result<bool, WorktreeError> {
    match recorded_base(layout, name) {
        Ok(base) => Ok(base.is_some()),
        Err(WorktreeError::OtherProject { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_merged(layout: &WorktreeLayout, commit: &str) -> Result<bool, WorktreeError> {
    match git::head_commit(&layout.root)? {
        Some(head) => Ok(git::is_ancestor(&layout.root, commit, &head)?),
        None => Ok(false),
    }
}

/// Returns whether the user's branch contains a commit, or for a snapshot, its files and its parent.
fn is_reachable_elsewhere(
    layout: &WorktreeLayout,
    found: &RefEntry,
    known_trees: &BTreeSet<String>,
) -> Result<bool, WorktreeError> {
    if is_merged(layout, &found.commit)? {
        return Ok(true);
    }
    let resolve = |suffix: &str| git::resolve_object(&layout.root, &format!("{}^{suffix}", found.commit));
    let (Some(tree), Some(parent)) = (resolve("{tree}")?, resolve("")?) else { return Ok(false) };
    Ok(known_trees.contains(&tree) && is_merged(layout, &parent)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::worktree::tests::worktree_fixture::WorktreeFixture;
    use crate::worktree::{SnapshotKey, TaskWorktree, take_snapshot};

    fn list_ralph_refs(scene: &WorktreeFixture) -> String {
        scene.run_git(&["for-each-ref", "--format=%(refname)", "refs/ralph", "refs/heads/ralph"])
    }

    fn snapshot_attempt(scene: &WorktreeFixture, tree: &TaskWorktree, iteration: u32) {
        let mark = SnapshotKey { stage: "coder".to_owned(), iteration, attempt: 1 };
        take_snapshot(&scene.layout, tree, &mark).unwrap();
    }

    // spec: P6
    #[test]
    fn a_task_whose_work_is_merged_is_removed_completely_and_its_name_is_free() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("file"), "new").unwrap();
        snapshot_attempt(&scene, &tree, 1);
        let accepted = scene.commit_and_accept(&tree, "file", "new");
        scene.run_git(&["merge", "--quiet", "ralph/T"]);
        assert_eq!(describe_unmerged_work(&scene.layout, "T").unwrap(), Vec::<String>::new());
        let forgotten = forget_task(&scene.layout, "T").unwrap();
        assert_eq!(forgotten, ForgottenTask { worktree_path: Some(tree.path.clone()), kept_refs: Vec::new() });
        assert_eq!((list_ralph_refs(&scene), tree.path.exists()), (String::new(), false));
        assert_eq!(scene.create_worktree("T").base, accepted, "a new task with that name starts from scratch");
    }

    // spec: P6
    // finding: N56
    #[test]
    fn only_a_merged_branch_that_no_work_tree_uses_is_removed() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        scene.commit_and_accept(&tree, "file", "new");
        assert!(!remove_merged_branch(&scene.layout, "T").unwrap(), "it is not merged");
        scene.run_git(&["merge", "--quiet", "ralph/T"]);
        assert!(!remove_merged_branch(&scene.layout, "T").unwrap(), "it has a work tree");
        remove_worktree(&scene.layout, "T").unwrap();
        let other = WorktreeLayout { key: "other-12345678".to_owned(), ..scene.layout.clone() };
        assert!(!remove_merged_branch(&other, "T").unwrap(), "it belongs to another project");
        scene.run_git(&["checkout", "--quiet", "ralph/T"]);
        assert!(!remove_merged_branch(&scene.layout, "T").unwrap(), "the user has checked it out");
        scene.run_git(&["checkout", "--quiet", "-"]);
        assert!(remove_merged_branch(&scene.layout, "T").unwrap());
        assert_eq!(scene.run_git(&["for-each-ref", "refs/heads/ralph"]), "");
        assert!(accept::accepted_commit(&scene.layout, "T").unwrap().is_some(), "dependents still find the work");
        assert!(!remove_merged_branch(&scene.layout, "T").unwrap());
    }

    // spec: P6
    #[test]
    fn unmerged_work_is_described_and_its_snapshot_is_kept() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("half"), "tried").unwrap();
        snapshot_attempt(&scene, &tree, 1);
        let unmerged = describe_unmerged_work(&scene.layout, "T").unwrap();
        assert!(unmerged.len() == 1 && unmerged[0].contains("the uncommitted file half"), "{unmerged:?}");
        assert!(matches!(forget_task(&scene.layout, "T"), Err(WorktreeError::CannotRemove { .. })));
        assert!(tree.path.join("half").exists());
        fs::remove_file(tree.path.join("half")).unwrap();
        let forgotten = forget_task(&scene.layout, "T").unwrap();
        assert_eq!(forgotten.kept_refs, ["refs/ralph/T/coder/1/1"]);
        assert_eq!(list_ralph_refs(&scene), "refs/ralph/T/coder/1/1");
        assert_eq!(scene.run_git(&["show", "refs/ralph/T/coder/1/1:half"]), "tried");
    }

    // spec: P6
    #[test]
    fn accepted_work_and_commits_on_the_branch_are_described() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        scene.commit_and_accept(&tree, "file", "new");
        let unmerged = describe_unmerged_work(&scene.layout, "T").unwrap();
        assert_eq!(unmerged.len(), 2, "{unmerged:?}");
        run_git(&tree.path, &["checkout", "--quiet", "--detach", &tree.base]).unwrap();
        let unmerged = describe_unmerged_work(&scene.layout, "T").unwrap();
        assert_eq!(unmerged, ["the branch ralph/T: it has commits that are not merged"]);
    }

    // spec: P6
    #[test]
    fn a_checked_out_branch_and_the_task_of_another_project_stay() {
        let scene = WorktreeFixture::new();
        scene.create_worktree("T");
        scene.run_git(&["checkout", "--quiet", "ralph/T"]);
        let before = list_ralph_refs(&scene);
        assert!(matches!(forget_task(&scene.layout, "T"), Err(WorktreeError::BranchCheckedOut { .. })));
        let other = WorktreeLayout { key: "other-12345678".to_owned(), ..scene.layout.clone() };
        assert_eq!(forget_task(&other, "T").unwrap(), ForgottenTask::default());
        assert_eq!(list_ralph_refs(&scene), before);
    }
}
