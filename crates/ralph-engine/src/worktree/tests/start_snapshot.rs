//! The snapshot before a run is the same as one that reads every file, and the one after the run notices every change.
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use proptest::collection::vec;
use proptest::prelude::*;

use crate::git::testing::{commit_all, new_repository};
use crate::git::{IndexFile, run_git, write_worktree_tree};
use crate::worktree::exact_snapshot::{snapshot_files, snapshot_files_since};
use crate::worktree::run_history::{BaseTree, record_run_end, record_run_start, undo_run};
use crate::worktree::snapshot_files::inspect_paths;
use crate::worktree::start_snapshot::{
    StartLimits, find_unchanged_files, take_start_snapshot, take_start_snapshot_with,
};
use crate::worktree::tests::worktree_fixture::WorktreeFixture;

/// No file is read only because there are few.
const ASK_GIT: StartLimits = StartLimits { files: 0, bytes: 0 };

/// Makes the index newer than all files. The change times of files cannot be set.
fn let_index_settle(root: &Path) {
    let index = root.join(".git/index");
    let modified = index.metadata().unwrap().modified().unwrap() + Duration::from_secs(60);
    File::options().write(true).open(index).unwrap().set_modified(modified).unwrap();
}

/// Returns the paths whose content was taken from the index.
fn unread_files(root: &Path) -> BTreeSet<PathBuf> {
    let index = IndexFile::read(root).unwrap();
    find_unchanged_files(root, &index).unwrap().stamps.into_keys().collect()
}

/// What a user may do with a file of the repository.
#[derive(Debug, Clone)]
enum FileState {
    Committed,
    Staged,
    Modified,
    ModifiedWithTheSameTimes,
    ReplacedByLink,
    Executable,
    Private,
    Removed,
    Untracked,
    OnlyRemovedFromIndex,
    AssumedUnchanged,
    SkippedInIndex,
}

const STATES: [FileState; 12] = [
    FileState::Committed,
    FileState::Staged,
    FileState::Modified,
    FileState::ModifiedWithTheSameTimes,
    FileState::ReplacedByLink,
    FileState::Executable,
    FileState::Private,
    FileState::Removed,
    FileState::Untracked,
    FileState::OnlyRemovedFromIndex,
    FileState::AssumedUnchanged,
    FileState::SkippedInIndex,
];

const PATHS: [&str; 8] = ["a", "a.b", "a-folder/x", "a-folder/y.ign", "deep/er/z", "f.crlf", "g.up", "odd\nname"];

/// One of them is in effect when files are added, and one at the snapshot.
const ATTRIBUTES: [&str; 5] =
    ["", "*.crlf text\n", "*.up filter=up\n", "* text=auto\n", "*.crlf text eol=crlf\n*.up ident\n"];
const CONTENTS: [&str; 4] = ["one\n", "one\r\ntwo\r\n", "quiet words", "$Id: abc $\n"];

#[derive(Debug, Clone)]
struct Scene {
    files: Vec<(usize, usize)>,
    attributes: (usize, usize),
    autocrlf: (bool, bool),
    ignores: bool,
    /// Otherwise all files are as they were committed.
    is_changed: bool,
    index_version: u8,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let files = vec((0..STATES.len(), 0..CONTENTS.len()), PATHS.len());
    (files, (0..ATTRIBUTES.len(), 0..ATTRIBUTES.len()), any::<(bool, bool)>(), any::<(bool, bool)>(), 2..=4_u8)
        .prop_map(|(files, mut attributes, autocrlf, (ignores, is_changed), index_version)| {
            // A filter that keeps the size of a file and is gone now cannot be found without reading the file.
            if ATTRIBUTES[attributes.0].contains("filter") {
                attributes.1 = attributes.0;
            }
            Scene { files, attributes, autocrlf, ignores, is_changed, index_version }
        })
}

impl Scene {
    fn build(&self) -> (tempfile::TempDir, PathBuf) {
        let (temp, root) = new_repository();
        run_git(&root, &["config", "filter.up.clean", "tr a-z A-Z"]).unwrap();
        self.configure(&root, self.attributes.0, self.autocrlf.0);
        for (path, (_, content)) in PATHS.iter().zip(&self.files) {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), CONTENTS[*content]).unwrap();
        }
        commit_all(&root);
        run_git(&root, &["update-index", "--index-version", &self.index_version.to_string()]).unwrap();
        self.configure(&root, self.attributes.1, self.autocrlf.1);
        if self.is_changed && self.ignores {
            fs::write(root.join(".gitignore"), "*.ign\n*.new\n").unwrap();
        }
        for (path, (state, _)) in PATHS.iter().zip(&self.files).filter(|_| self.is_changed) {
            change_file(&root, path, &STATES[*state]);
        }
        let_index_settle(&root);
        (temp, root)
    }

    fn converts(&self) -> bool {
        self.autocrlf.0 || self.attributes != (0, 0)
    }

    fn configure(&self, root: &Path, attributes: usize, autocrlf: bool) {
        let file = root.join(".git/info/attributes");
        let _ = fs::remove_file(&file);
        let _ = run_git(root, &["config", "--unset", "core.autocrlf"]);
        if attributes > 0 {
            fs::write(file, ATTRIBUTES[attributes]).unwrap();
        }
        if autocrlf {
            run_git(root, &["config", "core.autocrlf", "true"]).unwrap();
        }
    }
}

fn change_file(root: &Path, path: &str, state: &FileState) {
    let file = root.join(path);
    let git = |args: &[&str]| drop(run_git(root, &[args, &["--", path]].concat()).unwrap());
    match state {
        FileState::Committed => {}
        FileState::Staged => {
            fs::write(&file, "staged").unwrap();
            git(&["add", "--force"]);
        }
        FileState::Modified => fs::write(&file, "modified").unwrap(),
        FileState::ModifiedWithTheSameTimes => overwrite_secretly(&file),
        FileState::ReplacedByLink => {
            fs::remove_file(&file).unwrap();
            symlink("elsewhere", &file).unwrap();
        }
        FileState::Executable => fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap(),
        FileState::Private => fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap(),
        FileState::Removed => fs::remove_file(&file).unwrap(),
        FileState::Untracked => fs::write(root.join(format!("{path}.new")), "new").unwrap(),
        FileState::OnlyRemovedFromIndex => git(&["rm", "--quiet", "--cached", "--force"]),
        FileState::AssumedUnchanged => {
            git(&["update-index", "--assume-unchanged"]);
            fs::write(&file, "hidden").unwrap();
        }
        FileState::SkippedInIndex => {
            git(&["update-index", "--skip-worktree"]);
            fs::write(&file, "hidden").unwrap();
        }
    }
}

/// Replaces the content with another one of the same size, and restores the time of the last change.
fn overwrite_secretly(file: &Path) {
    let found = file.metadata().unwrap();
    let content: Vec<u8> = fs::read(file).unwrap().iter().map(|byte| byte ^ 1).collect();
    fs::write(file, content).unwrap();
    let modified =
        UNIX_EPOCH + Duration::new(found.mtime().try_into().unwrap(), found.mtime_nsec().try_into().unwrap());
    File::options().write(true).open(file).unwrap().set_modified(modified).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 60, failure_persistence: None, ..Default::default() })]

    // finding: N41, N42
    #[test]
    fn a_start_snapshot_is_the_same_as_one_that_reads_every_file(scene in scenes()) {
        let (_temp, root) = scene.build();
        let expected = snapshot_files(&root).unwrap();
        for limits in [StartLimits::DEFAULT, ASK_GIT] {
            let start = take_start_snapshot_with(&root, BaseTree::Needed, limits).unwrap();
            let now = &start.exact;
            prop_assert_eq!(&now.files.entries, &expected.files.entries);
            prop_assert_eq!((&now.tree, &now.notes, &now.ignored), (&expected.tree, &expected.notes, &expected.ignored));
            prop_assert!(scene.is_changed || scene.converts() || start.base_tree.is_some());
            if let Some(base) = start.base_tree.clone() {
                prop_assert_eq!(base, write_worktree_tree(&root).unwrap());
            }
            prop_assert_eq!(snapshot_files_since(&root, now).unwrap(), expected.tree.clone());
        }
    }
}

// finding: N42
#[test]
fn only_files_that_may_have_changed_are_read() {
    let (_temp, root) = new_repository();
    for number in 0..300 {
        fs::write(root.join(format!("f{number}")), number.to_string()).unwrap();
    }
    commit_all(&root);
    let_index_settle(&root);
    fs::write(root.join("f7"), "x").unwrap();
    overwrite_secretly(&root.join("f123"));
    let unread = unread_files(&root);
    assert_eq!(unread.len(), 299);
    assert!(!unread.contains(Path::new("f7")) && !unread.contains(Path::new("f123")));
    assert_eq!(
        take_start_snapshot(&root, BaseTree::NotNeeded).unwrap().exact.tree,
        snapshot_files(&root).unwrap().tree
    );
}

// finding: N42
#[test]
fn after_a_run_only_files_with_another_stamp_are_read() {
    let (_temp, root) = new_repository();
    for number in 0..300 {
        fs::write(root.join(format!("f{number}")), number.to_string()).unwrap();
    }
    commit_all(&root);
    fs::write(root.join("untracked"), "mine").unwrap();
    // The clock must have advanced since the last change.
    let before = loop {
        let start = take_start_snapshot(&root, BaseTree::NotNeeded).unwrap().exact.files;
        if start.stamps.len() == 302 {
            break start;
        }
    };
    fs::write(root.join("f7"), "x").unwrap();
    overwrite_secretly(&root.join("f123"));
    fs::remove_file(root.join("f9")).unwrap();
    fs::write(root.join("new"), "").unwrap();
    let paths: BTreeSet<PathBuf> = before.entries.keys().cloned().chain([PathBuf::from("new")]).collect();
    let read = inspect_paths(&root, paths.clone(), &paths, &before).unwrap().changed;
    let names: Vec<PathBuf> = read.into_iter().map(|file| file.path).collect();
    assert_eq!(names, ["f123", "f7", "new"].map(PathBuf::from));
}

// finding: N42
#[test]
fn a_file_that_changed_when_the_index_was_written_is_read() {
    let (_temp, root) = new_repository();
    commit_all(&root);
    let changed = root.join("file").metadata().unwrap();
    let at = UNIX_EPOCH + Duration::new(changed.ctime().try_into().unwrap(), changed.ctime_nsec().try_into().unwrap());
    let set_index_time =
        |at| File::options().write(true).open(root.join(".git/index")).unwrap().set_modified(at).unwrap();
    set_index_time(at);
    assert!(unread_files(&root).is_empty());
    // A file system with whole seconds may have cut off the rest.
    set_index_time(UNIX_EPOCH + Duration::from_secs(u64::try_from(changed.ctime()).unwrap() + 1));
    assert!(unread_files(&root).is_empty());
    set_index_time(at + Duration::from_secs(60));
    assert_eq!(unread_files(&root).len(), 1);
}

// finding: N42, N11
#[test]
fn a_change_with_restored_times_is_undone_also_in_the_same_clock_tick() {
    let scene = WorktreeFixture::new();
    for number in 0..20 {
        let run = format!("r{number}");
        fs::write(scene.root.join("file"), format!("good {number:02}")).unwrap();
        let before = record_run_start(&scene.root, &run, BaseTree::NotNeeded).unwrap();
        overwrite_secretly(&scene.root.join("file"));
        record_run_end(&scene.root, &run, &before).unwrap();
        assert_eq!(undo_run(&scene.root, &run).unwrap().files, [PathBuf::from("file")]);
        assert_eq!(fs::read_to_string(scene.root.join("file")).unwrap(), format!("good {number:02}"));
    }
}

// finding: N42, N11
#[test]
fn an_agent_that_forges_the_index_and_the_attributes_does_not_hide_its_changes() {
    let scene = WorktreeFixture::new();
    let before = record_run_start(&scene.root, "r1", BaseTree::NotNeeded).unwrap();
    fs::write(scene.root.join(".gitattributes"), "* filter=nothing -diff\n").unwrap();
    scene.run_git(&["config", "filter.nothing.clean", "printf first"]);
    scene.run_git(&["config", "core.trustctime", "false"]);
    overwrite_secretly(&scene.root.join("file"));
    scene.run_git(&["add", "file"]);
    fs::write(scene.root.join(".git/info/exclude"), "*\n").unwrap();
    let_index_settle(&scene.root);
    record_run_end(&scene.root, "r1", &before).unwrap();
    let files = undo_run(&scene.root, "r1").unwrap().files;
    assert_eq!(files, ["file"].map(PathBuf::from), "ignored new files are not part of the run");
    assert_eq!(fs::read_to_string(scene.root.join("file")).unwrap(), "first");
}

// finding: N42
#[test]
fn a_folder_that_became_a_link_is_undone() {
    let scene = WorktreeFixture::new();
    fs::create_dir(scene.root.join("src")).unwrap();
    fs::write(scene.root.join("src/main"), "code").unwrap();
    commit_all(&scene.root);
    let outside = scene.root.with_file_name("outside");
    let before = record_run_start(&scene.root, "r1", BaseTree::NotNeeded).unwrap();
    fs::rename(scene.root.join("src"), &outside).unwrap();
    symlink(&outside, scene.root.join("src")).unwrap();
    fs::write(outside.join("main"), "changed").unwrap();
    record_run_end(&scene.root, "r1", &before).unwrap();
    undo_run(&scene.root, "r1").unwrap();
    assert!(scene.root.join("src").symlink_metadata().unwrap().is_dir());
    assert_eq!(fs::read_to_string(scene.root.join("src/main")).unwrap(), "code");
    assert_eq!(fs::read_to_string(outside.join("main")).unwrap(), "changed");
}

// finding: N42
#[test]
fn a_clean_work_tree_is_its_own_base() {
    let scene = WorktreeFixture::new();
    let start = take_start_snapshot(&scene.root, BaseTree::Needed).unwrap();
    assert_eq!(start.base_tree, Some(scene.run_git(&["rev-parse", "HEAD^{tree}"])));
}

// finding: N42
#[test]
fn new_files_are_part_of_the_base_unless_git_may_convert_them() {
    let scene = WorktreeFixture::new();
    let base = || take_start_snapshot(&scene.root, BaseTree::Needed).unwrap().base_tree;
    let of_git = || write_worktree_tree(&scene.root).unwrap();
    fs::write(scene.root.join("new"), "").unwrap();
    assert_eq!(base(), Some(of_git()));
    fs::create_dir(scene.root.join("sub")).unwrap();
    for attributes in [".gitattributes", "sub/.gitattributes", ".git/info/attributes"] {
        fs::write(scene.root.join("sub/other"), "").unwrap();
        fs::create_dir_all(scene.root.join(".git/info")).unwrap();
        fs::write(scene.root.join(attributes), "*.z binary\n").unwrap();
        assert_eq!(base(), None, "{attributes}");
        fs::remove_file(scene.root.join(attributes)).unwrap();
        assert_eq!(base(), Some(of_git()));
    }
    for (setting, value) in [("core.autocrlf", "input"), ("core.fileMode", "false"), ("core.symlinks", "true")] {
        scene.run_git(&["config", setting, value]);
        assert_eq!(base(), None, "{setting}");
        scene.run_git(&["config", "--unset", setting]);
    }
    // Git would keep a file that HEAD contains, and not add one that is ignored.
    fs::write(scene.root.join(".git/info/exclude"), "file\n").unwrap();
    scene.run_git(&["rm", "--quiet", "--cached", "file"]);
    assert_eq!(base(), None);
}

// finding: N42
#[test]
fn the_base_of_a_new_repository_is_the_tree_that_git_would_commit() {
    let (_temp, root) = new_repository();
    let base = || take_start_snapshot(&root, BaseTree::Needed).unwrap().base_tree;
    assert_eq!(base(), Some(write_worktree_tree(&root).unwrap()));
    fs::write(root.join(".gitignore"), "*.o\n").unwrap();
    fs::write(root.join("a.o"), "").unwrap();
    fs::write(root.join("b"), "").unwrap();
    assert_eq!(base(), Some(write_worktree_tree(&root).unwrap()));
    run_git(&root, &["add", "--force", "a.o"]).unwrap();
    assert_eq!(base(), None);
}
