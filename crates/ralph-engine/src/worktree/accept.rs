//! Work that was verified becomes the accepted work of its task.
use std::path::{Path, PathBuf};

use super::snapshot::{keep_commit, next_numbered_ref};
use super::{TaskWorktree, WorktreeError, WorktreeLayout, ref_names};
use crate::git::{self, CommitAuthor, ExpectedRef, NewCommit, RefUpdate};

/// What became of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedWork {
    pub commit: String,
    /// Where somebody has checked out the branch: it is not moved under their feet, and follows later.
    pub checked_out_in: Option<PathBuf>,
}

/// Returns the accepted work of a task, if it has some.
pub fn accepted_commit(layout: &WorktreeLayout, name: &str) -> Result<Option<String>, WorktreeError> {
    Ok(git::resolve_commit(&layout.root, &ref_names::accepted_ref(name))?)
}

/// Where a task stands before its work is accepted. Who has read this and then found the task still its own, moves on from
/// here or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptanceBase {
    accepted: String,
    head: String,
}

/// Reads where a task stands.
pub fn read_acceptance_base(layout: &WorktreeLayout, tree: &TaskWorktree) -> Result<AcceptanceBase, WorktreeError> {
    let accepted = accepted_commit(layout, &tree.task_id)?
        .ok_or_else(|| WorktreeError::NothingAccepted { name: tree.task_id.clone() })?;
    Ok(AcceptanceBase { accepted, head: git::head_commit(&tree.path)?.ok_or(WorktreeError::NoCommitYet)? })
}

/// Moves the branch of a task on to what was verified in its tree: the files of `verified`, which is a tree or a commit, or
/// else everything that lies there. What of it is not committed becomes a commit first. Where somebody else has moved
/// anything meanwhile, nothing is.
pub fn accept_work(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    from: &AcceptanceBase,
    stage: &str,
    verified: Option<&str>,
) -> Result<AcceptedWork, WorktreeError> {
    let why = format!("ralph: {stage} accepted");
    let before = &from.accepted;
    // An agent may have gone to a branch; the tree stands for itself.
    git::move_detached_head(&tree.path, (&from.head, &from.head), &why)?;
    let commit = commit_verified_work(tree, from, stage, verified)?;
    let branch = ref_names::branch_ref(&tree.task_id);
    let held_by = find_branch_checkout(&layout.root, &branch)?;
    let mut moves = vec![RefUpdate::move_between(ref_names::accepted_ref(&tree.task_id), before, &commit)];
    if commit != *before {
        moves.push(RefUpdate::create(
            next_numbered_ref(layout, &ref_names::acceptance_ref_prefix(&tree.task_id))?,
            &commit,
        ));
    }
    if held_by.is_none() {
        moves.push(plan_branch_move(layout, tree, (before, &commit))?);
    }
    git::update_refs(&layout.root, &moves, &why)?;
    if commit != from.head {
        git::move_detached_head(&tree.path, (&from.head, &commit), &why)?;
        git::reset_index(&tree.path, &commit)?;
    }
    Ok(AcceptedWork { commit, checked_out_in: held_by })
}

/// Returns the commit that holds exactly what was verified. Nothing stands on it yet.
fn commit_verified_work(
    tree: &TaskWorktree,
    from: &AcceptanceBase,
    stage: &str,
    verified: Option<&str>,
) -> Result<String, WorktreeError> {
    let message = format!("ralph: {} {stage}, what was not committed", tree.task_id);
    let holds = match verified {
        Some(verified) => verified.to_owned(),
        None => git::commit_worktree(&tree.path, &message)?.commit,
    };
    let same = |commit: &str| git::have_same_tree(&tree.path, commit, &holds);
    let follows = git::is_ancestor(&tree.path, &from.accepted, &from.head)?;
    // An agent that rewrote its history has rewritten nothing of what was accepted: its files come after that. One who
    // accepted them may have been cut short before the tree stood on them.
    let on = if follows { &from.head } else { &from.accepted };
    match same(on)? {
        Some(true) => return Ok(on.clone()),
        Some(false) => {}
        None => return Err(WorktreeError::VerifiedTreeMissing { tree: holds }),
    }
    let new = NewCommit { tree: &holds, parents: &[on], message: &message };
    Ok(git::commit_tree(&tree.path, &new, CommitAuthor::User)?)
}

/// Moves the branch, wherever between what was accepted before and now it is: an agent may have been on it. One that somebody
/// removed is made again, and one that somebody moved away is left alone.
fn plan_branch_move(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    (before, now): (&str, &str),
) -> Result<RefUpdate, WorktreeError> {
    let branch = ref_names::branch_ref(&tree.task_id);
    let was = match git::resolve_commit(&layout.root, &branch)? {
        None => ExpectedRef::Absent,
        Some(at) if git::is_ancestor(&layout.root, &at, now)? => ExpectedRef::Commit(at),
        Some(is) => {
            return Err(WorktreeError::BranchMoved { branch: tree.branch(), current: is, expected: before.to_owned() });
        }
    };
    Ok(RefUpdate::Set { name: branch, to: now.to_owned(), expected: was })
}

/// Returns the work tree that a branch is checked out in.
pub(super) fn find_branch_checkout(root: &Path, branch: &str) -> Result<Option<PathBuf>, WorktreeError> {
    let all = git::list_worktrees(root)?;
    Ok(all.into_iter().find(|linked| linked.branch.as_deref() == Some(branch)).map(|linked| linked.path))
}

/// Lets the branch of a task follow what was accepted, where nobody holds it any more.
pub(super) fn advance_branch(layout: &WorktreeLayout, name: &str) -> Result<(), WorktreeError> {
    let branch = ref_names::branch_ref(name);
    let Some(accepted) = accepted_commit(layout, name)? else { return Ok(()) };
    let was = match git::resolve_commit(&layout.root, &branch)? {
        Some(at) if at == accepted => return Ok(()),
        Some(at) => ExpectedRef::Commit(at),
        None => ExpectedRef::Absent,
    };
    if find_branch_checkout(&layout.root, &branch)?.is_some() {
        return Ok(());
    }
    let change = [RefUpdate::Set { name: branch, to: accepted, expected: was }];
    Ok(git::update_refs(&layout.root, &change, "ralph: the branch follows")?)
}

/// Takes the accepted work of a task back to the newest that a commit has. Where it was is kept.
pub(super) fn rewind_accepted(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    to: &str,
) -> Result<Option<String>, WorktreeError> {
    let name = &tree.task_id;
    let Some(was) = accepted_commit(layout, name)? else { return Ok(None) };
    if git::is_ancestor(&layout.root, &was, to)? {
        return Ok(None);
    }
    let branch = ref_names::branch_ref(name);
    if let Some(path) = find_branch_checkout(&layout.root, &branch)? {
        return Err(WorktreeError::BranchCheckedOut { branch: tree.branch(), path });
    }
    let earlier = newest_accepted_before(layout, tree, to)?;
    let branch =
        RefUpdate::Set { to: earlier.clone(), expected: expected_branch_tip(layout, tree, &was)?, name: branch };
    let kept = keep_commit(layout, name, "before-rewind-accepted", &was)?;
    let changes = [RefUpdate::move_between(ref_names::accepted_ref(name), &was, &earlier), branch];
    git::update_refs(&layout.root, &changes, "ralph: rewound")?;
    Ok(Some(kept))
}

/// Returns the newest accepted commit that this one follows; where there is none, the one that the work began at.
fn newest_accepted_before(layout: &WorktreeLayout, tree: &TaskWorktree, commit: &str) -> Result<String, WorktreeError> {
    let mut newest = tree.base.clone();
    for found in git::list_refs(&layout.root, &ref_names::acceptance_ref_prefix(&tree.task_id))? {
        let is_behind = git::is_ancestor(&layout.root, &found.commit, commit)?;
        if is_behind && git::is_ancestor(&layout.root, &newest, &found.commit)? {
            newest = found.commit;
        }
    }
    Ok(newest)
}

/// Returns where the branch is, unless somebody has put commits on it that nobody else has.
fn expected_branch_tip(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    accepted: &str,
) -> Result<ExpectedRef, WorktreeError> {
    match git::resolve_commit(&layout.root, &ref_names::branch_ref(&tree.task_id))? {
        None => Ok(ExpectedRef::Absent),
        Some(at) if git::is_ancestor(&layout.root, &at, accepted)? => Ok(ExpectedRef::Commit(at)),
        Some(is) => {
            Err(WorktreeError::BranchMoved { branch: tree.branch(), current: is, expected: accepted.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::commit_all;
    use crate::worktree::testing::WorktreeFixture;
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
        let said = scene.run_git(&["log", "-1", "--format=%s %T", "ralph/T"]);
        assert_eq!(said, format!("ralph: T coder, what was not committed {tree_id}"));
        assert_eq!(git::head_commit(&tree.path).unwrap(), Some(done.commit));
        assert_eq!(run_git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? by-product\n");
        let gone = accept_from_current_base(&scene.layout, &tree, "coder", Some(&"1".repeat(40))).unwrap_err();
        assert!(matches!(gone, WorktreeError::VerifiedTreeMissing { .. }), "{gone}");
    }

    // spec: P6
    #[test]
    fn an_agent_that_went_to_the_branch_itself_does_no_harm() {
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
    fn a_branch_that_somebody_holds_moved_or_removed_is_respected() {
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
    fn verified_files_whose_history_was_rewritten_follow_what_was_accepted_all_the_same() {
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
