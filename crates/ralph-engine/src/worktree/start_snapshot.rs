//! Takes the snapshot before a run. The user's index is trusted then, and no agent works yet: files that git knows to be
//! unchanged are not read, and everything that git does happens at the same time.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::exact_snapshot::{ExactSnapshot, StoredTree, snapshot_files, snapshot_listed_files};
use super::run_history::BaseTree;
use super::snapshot_files::{MAX_FILE_BYTES, RealFolders, SnapshotFiles, StampedFile, inspect_paths};
use super::snapshot_stamp::{SnapshotStamp, SystemMoment};
use crate::git::{self, Conversion, IndexEntry, IndexFile, ListedFiles, run_both};

/// Up to this many tracked files, and bytes in them, are read without finding out first whether they have changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartLimits {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

impl StartLimits {
    pub(super) const DEFAULT: Self = Self { files: 200, bytes: 4 << 20 };
}

/// The snapshot before a run.
pub(super) struct StartSnapshot {
    pub(super) exact: ExactSnapshot,
    /// The tree that git would commit, if it is known.
    pub(super) base_tree: Option<String>,
}

/// Takes a snapshot of all files that are not ignored now.
pub(super) fn take_start_snapshot(root: &Path, base: BaseTree) -> Result<StartSnapshot, WorktreeError> {
    take_start_snapshot_with(root, base, StartLimits::DEFAULT)
}

pub(super) fn take_start_snapshot_with(
    root: &Path,
    base: BaseTree,
    limits: StartLimits,
) -> Result<StartSnapshot, WorktreeError> {
    let moment = SystemMoment::now();
    let Some(index) = IndexFile::read(root) else {
        return Ok(StartSnapshot { exact: snapshot_files(root)?, base_tree: None });
    };
    let tracked: Vec<PathBuf> = index.entries.iter().map(|entry| entry.path.clone()).collect();
    let reads_all = are_few_files(root, &index, limits);
    let stored = index.plain_files().filter(|files| !files.is_empty());
    let list_conversions = || {
        let is_needed = base == BaseTree::Needed || !reads_all;
        let paths: BTreeSet<&Path> = tracked.iter().map(PathBuf::as_path).collect();
        is_needed.then(|| git::list_converted_files(root, &paths)).transpose()
    };
    let find_known = || if reads_all { read_all_files(root, &tracked) } else { find_unchanged_files(root, &index) };
    let write_tree = || stored.as_ref().and_then(|entries| git::write_exact_tree(root, entries).ok());
    let (listed, ((converted, tree), known)) = run_both(
        || git::list_untracked_files(root),
        || run_both(|| run_both(list_conversions, write_tree), find_known),
    );
    let (listed, converted, mut known) = (listed?, converted?, known?);
    if !reads_all {
        let is_exact = |path: &PathBuf| converted.as_ref().is_some_and(|all| all.get(path) != Some(&Conversion::Any));
        known.stamps.retain(|path, _| is_exact(path));
    }
    let is_kept = converted.is_some_and(|all| all.is_empty());
    let stored = stored.zip(tree).map(|(entries, tree)| StoredTree { tree, entries });
    let index_tree = stored.as_ref().map(|stored| stored.tree.clone());
    let adds_all = base == BaseTree::Needed && adds_all_files(root, &index, &listed);
    let exact = snapshot_listed_files(root, ListedFiles { tracked, ..listed }, moment, &known, stored)?;
    // All files are in the snapshot, and it is that of the index: git would add no other file.
    let is_clean = is_kept && exact.notes.left_out.is_empty();
    let base_tree = index_tree.filter(|tree| is_clean && *tree == exact.tree);
    let is_base = || adds_all && is_base_tree(root, &index, &exact);
    let base_tree = base_tree.or_else(|| is_base().then(|| exact.tree.clone()));
    Ok(StartSnapshot { exact, base_tree })
}

/// Returns whether git, which begins with the files of HEAD, would add exactly the files of this index and those that it lists.
fn adds_all_files(root: &Path, index: &IndexFile, listed: &ListedFiles) -> bool {
    let is_new = || index.entries.is_empty() && git::is_unborn(root);
    index.has_only_files() && (listed.ignored.is_empty() || is_new())
}

/// Returns whether git would commit the tree of a snapshot with all files, as far as that is known without starting git.
fn is_base_tree(root: &Path, index: &IndexFile, exact: &ExactSnapshot) -> bool {
    let of_index = index.entries.iter().map(|entry| entry.path.as_path());
    let paths = of_index.chain(exact.files.entries.keys().map(PathBuf::as_path)).collect();
    exact.notes.left_out.is_empty() && git::keeps_all_bytes(root, &paths)
}

/// Returns whether all tracked files can be read as quickly as git can be asked.
fn are_few_files(root: &Path, index: &IndexFile, limits: StartLimits) -> bool {
    let size = |entry: &IndexEntry| root.join(&entry.path).symlink_metadata().map_or(0, |found| found.len());
    index.entries.len() <= limits.files && index.entries.iter().map(size).sum::<u64>() <= limits.bytes
}

fn read_all_files(root: &Path, paths: &[PathBuf]) -> Result<SnapshotFiles, WorktreeError> {
    let paths: BTreeSet<PathBuf> = paths.iter().cloned().collect();
    Ok(inspect_paths(root, paths.clone(), &paths, &SnapshotFiles::default())?.store(root)?.0)
}

/// Returns the files with the content that the index names. The repository must contain it with the size of the file: git
/// could have converted the line ends with settings that are gone. (A filter that is gone and kept the size is not noticed.)
pub(super) fn find_unchanged_files(root: &Path, index: &IndexFile) -> Result<SnapshotFiles, WorktreeError> {
    let mut folders = RealFolders::new(root);
    let mut candidates = Vec::new();
    for entry in &index.entries {
        let Some(found) = folders.find_file(&entry.path) else { continue };
        let has_kind = match entry.content.mode.as_str() {
            "120000" => found.is_symlink(),
            "100644" | "100755" => found.is_file() && is_executable(&found) == (entry.content.mode == "100755"),
            _ => false,
        };
        if has_kind && found.len() <= MAX_FILE_BYTES && index.is_unchanged(entry, &found) {
            candidates.push((entry, SnapshotStamp::of(&found), found.len()));
        }
    }
    let objects: BTreeSet<&str> = candidates.iter().map(|(entry, ..)| entry.content.object.as_str()).collect();
    let sizes: BTreeMap<String, u64> = git::read_object_sizes(root, &objects)?;
    let unchanged = candidates.into_iter().filter(|(entry, _, size)| sizes.get(&entry.content.object) == Some(size));
    let to_file = |(entry, stamp, _): (&IndexEntry, SnapshotStamp, u64)| StampedFile {
        path: entry.path.clone(),
        stamp,
        entry: entry.content.clone(),
    };
    Ok(SnapshotFiles::from_files(unchanged.map(to_file).collect()))
}

fn is_executable(found: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o100 != 0
}
