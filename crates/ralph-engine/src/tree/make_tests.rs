//! How trees come to be, and to be again.
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::make::*;
use super::{Site, TreeError, names};
use crate::git;
use crate::git::testing::{commit_all, repository};
use crate::git::{RefChange, git};
use crate::tree::testing::Scene;

fn head(path: &Path) -> String {
    git::head(path).unwrap().unwrap()
}

// spec: P6
#[test]
fn a_tree_is_made_once_detached_and_opened_afterwards() {
    let scene = Scene::new();
    let first = make(&scene.site, "TASK-1", &[]).unwrap();
    assert_eq!((first.how, first.tree.base.clone()), (How::New, head(&scene.root)));
    let path = &first.tree.path;
    assert!(path.ends_with("trees/project-1234abcd/TASK-1") && !path.starts_with(&scene.root));
    assert_eq!(git::branch_of(path).unwrap(), None, "nothing that the agent commits moves a branch");
    assert_eq!(scene.git(&["rev-parse", "ralph/TASK-1"]), first.tree.base);
    fs::write(path.join("file"), "work").unwrap();
    let again = make(&scene.site, "TASK-1", &[]).unwrap();
    assert_eq!((again.how, &again.tree), (How::Found, &first.tree));
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "work");
    assert_eq!(find(&scene.site, "TASK-1").unwrap(), Some(again.tree));
    assert_eq!(find(&scene.site, "TASK-2").unwrap(), None);
}

// spec: P6
#[test]
fn a_tree_begins_with_the_accepted_work_of_what_it_comes_after() {
    let scene = Scene::new();
    let (one, two) = (scene.tree("ONE"), scene.tree("TWO"));
    scene.accepted(&one, "one", "1");
    scene.accepted(&two, "two", "2");
    fs::write(two.path.join("unaccepted"), "").unwrap();
    commit_all(&two.path);
    let after = ["ONE", "TWO", "NEVER-WORKED-ON"].map(str::to_owned);
    let tree = make(&scene.site, "THREE", &after).unwrap().tree;
    assert!(tree.path.join("one").is_file() && tree.path.join("two").is_file());
    assert!(!tree.path.join("unaccepted").exists());
    assert_eq!((head(&tree.path), scene.git(&["rev-parse", "ralph/THREE"])), (tree.base.clone(), tree.base));
}

// spec: P6, P7
#[test]
fn a_tree_that_somebody_unlocked_keeps_its_files_and_commits_and_is_locked_again() {
    let scene = Scene::new();
    let tree = scene.tree("T");
    fs::write(tree.path.join("file"), "committed").unwrap();
    let commit = commit_all(&tree.path);
    fs::write(tree.path.join("file"), "edited").unwrap();
    scene.git(&["worktree", "unlock", tree.path.to_str().unwrap()]);
    assert_eq!(find(&scene.site, "T").unwrap(), Some(tree.clone()));
    let again = make(&scene.site, "T", &[]).unwrap();
    assert_eq!((again.how, head(&tree.path)), (How::Found, commit.clone()));
    assert_eq!(fs::read_to_string(tree.path.join("file")).unwrap(), "edited");
    assert!(scene.git(&["worktree", "list", "--porcelain"]).contains("locked ralph: T of "));
    scene.git(&["worktree", "unlock", tree.path.to_str().unwrap()]);
    fs::remove_dir_all(&tree.path).unwrap();
    make(&scene.site, "T", &[]).unwrap();
    assert_eq!(head(&tree.path), commit, "only git's list led to it");
    assert_eq!(scene.git(&["rev-parse", "refs/ralph/T/_kept/1"]), commit);
}

// spec: P6
#[test]
fn dependencies_that_conflict_are_named_with_their_files_and_nothing_is_left() {
    let scene = Scene::new();
    for name in ["ONE", "TWO"] {
        let tree = scene.tree(name);
        scene.accepted(&tree, "file", name);
    }
    let before = (scene.users(), scene.git(&["for-each-ref"]));
    let refused = make(&scene.site, "THREE", &["ONE".to_owned(), "TWO".to_owned()]).unwrap_err();
    let TreeError::Dependencies { dependency, files, .. } = &refused else { panic!("{refused}") };
    assert_eq!((dependency.as_str(), files.as_slice()), ("TWO", &[PathBuf::from("file")][..]));
    assert_eq!((scene.users(), scene.git(&["for-each-ref"])), before);
    assert!(!scene.site.path("THREE").exists());
}

// spec: P6
#[test]
fn a_repository_without_a_commit_has_no_trees() {
    let (temp, root) = repository();
    let scene = Scene::at(temp, root);
    assert!(matches!(make(&scene.site, "T", &[]), Err(TreeError::Unborn)));
}

// spec: P6
#[test]
fn what_ralph_did_not_make_is_never_taken_for_its_own() {
    let scene = Scene::new();
    scene.git(&["branch", "ralph/A"]);
    assert!(matches!(make(&scene.site, "A", &[]), Err(TreeError::BranchTaken { .. })));
    fs::create_dir_all(scene.site.path("B")).unwrap();
    fs::write(scene.site.path("B").join("mine"), "").unwrap();
    assert!(matches!(make(&scene.site, "B", &[]), Err(TreeError::InTheWay { .. })));
    assert!(scene.site.path("B").join("mine").exists());
    scene.tree("C");
    let other = Site { folder: scene.site.folder.with_file_name("other-00000000"), ..scene.site.clone() };
    let refused = make(&other, "C", &[]).unwrap_err();
    assert!(matches!(&refused, TreeError::Elsewhere { key, .. } if key == "project-1234abcd"), "{refused}");
}

// spec: P6
#[test]
fn a_tree_whose_folder_somebody_removed_stands_again_where_it_stood() {
    let scene = Scene::new();
    let tree = scene.tree("T");
    fs::write(tree.path.join("file"), "not accepted").unwrap();
    let commit = commit_all(&tree.path);
    fs::remove_dir_all(&tree.path).unwrap();
    scene.git(&["worktree", "prune"]);
    let again = make(&scene.site, "T", &[]).unwrap();
    assert_eq!((again.how, head(&again.tree.path)), (How::Again, commit.clone()));
    assert_eq!(scene.git(&["rev-parse", "refs/ralph/T/_kept/1"]), commit);
}

// spec: P6
#[test]
fn a_tree_that_somebody_took_out_of_gits_list_is_made_again_from_what_was_accepted() {
    let scene = Scene::new();
    let tree = scene.tree("T");
    let commit = scene.accepted(&tree, "file", "done");
    scene.git(&["worktree", "remove", "--force", "--force", tree.path.to_str().unwrap()]);
    let again = make(&scene.site, "T", &[]).unwrap();
    assert_eq!((head(&again.tree.path), again.tree.base), (commit, tree.base));
}

// spec: P6
#[test]
fn a_making_that_was_cut_short_is_finished_wherever_it_was() {
    let scene = Scene::new();
    let base = head(&scene.root);
    let record = |name: &str| {
        let names = [names::branch(name), names::base(name, "project-1234abcd"), names::accepted(name)];
        let all = names.map(|name| RefChange::new(name, &base));
        git::change_refs(&scene.root, &all, "test").unwrap();
    };
    let whole = |name: &str| {
        let made = make(&scene.site, name, &[]).unwrap();
        assert_eq!(fs::read_to_string(made.tree.path.join("file")).unwrap(), "first", "{name}");
        assert_eq!(git(&made.tree.path, &["status", "--porcelain"]).unwrap(), "", "{name}");
        assert_eq!(make(&scene.site, name, &[]).unwrap().how, How::Found);
    };
    // Before git was called.
    record("A");
    whole("A");
    // Git had made the folder and its mark, and its list knows nothing.
    record("B");
    fs::create_dir_all(scene.site.path("B")).unwrap();
    fs::write(scene.site.path("B/.git"), "gitdir: /nowhere\n").unwrap();
    whole("B");
    // Git was checking out: the index was being written, and some files were not there yet.
    record("C");
    let path = scene.site.path("C");
    git::add_linked(&scene.root, &path, &base).unwrap();
    let index = git::own_file(&path, "index").unwrap();
    fs::rename(&index, index.with_extension("lock")).unwrap();
    fs::remove_file(path.join("file")).unwrap();
    scene.git(&["worktree", "lock", "--reason", "initializing", path.to_str().unwrap()]);
    whole("C");
    // Git was done, and nobody had said so.
    record("D");
    git::add_linked(&scene.root, &scene.site.path("D"), &base).unwrap();
    whole("D");
}

// spec: P6
#[test]
fn a_project_that_was_moved_finds_its_trees_and_a_copy_of_it_takes_none_away() {
    let mut scene = Scene::new();
    let tree = scene.tree("T");
    fs::write(tree.path.join("new"), "work").unwrap();
    let copy = scene.root.with_file_name("copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(&scene.root).arg(&copy).status();
    assert!(copied.unwrap().success());
    let of_copy = Site { root: copy, ..scene.site.clone() };
    assert!(matches!(make(&of_copy, "T", &[]), Err(TreeError::Foreign { .. })));
    let moved = scene.root.with_file_name("moved");
    fs::rename(&scene.root, &moved).unwrap();
    scene.site.root = moved;
    let again = make(&scene.site, "T", &[]).unwrap();
    assert_eq!((again.how, &again.tree.path), (How::Found, &tree.path));
    assert!(git(&tree.path, &["status", "--porcelain"]).unwrap().contains("new"));
}

// spec: P6
#[test]
fn neither_blanks_nor_newlines_nor_other_bytes_in_the_way_to_a_project_matter() {
    let (temp, root) = repository();
    let odd = root.with_file_name(std::ffi::OsStr::from_bytes(b"a b\nc\xff"));
    fs::rename(&root, &odd).unwrap();
    commit_all(&odd);
    let scene = Scene::at(temp, odd);
    let tree = scene.tree("T");
    assert_eq!(fs::read_to_string(tree.path.join("file")).unwrap(), "first");
    assert_eq!(make(&scene.site, "T", &[]).unwrap().how, How::Found);
}

// spec: P6
#[test]
fn a_project_that_is_itself_a_linked_work_tree_of_a_bare_repository_has_trees_too() {
    let (temp, root) = repository();
    commit_all(&root);
    let (bare, beside) = (root.with_file_name("bare.git"), root.with_file_name("beside"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    git(&root, &["clone", "--quiet", "--bare", &text(&root), &text(&bare)]).unwrap();
    git(&bare, &["worktree", "add", "--quiet", &text(&beside)]).unwrap();
    let scene = Scene::at(temp, beside);
    let tree = scene.tree("T");
    assert_eq!(head(&tree.path), head(&scene.root));
}

// spec: P6
#[test]
fn a_ralph_that_is_started_in_a_tree_knows_its_project() {
    use crate::project::Project;
    let scene = Scene::new();
    let tree = scene.tree("T");
    let home = scene.root.join(".ralph");
    fs::create_dir_all(tree.path.join("sub")).unwrap();
    let here = || Project::around(&tree.path.join("sub")).unwrap();
    assert_eq!(here(), Project { root: tree.path.clone(), home: home.clone() });
    // One that came with the repository is not its own.
    fs::create_dir(tree.path.join(".ralph")).unwrap();
    assert_eq!(here().home, home);
}

// spec: P6
#[test]
fn what_is_sparse_or_filtered_in_the_project_is_so_in_its_trees() {
    let scene = Scene::new();
    fs::create_dir_all(scene.root.join("large")).unwrap();
    fs::write(scene.root.join("large/data"), "big").unwrap();
    fs::write(scene.root.join(".gitattributes"), "*.up filter=up\n").unwrap();
    fs::write(scene.root.join("a.up"), "text").unwrap();
    scene.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    scene.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    commit_all(&scene.root);
    scene.git(&["sparse-checkout", "set", "--cone"]);
    let tree = scene.tree("T");
    assert_eq!(fs::read_to_string(tree.path.join("a.up")).unwrap(), "TEXT");
    assert!(!tree.path.join("large/data").exists(), "it is sparse as the user's is");
    let mark = crate::tree::Mark { stage: "coder".to_owned(), iteration: 1, attempt: 1 };
    fs::write(tree.path.join("new"), "").unwrap();
    let kept = crate::tree::snapshot(&scene.site, &tree, &mark).unwrap().commit;
    assert_eq!(
        scene.git(&["show", &format!("{kept}:large/data")]),
        "big",
        "what is not there was not removed"
    );
    assert_eq!(git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? new\n");
}

// spec: P6
#[test]
fn submodules_are_left_to_the_commands_that_set_a_tree_up() {
    let scene = Scene::new();
    let (_other, module) = repository();
    commit_all(&module);
    let from = module.to_str().unwrap();
    scene.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "module"]);
    commit_all(&scene.root);
    let tree = scene.tree("T");
    assert_eq!(fs::read_dir(tree.path.join("module")).unwrap().count(), 0);
    git(&tree.path, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"])
        .unwrap();
    assert!(tree.path.join("module/file").is_file());
    let removed = crate::tree::remove(&scene.site, "T").unwrap();
    assert!(
        matches!(removed, crate::tree::Removal::Kept(_)),
        "git removes no tree with submodules: {removed:?}"
    );
}

// spec: P6
#[test]
fn no_hook_of_the_repository_is_run() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        let path = scene.root.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\ntouch hooked\nexit 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    scene.git(&["config", "core.hooksPath", scene.root.join(".git/hooks").to_str().unwrap()]);
    let tree = scene.tree("T");
    assert!(!tree.path.join("hooked").exists() && !scene.root.join("hooked").exists());
}
