//! What landing does with the user's branch and files, and what it leaves alone.
use std::fs;

use super::testing::Scene;
use super::{Removal, Tree, TreeError, finish, merged, recover, remove};
use crate::git::testing::commit_all;
use crate::git::{self, git};

/// A project whose branch has gone on since the work began.
fn diverged() -> (Scene, Tree) {
    let scene = Scene::new();
    let tree = scene.tree("T");
    scene.accepted(&tree, "work", "done");
    fs::write(scene.root.join("mine"), "meanwhile").unwrap();
    commit_all(&scene.root);
    (scene, tree)
}

// spec: P6
#[test]
fn work_is_merged_into_the_users_branch_and_files() {
    let (scene, _tree) = diverged();
    let before = scene.git(&["rev-parse", "HEAD"]);
    let landing = merged(&scene.site, "T").unwrap();
    assert!(!scene.root.join("work").exists(), "nothing of the user's is touched before it is verified");
    finish(&scene.site, &landing).unwrap();
    assert_eq!(fs::read_to_string(scene.root.join("work")).unwrap(), "done");
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    assert_eq!(scene.git(&["log", "-1", "--format=%s"]), "Merge branch 'ralph/T'");
    assert_eq!(scene.git(&["rev-parse", "HEAD^1"]), before);
    assert_eq!(scene.git(&["for-each-ref", "refs/ralph/T/_landing"]), "");
    assert!(merged(&scene.site, "T").unwrap().is_there_already());
    assert_eq!(remove(&scene.site, "T").unwrap(), Removal::Removed);
    assert_eq!(remove(&scene.site, "T").unwrap(), Removal::None);
    assert!(!scene.site.path("T").exists() && !scene.git(&["rev-parse", "ralph/T"]).is_empty());
}

// spec: P6
#[test]
fn a_branch_that_has_not_gone_on_is_moved_forward() {
    let scene = Scene::new();
    let tree = scene.tree("T");
    let work = scene.accepted(&tree, "work", "done");
    fs::write(scene.root.join("untracked"), "mine").unwrap();
    fs::write(scene.root.join("file"), "my change elsewhere").unwrap();
    let landing = merged(&scene.site, "T").unwrap();
    finish(&scene.site, &landing).unwrap();
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), work);
    assert_eq!(scene.git(&["status", "--porcelain"]), "M file\n?? untracked");
}

// spec: P6
#[test]
fn a_conflict_is_reported_with_its_files_and_everything_is_as_before() {
    let scene = Scene::new();
    let tree = scene.tree("T");
    scene.accepted(&tree, "file", "theirs");
    fs::write(scene.root.join("file"), "ours").unwrap();
    commit_all(&scene.root);
    let before = scene.users();
    let refused = merged(&scene.site, "T").unwrap_err();
    let TreeError::Conflict { files, .. } = &refused else { panic!("{refused}") };
    assert_eq!(files, &[std::path::PathBuf::from("file")]);
    assert_eq!(scene.users(), before);
}

// spec: P6
#[test]
fn files_of_the_users_that_are_nowhere_else_are_never_written_over() {
    for (name, text) in [("file", "my change"), ("work", "untracked"), ("out", "ignored")] {
        let scene = Scene::new();
        let tree = scene.tree("T");
        fs::write(tree.path.join("file"), "changed").unwrap();
        fs::write(tree.path.join("out"), "tracked there").unwrap();
        git(&tree.path, &["add", "--force", "out"]).unwrap();
        scene.accepted(&tree, "work", "done");
        fs::write(scene.root.join(name), text).unwrap();
        let before = scene.users();
        let refused = merged(&scene.site, "T").unwrap_err();
        assert!(
            matches!(&refused, TreeError::Dirty { files, .. } if files == &[std::path::PathBuf::from(name)])
        );
        assert_eq!(scene.users(), before);
    }
}

// spec: P6
#[test]
fn what_changes_between_merge_and_landing_is_noticed() {
    let (scene, _tree) = diverged();
    let landing = merged(&scene.site, "T").unwrap();
    fs::write(scene.root.join("work"), "mine now").unwrap();
    let before = scene.users();
    assert!(matches!(finish(&scene.site, &landing), Err(TreeError::Dirty { .. })));
    assert_eq!(scene.users(), before);
    fs::remove_file(scene.root.join("work")).unwrap();
    fs::write(scene.root.join("mine"), "more").unwrap();
    commit_all(&scene.root);
    let before = scene.users();
    assert!(matches!(finish(&scene.site, &landing), Err(TreeError::Overtaken { .. })));
    assert_eq!(scene.users(), before);
}

// spec: P6
#[test]
fn a_work_tree_on_no_branch_or_in_the_middle_of_a_merge_is_left_alone() {
    let (scene, _tree) = diverged();
    fs::write(scene.root.join(".git/MERGE_HEAD"), scene.git(&["rev-parse", "HEAD"])).unwrap();
    assert!(matches!(merged(&scene.site, "T"), Err(TreeError::Unfinished { what: "merge" })));
    fs::remove_file(scene.root.join(".git/MERGE_HEAD")).unwrap();
    scene.git(&["checkout", "--quiet", "--detach"]);
    assert!(matches!(merged(&scene.site, "T"), Err(TreeError::Detached)));
    assert!(matches!(merged(&scene.site, "NONE"), Err(TreeError::NothingAccepted { .. })));
}

// spec: P6
#[test]
fn commits_on_the_branch_that_nobody_verified_are_not_landed() {
    let (scene, tree) = diverged();
    git(&tree.path, &["checkout", "--quiet", "ralph/T"]).unwrap();
    fs::write(tree.path.join("work"), "unverified").unwrap();
    commit_all(&tree.path);
    assert!(matches!(merged(&scene.site, "T"), Err(TreeError::Moved { .. })));
}

/// Writes down that a landing is going on.
fn recorded(scene: &Scene) -> (String, String) {
    let landing = merged(&scene.site, "T").unwrap();
    let (from, to) = (landing.onto.tip, landing.merged);
    scene.git(&["update-ref", "refs/ralph/T/_landing/from", &from]);
    scene.git(&["update-ref", "refs/ralph/T/_landing/to", &to]);
    (from, to)
}

// spec: P6
#[test]
fn a_landing_that_was_cut_short_is_finished_or_taken_back() {
    // Nothing was moved yet.
    let (scene, _tree) = diverged();
    let before = scene.users();
    recorded(&scene);
    recover(&scene.site, "T").unwrap();
    assert_eq!(scene.users(), before);
    // Some files were moved, and the user wrote others since.
    let (scene, tree) = diverged();
    fs::create_dir(tree.path.join("sub")).unwrap();
    fs::write(tree.path.join("file"), "changed").unwrap();
    fs::remove_file(tree.path.join("old")).unwrap();
    scene.accepted(&tree, "sub/deep", "new");
    fs::write(scene.root.join("untracked"), "mine").unwrap();
    let before = scene.users();
    recorded(&scene);
    fs::create_dir(scene.root.join("sub")).unwrap();
    fs::write(scene.root.join("sub/deep"), "new").unwrap();
    fs::remove_file(scene.root.join("old")).unwrap();
    fs::write(scene.root.join("file"), "changed").unwrap();
    recover(&scene.site, "T").unwrap();
    assert_eq!(scene.users(), before);
    assert!(!scene.root.join("sub").exists());
    // All files were moved, and the branch was not.
    let (from, to) = recorded(&scene);
    git::change_files(&scene.root, &from, &to).unwrap();
    recover(&scene.site, "T").unwrap();
    assert_eq!(
        (scene.git(&["rev-parse", "HEAD"]), scene.git(&["status", "--porcelain"])),
        (to, "?? untracked".into())
    );
    // The same, where the user has staged something else.
    let (scene, _tree) = diverged();
    fs::write(scene.root.join("old"), "staged").unwrap();
    scene.git(&["add", "old"]);
    let (from, to) = recorded(&scene);
    git::change_files(&scene.root, &from, &to).unwrap();
    recover(&scene.site, "T").unwrap();
    assert_eq!(
        (scene.git(&["rev-parse", "HEAD"]), scene.git(&["status", "--porcelain"])),
        (to, "M  old".into())
    );
    // The branch was moved, and nobody had said so.
    let (scene, _tree) = diverged();
    let (from, to) = recorded(&scene);
    git::change_files(&scene.root, &from, &to).unwrap();
    scene.git(&["update-ref", "HEAD", &to]);
    let before = scene.users();
    recover(&scene.site, "T").unwrap();
    assert_eq!(
        (scene.users(), scene.git(&["for-each-ref", "refs/ralph/T/_landing"])),
        (before, String::new())
    );
}

// spec: P6
#[test]
fn a_tree_with_work_that_is_not_merged_is_never_removed() {
    let (scene, tree) = diverged();
    assert!(matches!(remove(&scene.site, "T").unwrap(), Removal::Kept(_)), "its commits are not merged");
    finish(&scene.site, &merged(&scene.site, "T").unwrap()).unwrap();
    fs::write(tree.path.join("leftover"), "precious").unwrap();
    let kept = remove(&scene.site, "T").unwrap();
    assert!(matches!(&kept, Removal::Kept(why) if why.contains("leftover")), "{kept:?}");
    assert!(tree.path.join("leftover").exists());
    fs::remove_file(tree.path.join("leftover")).unwrap();
    fs::write(tree.path.join("work"), "more").unwrap();
    commit_all(&tree.path);
    assert!(matches!(remove(&scene.site, "T").unwrap(), Removal::Kept(_)));
    let known: Vec<String> = super::all(&scene.site).unwrap().into_iter().map(|tree| tree.name).collect();
    assert_eq!(known, ["T"], "and it is still known");
}
