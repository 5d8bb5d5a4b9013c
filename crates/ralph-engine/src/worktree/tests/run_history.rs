//! Snapshots before and after a run, and their undo.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::git::run_git;
use crate::git::testing::commit_all;
use crate::git::{self, RefUpdate};
use crate::worktree::WorktreeError;
use crate::worktree::run_history::{
    BaseTree, MAX_REMEMBERED_RUNS, RUN_REF_PREFIX, read_run_trees, record_run_end, record_run_start, undo_run,
};
use crate::worktree::tests::worktree_fixture::WorktreeFixture;

/// Simulates a run that changes, creates and removes a file, and commits some of that.
fn simulate_run(scene: &WorktreeFixture) {
    fs::write(scene.root.join("mine"), "uncommitted before").unwrap();
    let before = record_run_start(&scene.root, "r1", BaseTree::NotNeeded).unwrap();
    fs::write(scene.root.join("file"), "work").unwrap();
    fs::remove_file(scene.root.join("old")).unwrap();
    commit_all(&scene.root);
    fs::create_dir(scene.root.join("sub")).unwrap();
    fs::write(scene.root.join("sub/new"), "work").unwrap();
    record_run_end(&scene.root, "r1", &before).unwrap();
}

// spec: P9
#[test]
fn a_run_is_undone_and_nothing_else() {
    let scene = WorktreeFixture::new();
    simulate_run(&scene);
    fs::write(scene.root.join("later"), "another file").unwrap();
    let head = scene.run_git(&["rev-parse", "HEAD"]);
    let undone = undo_run(&scene.root, "r1").unwrap();
    assert_eq!(undone.files, ["file", "old", "sub/new"].map(PathBuf::from));
    let read = |name: &str| fs::read_to_string(scene.root.join(name)).unwrap();
    assert_eq!((read("file"), read("old"), read("later")), ("first".into(), "old".into(), "another file".into()));
    assert_eq!((read("mine"), scene.run_git(&["rev-parse", "HEAD"])), ("uncommitted before".into(), head));
    assert!(!scene.root.join("sub").exists());
    assert_eq!(run_git(&scene.root, &["show", &format!("{}:sub/new", undone.backup_ref)]).unwrap(), "work");
}

// spec: P9
#[test]
fn an_undo_is_refused_if_its_files_were_changed_later() {
    let scene = WorktreeFixture::new();
    simulate_run(&scene);
    fs::write(scene.root.join("file"), "mine now").unwrap();
    let before = scene.user_state();
    let refused = undo_run(&scene.root, "r1").unwrap_err();
    assert!(matches!(&refused, WorktreeError::FilesChangedSince { files } if files == &[PathBuf::from("file")]));
    assert_eq!(scene.user_state(), before);
}

// spec: P9
#[test]
fn a_run_without_both_snapshots_is_not_undone() {
    let scene = WorktreeFixture::new();
    assert!(matches!(undo_run(&scene.root, "r1"), Err(WorktreeError::NoRunSnapshot { .. })));
    record_run_start(&scene.root, "r1", BaseTree::NotNeeded).unwrap();
    assert!(matches!(undo_run(&scene.root, "r1"), Err(WorktreeError::NoEndSnapshot { .. })));
    assert_eq!(read_run_trees(&scene.root, "r1").unwrap().unwrap().after, None);
}

// spec: P9
#[test]
fn only_the_newest_runs_keep_snapshots_and_undo_backups_stay() {
    let scene = WorktreeFixture::new();
    let tree = scene.run_git(&["rev-parse", "HEAD^{tree}"]);
    let old =
        (0..MAX_REMEMBERED_RUNS).map(|number| RefUpdate::create(format!("{RUN_REF_PREFIX}r{number:03}/before"), &tree));
    let kept = RefUpdate::create(format!("{RUN_REF_PREFIX}r000/undone/1"), &tree);
    git::update_refs(&scene.root, &old.chain([kept]).collect::<Vec<_>>(), "test").unwrap();
    let before = record_run_start(&scene.root, "s", BaseTree::NotNeeded).unwrap();
    record_run_end(&scene.root, "s", &before).unwrap();
    assert_eq!(read_run_trees(&scene.root, "r000").unwrap(), None);
    assert!(
        read_run_trees(&scene.root, "r001").unwrap().is_some() && read_run_trees(&scene.root, "s").unwrap().is_some()
    );
    assert!(git::resolve_object(&scene.root, &format!("{RUN_REF_PREFIX}r000/undone/1")).unwrap().is_some());
    let log = scene.run_git(&["log", "--all", "--oneline"]);
    assert_eq!(log.lines().count(), 1, "the snapshots are not part of the history: {log}");
}

// finding: N41
#[test]
fn a_file_that_was_ignored_before_the_run_is_never_removed() {
    let scene = WorktreeFixture::new();
    fs::write(scene.root.join(".gitignore"), ".env\nout/\n").unwrap();
    fs::write(scene.root.join(".env"), "SECRET=1").unwrap();
    fs::create_dir_all(scene.root.join("out/deep")).unwrap();
    fs::write(scene.root.join("out/deep/cache"), "built").unwrap();
    fs::create_dir(scene.root.join(".venv")).unwrap();
    fs::write(scene.root.join(".venv/.gitignore"), "*\n").unwrap();
    fs::write(scene.root.join(".venv/python"), "a program").unwrap();
    let before = record_run_start(&scene.root, "r1", BaseTree::NotNeeded).unwrap();
    fs::remove_file(scene.root.join(".gitignore")).unwrap();
    fs::remove_file(scene.root.join(".venv/.gitignore")).unwrap();
    fs::write(scene.root.join("new"), "work").unwrap();
    record_run_end(&scene.root, "r1", &before).unwrap();
    let undone = undo_run(&scene.root, "r1").unwrap();
    assert_eq!(undone.files, [".gitignore", "new"].map(PathBuf::from));
    let read = |name: &str| fs::read_to_string(scene.root.join(name)).unwrap();
    assert_eq!((read(".env"), read("out/deep/cache")), ("SECRET=1".to_owned(), "built".to_owned()));
    assert_eq!((read(".venv/python"), read(".gitignore")), ("a program".to_owned(), ".env\nout/\n".to_owned()));
}

// finding: N41
#[test]
fn a_file_that_the_agent_starts_to_ignore_is_restored_too() {
    let scene = WorktreeFixture::new();
    fs::write(scene.root.join("mine"), "uncommitted").unwrap();
    let before = record_run_start(&scene.root, "r1", BaseTree::NotNeeded).unwrap();
    fs::write(scene.root.join(".gitignore"), "*\n").unwrap();
    fs::write(scene.root.join("mine"), "overwritten").unwrap();
    record_run_end(&scene.root, "r1", &before).unwrap();
    assert_eq!(undo_run(&scene.root, "r1").unwrap().files, [".gitignore", "mine"].map(PathBuf::from));
    assert_eq!(fs::read_to_string(scene.root.join("mine")).unwrap(), "uncommitted");
}

// finding: N41
#[test]
fn files_are_restored_byte_by_byte_without_filters_and_line_end_conversion() {
    let scene = WorktreeFixture::new();
    let ran = scene.root.with_file_name("filter-ran");
    scene.run_git(&["config", "core.autocrlf", "true"]);
    scene.run_git(&["config", "filter.shout.clean", &format!("touch {}; tr a-z A-Z", ran.display())]);
    scene.run_git(&["config", "filter.shout.smudge", &format!("touch {}; cat", ran.display())]);
    fs::write(scene.root.join(".gitattributes"), "*.txt filter=shout text eol=lf\n").unwrap();
    let contents: [(&str, &[u8]); 3] =
        [("a.txt", b"quiet\r\nwords\n"), ("b", b"one\r\ntwo\n\xff\0"), ("odd\nname", b"x")];
    contents.iter().for_each(|(name, content)| fs::write(scene.root.join(name), content).unwrap());
    std::os::unix::fs::symlink("b", scene.root.join("link")).unwrap();
    fs::write(scene.root.join("private"), "secret").unwrap();
    fs::set_permissions(scene.root.join("private"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = record_run_start(&scene.root, "r1", BaseTree::NotNeeded).unwrap();
    contents.iter().for_each(|(name, _)| fs::write(scene.root.join(name), "changed").unwrap());
    fs::remove_file(scene.root.join("link")).unwrap();
    fs::write(scene.root.join("link"), "a file now").unwrap();
    fs::remove_file(scene.root.join("private")).unwrap();
    record_run_end(&scene.root, "r1", &before).unwrap();
    undo_run(&scene.root, "r1").unwrap();
    for (name, content) in contents {
        assert_eq!(fs::read(scene.root.join(name)).unwrap(), content, "{name:?}");
    }
    assert_eq!(fs::read_link(scene.root.join("link")).unwrap(), Path::new("b"));
    let mode = scene.root.join("private").metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode, fs::read_to_string(scene.root.join("private")).unwrap()), (0o600, "secret".to_owned()));
    assert!(!ran.exists(), "no filter of the repository runs");
}

// finding: N41
#[test]
fn a_nested_repository_and_a_huge_file_are_named_as_left_out_and_a_pipe_blocks_nothing() {
    let scene = WorktreeFixture::new();
    fs::create_dir(scene.root.join("inner")).unwrap();
    run_git(&scene.root.join("inner"), &["init", "--quiet"]).unwrap();
    fs::write(scene.root.join("inner/file"), "theirs").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, scene.root.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    fs::File::create(scene.root.join("huge")).unwrap().set_len(1 << 40).unwrap();
    let before = record_run_start(&scene.root, "r1", BaseTree::NotNeeded).unwrap();
    fs::write(scene.root.join("huge"), "small now").unwrap();
    fs::write(scene.root.join("new"), "work").unwrap();
    record_run_end(&scene.root, "r1", &before).unwrap();
    let undone = undo_run(&scene.root, "r1").unwrap();
    assert_eq!(undone.files, [PathBuf::from("new")], "a file that was left out is not removed");
    let left_out: Vec<String> =
        undone.left_out.iter().map(|left| format!("{}: {}", left.path.display(), left.reason)).collect();
    assert_eq!(left_out, ["huge: larger than 256 MB", "inner: nested repository"]);
    assert!(scene.root.join("inner/file").exists() && scene.root.join("huge").exists());
}

// finding: N37
#[test]
fn a_second_undo_says_that_the_run_was_undone() {
    let scene = WorktreeFixture::new();
    simulate_run(&scene);
    undo_run(&scene.root, "r1").unwrap();
    assert!(matches!(undo_run(&scene.root, "r1"), Err(WorktreeError::AlreadyUndone { .. })));
}
