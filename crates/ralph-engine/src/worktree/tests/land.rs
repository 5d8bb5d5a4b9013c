//! Tests of landing: how it changes the user's branch and files, and what it never changes.
use std::fs;

use super::worktree_fixture::WorktreeFixture;
use crate::git::testing::commit_all;
use crate::git::{self, run_git};
use crate::worktree::{
    TaskWorktree, WorktreeError, WorktreeRemoval, finish_landing, prepare_landing, recover_landing, remove_worktree,
};

/// A project whose branch has new commits since the work started.
fn diverged_project() -> (WorktreeFixture, TaskWorktree) {
    let scene = WorktreeFixture::new();
    let tree = scene.create_worktree("T");
    scene.commit_and_accept(&tree, "work", "done");
    fs::write(scene.root.join("mine"), "meanwhile").unwrap();
    commit_all(&scene.root);
    (scene, tree)
}

// spec: P6
#[test]
fn work_is_merged_into_the_users_branch_and_files() {
    let (scene, _tree) = diverged_project();
    let before = scene.run_git(&["rev-parse", "HEAD"]);
    let landing = prepare_landing(&scene.layout, "T").unwrap();
    assert!(!scene.root.join("work").exists(), "the user's files do not change before the merge is verified");
    finish_landing(&scene.layout, &landing).unwrap();
    assert_eq!(fs::read_to_string(scene.root.join("work")).unwrap(), "done");
    assert_eq!(scene.run_git(&["status", "--porcelain"]), "");
    assert_eq!(scene.run_git(&["log", "-1", "--format=%s"]), "Merge branch 'ralph/T'");
    assert_eq!(scene.run_git(&["rev-parse", "HEAD^1"]), before);
    assert_eq!(scene.run_git(&["for-each-ref", "refs/ralph/T/_landing"]), "");
    assert!(prepare_landing(&scene.layout, "T").unwrap().is_already_landed());
    assert_eq!(remove_worktree(&scene.layout, "T").unwrap(), WorktreeRemoval::Removed);
    assert_eq!(remove_worktree(&scene.layout, "T").unwrap(), WorktreeRemoval::NotFound);
    assert!(!scene.layout.task_path("T").exists() && !scene.run_git(&["rev-parse", "ralph/T"]).is_empty());
}

// spec: P6
#[test]
fn a_branch_without_new_commits_is_fast_forwarded() {
    let scene = WorktreeFixture::new();
    let tree = scene.create_worktree("T");
    let work = scene.commit_and_accept(&tree, "work", "done");
    fs::write(scene.root.join("untracked"), "mine").unwrap();
    fs::write(scene.root.join("file"), "my change elsewhere").unwrap();
    let landing = prepare_landing(&scene.layout, "T").unwrap();
    finish_landing(&scene.layout, &landing).unwrap();
    assert_eq!(scene.run_git(&["rev-parse", "HEAD"]), work);
    assert_eq!(scene.run_git(&["status", "--porcelain"]), "M file\n?? untracked");
}

// spec: P6
#[test]
fn a_conflict_is_reported_with_its_files_and_changes_nothing() {
    let scene = WorktreeFixture::new();
    let tree = scene.create_worktree("T");
    scene.commit_and_accept(&tree, "file", "theirs");
    fs::write(scene.root.join("file"), "ours").unwrap();
    commit_all(&scene.root);
    let before = scene.user_state();
    let refused = prepare_landing(&scene.layout, "T").unwrap_err();
    let WorktreeError::MergeConflict { files, .. } = &refused else { panic!("{refused}") };
    assert_eq!(files, &[std::path::PathBuf::from("file")]);
    assert_eq!(scene.user_state(), before);
}

// spec: P6
#[test]
fn changed_untracked_and_ignored_files_of_the_user_are_never_overwritten() {
    for (name, text) in [("file", "my change"), ("work", "untracked"), ("out", "ignored")] {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("file"), "changed").unwrap();
        fs::write(tree.path.join("out"), "tracked there").unwrap();
        run_git(&tree.path, &["add", "--force", "out"]).unwrap();
        scene.commit_and_accept(&tree, "work", "done");
        fs::write(scene.root.join(name), text).unwrap();
        let before = scene.user_state();
        let refused = prepare_landing(&scene.layout, "T").unwrap_err();
        assert!(
            matches!(&refused, WorktreeError::WouldOverwrite { files, .. } if files == &[std::path::PathBuf::from(name)])
        );
        assert_eq!(scene.user_state(), before);
    }
}

// spec: P6
#[test]
fn changes_between_merge_and_landing_are_detected() {
    let (scene, _tree) = diverged_project();
    let landing = prepare_landing(&scene.layout, "T").unwrap();
    fs::write(scene.root.join("work"), "mine now").unwrap();
    let before = scene.user_state();
    assert!(matches!(finish_landing(&scene.layout, &landing), Err(WorktreeError::WouldOverwrite { .. })));
    assert_eq!(scene.user_state(), before);
    fs::remove_file(scene.root.join("work")).unwrap();
    fs::write(scene.root.join("mine"), "more").unwrap();
    commit_all(&scene.root);
    let before = scene.user_state();
    assert!(matches!(finish_landing(&scene.layout, &landing), Err(WorktreeError::BranchMovedMeanwhile { .. })));
    assert_eq!(scene.user_state(), before);
}

// spec: P6
#[test]
fn landing_is_refused_with_a_detached_head_or_during_a_merge() {
    let (scene, _tree) = diverged_project();
    fs::write(scene.root.join(".git/MERGE_HEAD"), scene.run_git(&["rev-parse", "HEAD"])).unwrap();
    assert!(matches!(
        prepare_landing(&scene.layout, "T"),
        Err(WorktreeError::OperationInProgress { operation: "merge" })
    ));
    fs::remove_file(scene.root.join(".git/MERGE_HEAD")).unwrap();
    scene.run_git(&["checkout", "--quiet", "--detach"]);
    assert!(matches!(prepare_landing(&scene.layout, "T"), Err(WorktreeError::DetachedHead)));
    assert!(matches!(prepare_landing(&scene.layout, "NONE"), Err(WorktreeError::NothingAccepted { .. })));
}

// spec: P6
#[test]
fn unverified_commits_on_the_branch_are_not_landed() {
    let (scene, tree) = diverged_project();
    run_git(&tree.path, &["checkout", "--quiet", "ralph/T"]).unwrap();
    fs::write(tree.path.join("work"), "unverified").unwrap();
    commit_all(&tree.path);
    assert!(matches!(prepare_landing(&scene.layout, "T"), Err(WorktreeError::BranchMoved { .. })));
}

/// Records a landing in progress. Returns the commit of the branch and the merge result.
fn record_interrupted_landing(scene: &WorktreeFixture) -> (String, String) {
    let landing = prepare_landing(&scene.layout, "T").unwrap();
    let (from, to) = (landing.target.tip, landing.merged);
    scene.run_git(&["update-ref", "refs/ralph/T/_landing/from", &from]);
    scene.run_git(&["update-ref", "refs/ralph/T/_landing/to", &to]);
    (from, to)
}

// spec: P6
#[test]
fn an_interrupted_landing_is_finished_or_rolled_back() {
    // No file was updated yet.
    let (scene, _tree) = diverged_project();
    let before = scene.user_state();
    record_interrupted_landing(&scene);
    recover_landing(&scene.layout, "T").unwrap();
    assert_eq!(scene.user_state(), before);
    // Some files were updated, and the user has an untracked file.
    let (scene, tree) = diverged_project();
    fs::create_dir(tree.path.join("sub")).unwrap();
    fs::write(tree.path.join("file"), "changed").unwrap();
    fs::remove_file(tree.path.join("old")).unwrap();
    scene.commit_and_accept(&tree, "sub/deep", "new");
    fs::write(scene.root.join("untracked"), "mine").unwrap();
    let before = scene.user_state();
    record_interrupted_landing(&scene);
    fs::create_dir(scene.root.join("sub")).unwrap();
    fs::write(scene.root.join("sub/deep"), "new").unwrap();
    fs::remove_file(scene.root.join("old")).unwrap();
    fs::write(scene.root.join("file"), "changed").unwrap();
    recover_landing(&scene.layout, "T").unwrap();
    assert_eq!(scene.user_state(), before);
    assert!(!scene.root.join("sub").exists());
    // All files were updated, but not the branch.
    let (from, to) = record_interrupted_landing(&scene);
    git::update_files_and_index(&scene.root, &from, &to).unwrap();
    recover_landing(&scene.layout, "T").unwrap();
    assert_eq!(
        (scene.run_git(&["rev-parse", "HEAD"]), scene.run_git(&["status", "--porcelain"])),
        (to, "?? untracked".into())
    );
    // The same, and the user has staged another file.
    let (scene, _tree) = diverged_project();
    fs::write(scene.root.join("old"), "staged").unwrap();
    scene.run_git(&["add", "old"]);
    let (from, to) = record_interrupted_landing(&scene);
    git::update_files_and_index(&scene.root, &from, &to).unwrap();
    recover_landing(&scene.layout, "T").unwrap();
    assert_eq!(
        (scene.run_git(&["rev-parse", "HEAD"]), scene.run_git(&["status", "--porcelain"])),
        (to, "M  old".into())
    );
    // The branch was moved, but the record was not deleted.
    let (scene, _tree) = diverged_project();
    let (from, to) = record_interrupted_landing(&scene);
    git::update_files_and_index(&scene.root, &from, &to).unwrap();
    scene.run_git(&["update-ref", "HEAD", &to]);
    let before = scene.user_state();
    recover_landing(&scene.layout, "T").unwrap();
    assert_eq!(
        (scene.user_state(), scene.run_git(&["for-each-ref", "refs/ralph/T/_landing"])),
        (before, String::new())
    );
}

// spec: P6
#[test]
fn a_work_tree_with_unmerged_work_is_never_removed() {
    let (scene, tree) = diverged_project();
    assert!(
        matches!(remove_worktree(&scene.layout, "T").unwrap(), WorktreeRemoval::Kept(_)),
        "its commits are not merged"
    );
    finish_landing(&scene.layout, &prepare_landing(&scene.layout, "T").unwrap()).unwrap();
    fs::write(tree.path.join("leftover"), "precious").unwrap();
    let kept = remove_worktree(&scene.layout, "T").unwrap();
    assert!(matches!(&kept, WorktreeRemoval::Kept(reason) if reason.contains("leftover")), "{kept:?}");
    assert!(tree.path.join("leftover").exists());
    fs::remove_file(tree.path.join("leftover")).unwrap();
    fs::write(tree.path.join("work"), "more").unwrap();
    commit_all(&tree.path);
    assert!(matches!(remove_worktree(&scene.layout, "T").unwrap(), WorktreeRemoval::Kept(_)));
    let known: Vec<String> =
        crate::worktree::list_task_worktrees(&scene.layout).unwrap().into_iter().map(|tree| tree.task_id).collect();
    assert_eq!(known, ["T"], "it is still registered");
}
