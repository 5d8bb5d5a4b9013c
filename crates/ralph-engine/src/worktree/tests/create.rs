//! Tests of creating and reopening task work trees.
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git;
use crate::git::testing::{commit_all, new_repository};
use crate::git::{RefUpdate, run_git};
use crate::worktree::create::*;
use crate::worktree::tests::worktree_fixture::WorktreeFixture;
use crate::worktree::{WorktreeError, WorktreeLayout, ref_names};

fn head_commit(path: &Path) -> String {
    git::head_commit(path).unwrap().unwrap()
}

// spec: P6
#[test]
fn a_work_tree_is_created_once_with_a_detached_head_and_reopened_afterwards() {
    let scene = WorktreeFixture::new();
    let first = open_or_create(&scene.layout, "TASK-1", &[]).unwrap();
    assert_eq!((first.origin, first.worktree.base.clone()), (WorktreeOrigin::Created, head_commit(&scene.root)));
    let path = &first.worktree.path;
    assert!(path.ends_with("project-1234abcd/trees/TASK-1") && !path.starts_with(&scene.root));
    assert_eq!(git::current_branch(path).unwrap(), None, "commits of the agent do not move a branch");
    assert_eq!(scene.run_git(&["rev-parse", "ralph/TASK-1"]), first.worktree.base);
    fs::write(path.join("file"), "work").unwrap();
    let again = open_or_create(&scene.layout, "TASK-1", &[]).unwrap();
    assert_eq!((again.origin, &again.worktree), (WorktreeOrigin::Existing, &first.worktree));
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "work");
    assert_eq!(find_worktree(&scene.layout, "TASK-1").unwrap(), Some(again.worktree));
    assert_eq!(find_worktree(&scene.layout, "TASK-2").unwrap(), None);
}

// spec: P6
#[test]
fn a_work_tree_starts_with_the_accepted_work_of_its_dependencies() {
    let scene = WorktreeFixture::new();
    let (one, two) = (scene.create_worktree("ONE"), scene.create_worktree("TWO"));
    scene.commit_and_accept(&one, "one", "1");
    scene.commit_and_accept(&two, "two", "2");
    fs::write(two.path.join("unaccepted"), "").unwrap();
    commit_all(&two.path);
    let dependencies = ["ONE", "TWO", "NEVER-WORKED-ON"].map(str::to_owned);
    let tree = open_or_create(&scene.layout, "THREE", &dependencies).unwrap().worktree;
    assert!(tree.path.join("one").is_file() && tree.path.join("two").is_file());
    assert!(!tree.path.join("unaccepted").exists());
    assert_eq!((head_commit(&tree.path), scene.run_git(&["rev-parse", "ralph/THREE"])), (tree.base.clone(), tree.base));
}

// spec: P6, P7
#[test]
fn an_unlocked_work_tree_keeps_its_files_and_commits_and_is_locked_again() {
    let scene = WorktreeFixture::new();
    let tree = scene.create_worktree("T");
    fs::write(tree.path.join("file"), "committed").unwrap();
    let commit = commit_all(&tree.path);
    fs::write(tree.path.join("file"), "edited").unwrap();
    scene.run_git(&["worktree", "unlock", tree.path.to_str().unwrap()]);
    assert_eq!(find_worktree(&scene.layout, "T").unwrap(), Some(tree.clone()));
    let again = open_or_create(&scene.layout, "T", &[]).unwrap();
    assert_eq!((again.origin, head_commit(&tree.path)), (WorktreeOrigin::Existing, commit.clone()));
    assert_eq!(fs::read_to_string(tree.path.join("file")).unwrap(), "edited");
    assert!(scene.run_git(&["worktree", "list", "--porcelain"]).contains("locked ralph: T of "));
    scene.run_git(&["worktree", "unlock", tree.path.to_str().unwrap()]);
    fs::remove_dir_all(&tree.path).unwrap();
    open_or_create(&scene.layout, "T", &[]).unwrap();
    assert_eq!(head_commit(&tree.path), commit, "only git's list pointed to it");
    assert_eq!(scene.run_git(&["rev-parse", "refs/ralph/T/_kept/1"]), commit);
}

// spec: P6
#[test]
fn conflicting_dependencies_are_reported_with_their_files_and_nothing_is_created() {
    let scene = WorktreeFixture::new();
    for name in ["ONE", "TWO"] {
        let tree = scene.create_worktree(name);
        scene.commit_and_accept(&tree, "file", name);
    }
    let before = (scene.user_state(), scene.run_git(&["for-each-ref"]));
    let refused = open_or_create(&scene.layout, "THREE", &["ONE".to_owned(), "TWO".to_owned()]).unwrap_err();
    let WorktreeError::DependencyConflict { dependency, files, .. } = &refused else { panic!("{refused}") };
    assert_eq!((dependency.as_str(), files.as_slice()), ("TWO", &[PathBuf::from("file")][..]));
    assert_eq!((scene.user_state(), scene.run_git(&["for-each-ref"])), before);
    assert!(!scene.layout.task_path("THREE").exists());
}

// spec: P6
#[test]
fn a_repository_without_a_commit_has_no_work_trees() {
    let (temp, root) = new_repository();
    let scene = WorktreeFixture::with_root(temp, root);
    assert!(matches!(open_or_create(&scene.layout, "T", &[]), Err(WorktreeError::NoCommitYet)));
}

// spec: P6
#[test]
fn branches_and_folders_that_ralph_did_not_create_are_never_used() {
    let scene = WorktreeFixture::new();
    scene.run_git(&["branch", "ralph/A"]);
    assert!(matches!(open_or_create(&scene.layout, "A", &[]), Err(WorktreeError::BranchTaken { .. })));
    fs::create_dir_all(scene.layout.task_path("B")).unwrap();
    fs::write(scene.layout.task_path("B").join("mine"), "").unwrap();
    assert!(matches!(open_or_create(&scene.layout, "B", &[]), Err(WorktreeError::PathOccupied { .. })));
    assert!(scene.layout.task_path("B").join("mine").exists());
    scene.create_worktree("C");
    let other = WorktreeLayout { key: "other-00000000".to_owned(), ..scene.layout.clone() };
    let refused = open_or_create(&other, "C", &[]).unwrap_err();
    assert!(matches!(&refused, WorktreeError::OtherProject { key, .. } if key == "project-1234abcd"), "{refused}");
}

// spec: P6
#[test]
fn a_work_tree_whose_folder_was_removed_is_created_again_at_its_head() {
    let scene = WorktreeFixture::new();
    let tree = scene.create_worktree("T");
    fs::write(tree.path.join("file"), "not accepted").unwrap();
    let commit = commit_all(&tree.path);
    fs::remove_dir_all(&tree.path).unwrap();
    scene.run_git(&["worktree", "prune"]);
    let again = open_or_create(&scene.layout, "T", &[]).unwrap();
    assert_eq!((again.origin, head_commit(&again.worktree.path)), (WorktreeOrigin::Recreated, commit.clone()));
    assert_eq!(scene.run_git(&["rev-parse", "refs/ralph/T/_kept/1"]), commit);
}

// spec: P6
#[test]
fn a_work_tree_that_was_removed_from_gits_list_is_created_again_from_accepted_work() {
    let scene = WorktreeFixture::new();
    let tree = scene.create_worktree("T");
    let commit = scene.commit_and_accept(&tree, "file", "done");
    scene.run_git(&["worktree", "remove", "--force", "--force", tree.path.to_str().unwrap()]);
    let again = open_or_create(&scene.layout, "T", &[]).unwrap();
    assert_eq!((head_commit(&again.worktree.path), again.worktree.base), (commit, tree.base));
}

// spec: P6
#[test]
fn an_interrupted_creation_is_finished_from_every_step() {
    let scene = WorktreeFixture::new();
    let base = head_commit(&scene.root);
    let record = |name: &str| {
        let names =
            [ref_names::branch_ref(name), ref_names::base_ref(name, "project-1234abcd"), ref_names::accepted_ref(name)];
        let all = names.map(|name| RefUpdate::create(name, &base));
        git::update_refs(&scene.root, &all, "test").unwrap();
    };
    let assert_complete = |name: &str| {
        let opened = open_or_create(&scene.layout, name, &[]).unwrap();
        assert_eq!(fs::read_to_string(opened.worktree.path.join("file")).unwrap(), "first", "{name}");
        assert_eq!(run_git(&opened.worktree.path, &["status", "--porcelain"]).unwrap(), "", "{name}");
        assert_eq!(open_or_create(&scene.layout, name, &[]).unwrap().origin, WorktreeOrigin::Existing);
    };
    // Before git was called.
    record("A");
    assert_complete("A");
    // Git had created the folder with its `.git` file but had not registered the work tree.
    record("B");
    fs::create_dir_all(scene.layout.task_path("B")).unwrap();
    fs::write(scene.layout.task_path("B/.git"), "gitdir: /nowhere\n").unwrap();
    assert_complete("B");
    // Git was checking out: the index was locked, and some files were missing.
    record("C");
    let path = scene.layout.task_path("C");
    git::add_worktree(&scene.root, &path, &base).unwrap();
    let index = git::worktree_git_path(&path, "index").unwrap();
    fs::rename(&index, index.with_extension("lock")).unwrap();
    fs::remove_file(path.join("file")).unwrap();
    scene.run_git(&["worktree", "lock", "--reason", "initializing", path.to_str().unwrap()]);
    assert_complete("C");
    // Git was done, but the work tree was not marked as complete.
    record("D");
    git::add_worktree(&scene.root, &scene.layout.task_path("D"), &base).unwrap();
    assert_complete("D");
}

// spec: P6
#[test]
fn a_moved_project_finds_its_work_trees_and_a_copy_of_it_does_not_use_them() {
    let mut scene = WorktreeFixture::new();
    let tree = scene.create_worktree("T");
    fs::write(tree.path.join("new"), "work").unwrap();
    let copy = scene.root.with_file_name("copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(&scene.root).arg(&copy).status();
    assert!(copied.unwrap().success());
    let of_copy = WorktreeLayout { root: copy, ..scene.layout.clone() };
    assert!(matches!(open_or_create(&of_copy, "T", &[]), Err(WorktreeError::OtherRepository { .. })));
    let moved = scene.root.with_file_name("moved");
    fs::rename(&scene.root, &moved).unwrap();
    scene.layout.root = moved;
    let again = open_or_create(&scene.layout, "T", &[]).unwrap();
    assert_eq!((again.origin, &again.worktree.path), (WorktreeOrigin::Existing, &tree.path));
    assert!(run_git(&tree.path, &["status", "--porcelain"]).unwrap().contains("new"));
}

// spec: P6
#[test]
fn the_path_of_a_project_may_contain_blanks_newlines_and_invalid_utf8() {
    let (temp, root) = new_repository();
    let odd = root.with_file_name(std::ffi::OsStr::from_bytes(b"a b\nc\xff"));
    fs::rename(&root, &odd).unwrap();
    commit_all(&odd);
    let scene = WorktreeFixture::with_root(temp, odd);
    let tree = scene.create_worktree("T");
    assert_eq!(fs::read_to_string(tree.path.join("file")).unwrap(), "first");
    assert_eq!(open_or_create(&scene.layout, "T", &[]).unwrap().origin, WorktreeOrigin::Existing);
}

// spec: P6
#[test]
fn a_project_in_a_linked_work_tree_of_a_bare_repository_is_supported() {
    let (temp, root) = new_repository();
    commit_all(&root);
    let (bare, linked) = (root.with_file_name("bare.git"), root.with_file_name("linked"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    run_git(&root, &["clone", "--quiet", "--bare", &text(&root), &text(&bare)]).unwrap();
    run_git(&bare, &["worktree", "add", "--quiet", &text(&linked)]).unwrap();
    let scene = WorktreeFixture::with_root(temp, linked);
    let tree = scene.create_worktree("T");
    assert_eq!(head_commit(&tree.path), head_commit(&scene.root));
}

// spec: P6
#[test]
fn ralph_finds_its_project_from_a_task_work_tree() {
    use crate::project::Project;
    let scene = WorktreeFixture::new();
    let tree = scene.create_worktree("T");
    let home = scene.root.join(".ralph");
    fs::create_dir_all(tree.path.join("sub")).unwrap();
    let user_state = scene.root.with_file_name("user-state");
    let here = || Project::find_with_user_state(&tree.path.join("sub"), &user_state).unwrap();
    assert_eq!((here().root, here().home), (tree.path.clone(), home.clone()));
    // A `.ralph` that is part of the repository is not used.
    fs::create_dir(tree.path.join(".ralph")).unwrap();
    assert_eq!(here().home, home);
}

// spec: P6
#[test]
fn sparse_checkout_and_filters_apply_in_task_worktrees_too() {
    let scene = WorktreeFixture::new();
    fs::create_dir_all(scene.root.join("large")).unwrap();
    fs::write(scene.root.join("large/data"), "big").unwrap();
    fs::write(scene.root.join(".gitattributes"), "*.up filter=up\n").unwrap();
    fs::write(scene.root.join("a.up"), "text").unwrap();
    scene.run_git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    scene.run_git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    commit_all(&scene.root);
    scene.run_git(&["sparse-checkout", "set", "--cone"]);
    let tree = scene.create_worktree("T");
    assert_eq!(fs::read_to_string(tree.path.join("a.up")).unwrap(), "TEXT");
    assert!(!tree.path.join("large/data").exists(), "it is sparse like the user's work tree");
    let mark = crate::worktree::SnapshotKey { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
    fs::write(tree.path.join("new"), "").unwrap();
    let kept = crate::worktree::take_snapshot(&scene.layout, &tree, &mark).unwrap().commit;
    assert_eq!(
        scene.run_git(&["show", &format!("{kept}:large/data")]),
        "big",
        "files outside the sparse checkout do not count as removed"
    );
    assert_eq!(run_git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? new\n");
}

// spec: P6
#[test]
fn submodules_are_left_to_the_setup_commands() {
    let scene = WorktreeFixture::new();
    let (_other, module) = new_repository();
    commit_all(&module);
    let from = module.to_str().unwrap();
    scene.run_git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "module"]);
    commit_all(&scene.root);
    let tree = scene.create_worktree("T");
    assert_eq!(fs::read_dir(tree.path.join("module")).unwrap().count(), 0);
    run_git(&tree.path, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]).unwrap();
    assert!(tree.path.join("module/file").is_file());
    let removed = crate::worktree::remove_worktree(&scene.layout, "T").unwrap();
    assert!(
        matches!(removed, crate::worktree::WorktreeRemoval::Kept(_)),
        "git does not remove a work tree with submodules: {removed:?}"
    );
}

// spec: P6
#[test]
fn hooks_of_the_repository_do_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let scene = WorktreeFixture::new();
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        let path = scene.root.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\ntouch hooked\nexit 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    scene.run_git(&["config", "core.hooksPath", scene.root.join(".git/hooks").to_str().unwrap()]);
    let tree = scene.create_worktree("T");
    assert!(!tree.path.join("hooked").exists() && !scene.root.join("hooked").exists());
}
