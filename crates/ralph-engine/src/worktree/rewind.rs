//! Rewinds a task work tree to the snapshot of an earlier attempt. The current state is backed up first.
use super::obstacles::find_obstacles;
use super::snapshot::keep_commit;
use super::{AttemptSnapshot, TaskWorktree, WorktreeError, WorktreeLayout, accept};
use crate::git;
use ralph_util::failpoints::{self, FailPoint};

/// The backups of a rewind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindResult {
    /// The reference to the files before the rewind.
    pub backup_ref: String,
    /// The reference to the accepted work before the rewind, if it was rewound too.
    pub accepted_backup_ref: Option<String>,
}

/// Rewinds HEAD and files of a work tree to a snapshot. Files that were uncommitted in the snapshot become uncommitted
/// again.
pub fn rewind_worktree(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    snapshot: &AttemptSnapshot,
) -> Result<RewindResult, WorktreeError> {
    let path = &tree.path;
    let now =
        git::commit_worktree(path, &format!("ralph: {} before the rewind to {}", tree.task_id, snapshot.key))?.commit;
    let backup_ref = keep_commit(layout, &tree.task_id, "before-rewind", &now)?;
    failpoints::reach_fail_point(FailPoint::RewindSnapshotTaken);
    let no_snapshot = || WorktreeError::NoSnapshot { name: tree.task_id.clone(), wanted: snapshot.key.to_string() };
    let head = git::resolve_commit(path, &format!("{}^", snapshot.commit))?.ok_or_else(no_snapshot)?;
    let files = find_obstacles(path, &git::diff_trees(path, &now, &snapshot.commit)?);
    if !files.is_empty() {
        return Err(WorktreeError::WouldOverwrite { name: tree.task_id.clone(), files });
    }
    let accepted_backup_ref = accept::rewind_accepted(layout, tree, &head)?;
    git::reset_index(path, &now)?;
    git::update_files_and_index(path, &now, &snapshot.commit)?;
    failpoints::reach_fail_point(FailPoint::RewindFilesMoved);
    git::detach_head(path, &head, &format!("ralph rewind {} {}", tree.task_id, snapshot.key))?;
    git::reset_index(path, &head)?;
    Ok(RewindResult { backup_ref, accepted_backup_ref })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::commit_all;
    use crate::worktree::tests::worktree_fixture::WorktreeFixture;
    use crate::worktree::{SnapshotKey, list_snapshots, take_snapshot};

    fn take_test_snapshot(scene: &WorktreeFixture, tree: &TaskWorktree, iteration: u32) -> AttemptSnapshot {
        let key = SnapshotKey { stage: "coder".to_owned(), iteration, attempt: 1 };
        take_snapshot(&scene.layout, tree, &key).unwrap();
        list_snapshots(&scene.layout, "T").unwrap().into_iter().find(|snapshot| snapshot.key == key).unwrap()
    }

    fn status_and_file(tree: &TaskWorktree) -> (String, String) {
        let status = run_git(&tree.path, &["status", "--porcelain"]).unwrap();
        (status, fs::read_to_string(tree.path.join("file")).unwrap())
    }

    // spec: P7
    #[test]
    fn head_and_files_are_rewound_and_their_state_is_backed_up() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("file"), "one").unwrap();
        fs::write(tree.path.join("new"), "uncommitted").unwrap();
        fs::write(tree.path.join("out"), "ignored").unwrap();
        let first = take_test_snapshot(&scene, &tree, 1);
        fs::remove_file(tree.path.join("new")).unwrap();
        fs::write(tree.path.join("file"), "two").unwrap();
        commit_all(&tree.path);
        fs::write(tree.path.join("later"), "also uncommitted").unwrap();
        run_git(&tree.path, &["update-index", "--assume-unchanged", "file"]).unwrap();
        fs::write(tree.path.join("file"), "hidden").unwrap();
        let rewound = rewind_worktree(&scene.layout, &tree, &first).unwrap();
        assert_eq!(git::head_commit(&tree.path).unwrap(), Some(tree.base.clone()));
        assert_eq!(status_and_file(&tree), (" M file\n?? new\n".to_owned(), "one".to_owned()));
        assert_eq!(fs::read_to_string(tree.path.join("out")).unwrap(), "ignored");
        assert_eq!(rewound.backup_ref, "refs/ralph/T/_before-rewind/1");
        let kept = |name: &str| scene.run_git(&["show", &format!("{}:{name}", rewound.backup_ref)]);
        assert_eq!((kept("later"), kept("file")), ("also uncommitted".into(), "hidden".into()));
    }

    // spec: P7
    #[test]
    fn accepted_work_is_rewound_too_and_backed_up() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let first = take_test_snapshot(&scene, &tree, 1);
        let accepted = scene.commit_and_accept(&tree, "file", "two");
        let rewound = rewind_worktree(&scene.layout, &tree, &first).unwrap();
        assert_eq!(scene.run_git(&["rev-parse", "ralph/T"]), tree.base);
        assert_eq!(scene.run_git(&["rev-parse", &rewound.accepted_backup_ref.unwrap()]), accepted);
        scene.commit_and_accept(&tree, "file", "another way");
    }

    // spec: P6, P7
    #[test]
    fn the_branch_is_rewound_to_accepted_work_only() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let accepted = scene.commit_and_accept(&tree, "file", "one");
        fs::write(tree.path.join("file"), "half").unwrap();
        commit_all(&tree.path);
        let half = take_test_snapshot(&scene, &tree, 1);
        scene.commit_and_accept(&tree, "file", "two");
        rewind_worktree(&scene.layout, &tree, &half).unwrap();
        assert_eq!(scene.run_git(&["rev-parse", "ralph/T"]), accepted);
        scene.commit_and_accept(&tree, "file", "another way");
    }

    // spec: P6, P7
    #[test]
    fn a_users_commit_on_the_branch_prevents_a_rewind() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let first = take_test_snapshot(&scene, &tree, 1);
        let accepted = scene.commit_and_accept(&tree, "file", "two");
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let commit = ["commit-tree", "HEAD^{tree}", "-p", &accepted, "-m", "mine"];
        let mine = scene.run_git(&[&identity[..], &commit].concat());
        scene.run_git(&["branch", "--force", "ralph/T", &mine]);
        let refused = rewind_worktree(&scene.layout, &tree, &first).unwrap_err();
        assert!(matches!(refused, WorktreeError::BranchMoved { .. }), "{refused}");
        assert_eq!(scene.run_git(&["rev-parse", "ralph/T"]), mine);
        assert_eq!(status_and_file(&tree), (String::new(), "two".to_owned()));
    }

    // spec: P7
    #[test]
    fn a_rewind_does_not_overwrite_an_ignored_file() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("later"), "old").unwrap();
        let first = take_test_snapshot(&scene, &tree, 1);
        fs::write(tree.path.join("later"), "precious").unwrap();
        fs::write(tree.path.join(".gitignore"), "later\n").unwrap();
        let refused = rewind_worktree(&scene.layout, &tree, &first).unwrap_err();
        assert!(matches!(refused, WorktreeError::WouldOverwrite { .. }), "{refused}");
        assert_eq!(fs::read_to_string(tree.path.join("later")).unwrap(), "precious");
    }
}
