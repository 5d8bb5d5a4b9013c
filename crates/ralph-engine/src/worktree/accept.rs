//! Records verified work as the accepted work of its task.
use std::path::{Path, PathBuf};

use super::snapshot::{keep_commit, next_numbered_ref};
use super::{TaskWorktree, WorktreeError, WorktreeLayout, ref_names};
use crate::git::{self, CommitAuthor, ExpectedRef, NewCommit, RefUpdate};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedWork {
    pub commit: String,
    /// The work tree in which the branch is checked out. The branch is not moved then, and follows later.
    pub checked_out_in: Option<PathBuf>,
}

/// Returns the accepted work of a task, if any.
pub fn accepted_commit(layout: &WorktreeLayout, name: &str) -> Result<Option<String>, WorktreeError> {
    Ok(git::resolve_commit(&layout.root, &ref_names::accepted_ref(name))?)
}

/// The references of a task before its work is accepted. A caller reads them, then checks that it still holds the task;
/// the acceptance fails if the references have moved since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptanceBase {
    accepted: String,
    head: String,
}

/// Reads the references of a task before an acceptance.
pub fn read_acceptance_base(layout: &WorktreeLayout, tree: &TaskWorktree) -> Result<AcceptanceBase, WorktreeError> {
    let accepted = accepted_commit(layout, &tree.task_id)?
        .ok_or_else(|| WorktreeError::NothingAccepted { name: tree.task_id.clone() })?;
    Ok(AcceptanceBase { accepted, head: git::head_commit(&tree.path)?.ok_or(WorktreeError::NoCommitYet)? })
}

/// Moves the branch of a task to its verified work: the files of `verified`, which is a tree or a commit, or else all
/// files of the work tree. Uncommitted files are committed first. If another process has moved a reference meanwhile,
/// nothing is moved.
pub fn accept_work(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    from: &AcceptanceBase,
    stage: &str,
    verified: Option<&str>,
) -> Result<AcceptedWork, WorktreeError> {
    let reason = format!("ralph: {stage} accepted");
    let before = &from.accepted;
    // The agent may have checked out a branch; HEAD of a task work tree must be detached.
    git::move_detached_head(&tree.path, &from.head, &from.head, &reason)?;
    let commit = commit_verified_work(tree, from, stage, verified)?;
    let branch = ref_names::branch_ref(&tree.task_id);
    let checked_out_in = find_branch_checkout(&layout.root, &branch)?;
    let mut moves = vec![RefUpdate::move_between(ref_names::accepted_ref(&tree.task_id), before, &commit)];
    if commit != *before {
        moves.push(RefUpdate::create(
            next_numbered_ref(layout, &ref_names::acceptance_ref_prefix(&tree.task_id))?,
            &commit,
        ));
    }
    if checked_out_in.is_none() {
        moves.push(plan_branch_move(layout, tree, before, &commit)?);
    }
    git::update_refs(&layout.root, &moves, &reason)?;
    if commit != from.head {
        git::move_detached_head(&tree.path, &from.head, &commit, &reason)?;
        git::reset_index(&tree.path, &commit)?;
    }
    Ok(AcceptedWork { commit, checked_out_in })
}

/// Returns the commit that contains exactly the verified files. No reference is moved.
fn commit_verified_work(
    tree: &TaskWorktree,
    from: &AcceptanceBase,
    stage: &str,
    verified: Option<&str>,
) -> Result<String, WorktreeError> {
    let message = format!("ralph: {} {stage}, uncommitted work", tree.task_id);
    let contents = match verified {
        Some(verified) => verified.to_owned(),
        None => git::commit_worktree(&tree.path, &message)?.commit,
    };
    let follows = git::is_ancestor(&tree.path, &from.accepted, &from.head)?;
    // If the agent rewrote its history, its files become a new commit on top of the accepted work. An earlier
    // acceptance may have been interrupted before HEAD was moved: then the accepted work contains these files already.
    let parent = if follows { &from.head } else { &from.accepted };
    match git::have_same_tree(&tree.path, parent, &contents)? {
        Some(true) => return Ok(parent.clone()),
        Some(false) => {}
        None => return Err(WorktreeError::VerifiedTreeMissing { tree: contents }),
    }
    let new = NewCommit { tree: &contents, parents: &[parent], message: &message };
    Ok(git::commit_tree(&tree.path, &new, CommitAuthor::User)?)
}

/// Returns the update that moves the branch to the new accepted commit. The branch may be at any commit before it,
/// because the agent may have used it. A deleted branch is created again; a branch with other commits is an error.
fn plan_branch_move(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    before: &str,
    now: &str,
) -> Result<RefUpdate, WorktreeError> {
    let branch = ref_names::branch_ref(&tree.task_id);
    let expected = match git::resolve_commit(&layout.root, &branch)? {
        None => ExpectedRef::Absent,
        Some(commit) if git::is_ancestor(&layout.root, &commit, now)? => ExpectedRef::Commit(commit),
        Some(current) => {
            return Err(WorktreeError::BranchMoved { branch: tree.branch(), current, expected: before.to_owned() });
        }
    };
    Ok(RefUpdate::Set { name: branch, to: now.to_owned(), expected })
}

/// Returns the work tree in which a branch is checked out, if any.
pub(super) fn find_branch_checkout(root: &Path, branch: &str) -> Result<Option<PathBuf>, WorktreeError> {
    let all = git::list_worktrees(root)?;
    Ok(all.into_iter().find(|linked| linked.branch.as_deref() == Some(branch)).map(|linked| linked.path))
}

/// Moves the branch of a task to its accepted work, unless the branch is checked out.
pub(super) fn advance_branch(layout: &WorktreeLayout, name: &str) -> Result<(), WorktreeError> {
    let branch = ref_names::branch_ref(name);
    let Some(accepted) = accepted_commit(layout, name)? else { return Ok(()) };
    let expected = match git::resolve_commit(&layout.root, &branch)? {
        Some(commit) if commit == accepted => return Ok(()),
        Some(commit) => ExpectedRef::Commit(commit),
        None => ExpectedRef::Absent,
    };
    if find_branch_checkout(&layout.root, &branch)?.is_some() {
        return Ok(());
    }
    let change = [RefUpdate::Set { name: branch, to: accepted, expected }];
    Ok(git::update_refs(&layout.root, &change, "ralph: the branch follows")?)
}

/// Rewinds the accepted work of a task to the newest accepted commit that `to` contains. Returns the reference to the
/// former accepted work, or `None` if nothing had to be rewound.
pub(super) fn rewind_accepted(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    to: &str,
) -> Result<Option<String>, WorktreeError> {
    let name = &tree.task_id;
    let Some(accepted) = accepted_commit(layout, name)? else { return Ok(None) };
    if git::is_ancestor(&layout.root, &accepted, to)? {
        return Ok(None);
    }
    let branch = ref_names::branch_ref(name);
    if let Some(path) = find_branch_checkout(&layout.root, &branch)? {
        return Err(WorktreeError::BranchCheckedOut { branch: tree.branch(), path });
    }
    let earlier = newest_accepted_before(layout, tree, to)?;
    let expected = expected_branch_tip(layout, tree, &accepted)?;
    let branch_move = RefUpdate::Set { to: earlier.clone(), expected, name: branch };
    let backup_ref = keep_commit(layout, name, "before-rewind-accepted", &accepted)?;
    let changes = [RefUpdate::move_between(ref_names::accepted_ref(name), &accepted, &earlier), branch_move];
    git::update_refs(&layout.root, &changes, "ralph: rewound")?;
    Ok(Some(backup_ref))
}

/// Returns the newest accepted commit that is an ancestor of `commit`, else the commit from which the work started.
fn newest_accepted_before(layout: &WorktreeLayout, tree: &TaskWorktree, commit: &str) -> Result<String, WorktreeError> {
    let mut newest = tree.base.clone();
    for found in git::list_refs(&layout.root, &ref_names::acceptance_ref_prefix(&tree.task_id))? {
        let is_before = git::is_ancestor(&layout.root, &found.commit, commit)?;
        if is_before && git::is_ancestor(&layout.root, &newest, &found.commit)? {
            newest = found.commit;
        }
    }
    Ok(newest)
}

/// Returns the current commit of the branch; an error if the branch has commits that are not part of the accepted work.
fn expected_branch_tip(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    accepted: &str,
) -> Result<ExpectedRef, WorktreeError> {
    match git::resolve_commit(&layout.root, &ref_names::branch_ref(&tree.task_id))? {
        None => Ok(ExpectedRef::Absent),
        Some(commit) if git::is_ancestor(&layout.root, &commit, accepted)? => Ok(ExpectedRef::Commit(commit)),
        Some(current) => {
            Err(WorktreeError::BranchMoved { branch: tree.branch(), current, expected: accepted.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::commit_all;
    use crate::worktree::tests::worktree_fixture::WorktreeFixture;
    use crate::worktree::{SnapshotKey, take_snapshot};

    fn accept_from_current_base(
        layout: &WorktreeLayout,
        tree: &TaskWorktree,
        stage: &str,
        verified: Option<&str>,
    ) -> Result<AcceptedWork, WorktreeError> {
        accept_work(layout, tree, &read_acceptance_base(layout, tree)?, stage, verified)
    }

    /// Returns everything that accepting may move.
    fn movable_state(scene: &WorktreeFixture, tree: &TaskWorktree) -> [String; 4] {
        let staged = run_git(&tree.path, &["ls-files", "--stage"]).unwrap();
        let head = run_git(&tree.path, &["rev-parse", "HEAD"]).unwrap();
        [head, staged, scene.run_git(&["rev-parse", "ralph/T"]), accepted_commit(&scene.layout, "T").unwrap().unwrap()]
    }

    // spec: P6
    // fault: 94
    #[test]
    fn a_worker_that_lost_its_lease_moves_nothing() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("file"), "mine").unwrap();
        let mark = SnapshotKey { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
        let mine = take_snapshot(&scene.layout, &tree, &mark).unwrap().commit;
        let read = read_acceptance_base(&scene.layout, &tree).unwrap();
        accept_from_current_base(&scene.layout, &tree, "coder", Some(&mine)).unwrap();
        scene.commit_and_accept(&tree, "file", "of the next stage");
        let before = movable_state(&scene, &tree);
        accept_work(&scene.layout, &tree, &read, "coder", Some(&mine)).unwrap_err();
        assert_eq!(movable_state(&scene, &tree), before);
    }

    // spec: P6
    #[test]
    fn an_interrupted_acceptance_is_finished_by_the_next_one() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let head = git::head_commit(&tree.path).unwrap().unwrap();
        fs::write(tree.path.join("file"), "new").unwrap();
        let done = accept_from_current_base(&scene.layout, &tree, "coder", None).unwrap();
        let after = movable_state(&scene, &tree);
        git::detach_head(&tree.path, &head, "cut short").unwrap();
        git::reset_index(&tree.path, &head).unwrap();
        assert_eq!(accept_from_current_base(&scene.layout, &tree, "coder", Some(&done.commit)).unwrap(), done);
        assert_eq!(movable_state(&scene, &tree), after);
    }

    // spec: P6
    #[test]
    fn only_accepted_commits_move_the_branch() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let at = || scene.run_git(&["rev-parse", "ralph/T"]);
        fs::write(tree.path.join("file"), "work").unwrap();
        let commit = commit_all(&tree.path);
        assert_eq!(at(), tree.base);
        let done = accept_from_current_base(&scene.layout, &tree, "coder", None).unwrap();
        assert_eq!(
            (done.commit.as_str(), at().as_str(), done.checked_out_in),
            (commit.as_str(), commit.as_str(), None)
        );
    }

    // spec: P6
    #[test]
    fn verified_uncommitted_work_is_committed_without_by_products() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("new"), "work").unwrap();
        let mark = SnapshotKey { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
        let verified = take_snapshot(&scene.layout, &tree, &mark).unwrap().commit;
        fs::write(tree.path.join("by-product"), "of a check").unwrap();
        let tree_id = scene.run_git(&["rev-parse", &format!("{verified}^{{tree}}")]);
        let done = accept_from_current_base(&scene.layout, &tree, "coder", Some(&tree_id)).unwrap();
        let commit_line = scene.run_git(&["log", "-1", "--format=%s %T", "ralph/T"]);
        assert_eq!(commit_line, format!("ralph: T coder, uncommitted work {tree_id}"));
        assert_eq!(git::head_commit(&tree.path).unwrap(), Some(done.commit));
        assert_eq!(run_git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? by-product\n");
        let gone = accept_from_current_base(&scene.layout, &tree, "coder", Some(&"1".repeat(40))).unwrap_err();
        assert!(matches!(gone, WorktreeError::VerifiedTreeMissing { .. }), "{gone}");
    }

    // spec: P6
    #[test]
    fn an_agent_that_checked_out_the_branch_does_no_harm() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        run_git(&tree.path, &["checkout", "--quiet", "ralph/T"]).unwrap();
        fs::write(tree.path.join("file"), "work").unwrap();
        let commit = commit_all(&tree.path);
        let done = accept_from_current_base(&scene.layout, &tree, "coder", None).unwrap();
        assert_eq!((done.commit, done.checked_out_in), (commit, None));
        assert_eq!(git::current_branch(&tree.path).unwrap(), None);
    }

    // spec: P6
    #[test]
    fn a_branch_that_was_checked_out_removed_or_moved_is_handled() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let branch = scene.run_git(&["branch", "--show-current"]);
        scene.run_git(&["checkout", "--quiet", "ralph/T"]);
        let before = scene.user_state();
        fs::write(tree.path.join("file"), "one").unwrap();
        let one = commit_all(&tree.path);
        let held = accept_from_current_base(&scene.layout, &tree, "coder", None).unwrap();
        assert_eq!((held.commit.as_str(), held.checked_out_in.as_deref()), (one.as_str(), Some(scene.root.as_path())));
        assert_eq!(scene.user_state(), before);
        scene.run_git(&["checkout", "--quiet", &branch]);
        scene.run_git(&["branch", "--quiet", "-D", "ralph/T"]);
        let two = scene.commit_and_accept(&tree, "file", "two");
        assert_eq!(scene.run_git(&["rev-parse", "ralph/T"]), two);
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let other = scene.run_git(&[&identity[..], &["commit-tree", "HEAD^{tree}", "-m", "other"]].concat());
        scene.run_git(&["branch", "--force", "ralph/T", &other]);
        fs::write(tree.path.join("file"), "three").unwrap();
        commit_all(&tree.path);
        let moved = accept_from_current_base(&scene.layout, &tree, "coder", None).unwrap_err();
        assert!(matches!(moved, WorktreeError::BranchMoved { .. }), "{moved}");
        assert_eq!(scene.run_git(&["rev-parse", "ralph/T"]), other);
    }

    // spec: P6
    #[test]
    fn verified_files_with_rewritten_history_are_committed_on_top_of_accepted_work() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let accepted = scene.commit_and_accept(&tree, "file", "one");
        run_git(&tree.path, &["reset", "--quiet", "--hard", &tree.base]).unwrap();
        fs::write(tree.path.join("file"), "two").unwrap();
        let head = commit_all(&tree.path);
        let done = accept_from_current_base(&scene.layout, &tree, "coder", None).unwrap();
        assert_ne!(done.commit, head);
        assert_eq!(scene.run_git(&["rev-parse", "ralph/T", "ralph/T^"]), format!("{}\n{accepted}", done.commit));
        assert_eq!(scene.run_git(&["show", "ralph/T:file"]), "two");
        assert_eq!(run_git(&tree.path, &["status", "--porcelain"]).unwrap(), "");
    }
}
