//! Takes snapshots of a work tree with the exact bytes and modes of its files, from which a run can be undone.
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::snapshot_files::{SnapshotFiles, TOO_LARGE, inspect_paths};
use super::snapshot_stamp::SystemMoment;
use crate::git::{self, TreeEntry};

/// The files of a work tree at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExactSnapshot {
    pub(super) files: SnapshotFiles,
    /// The tree with all files.
    pub(super) tree: String,
    pub notes: SnapshotNotes,
    /// Files and folders that existed and were ignored.
    pub ignored: Vec<PathBuf>,
}

/// Properties of files that a tree of git cannot contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotNotes {
    /// The permissions of files that have others than 0644 or 0755.
    pub modes: BTreeMap<PathBuf, u32>,
    pub left_out: Vec<LeftOutPath>,
}

/// A path that a snapshot does not contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutPath {
    pub path: PathBuf,
    pub reason: String,
}

impl SnapshotNotes {
    pub(super) fn has_too_large_file(&self) -> bool {
        self.left_out.iter().any(|left| left.reason == TOO_LARGE)
    }

    /// Returns the notes as bytes: one entry for each path, separated by NUL.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut push = |head: String, path: &Path| {
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        };
        self.modes.iter().for_each(|(path, mode)| push(format!("mode {mode:o}\t"), path));
        self.left_out.iter().for_each(|left| push(format!("left out {}\t", left.reason), &left.path));
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let mut notes = Self::default();
        for entry in bytes.split(|byte| *byte == 0) {
            let Some(at) = memchr::memchr(b'\t', entry) else { continue };
            let (head, path) = entry.split_at(at);
            let path = PathBuf::from(OsString::from_vec(path.get(1..).unwrap_or_default().to_vec()));
            let head = String::from_utf8_lossy(head).into_owned();
            if let Some(mode) = head.strip_prefix("mode ").and_then(|mode| u32::from_str_radix(mode, 8).ok()) {
                notes.modes.insert(path, mode);
            } else if let Some(reason) = head.strip_prefix("left out ") {
                notes.left_out.push(LeftOutPath { path, reason: reason.to_owned() });
            }
        }
        notes
    }
}

/// Takes a snapshot of all files that are not ignored now. Every file is read.
pub(super) fn snapshot_files(root: &Path) -> Result<ExactSnapshot, WorktreeError> {
    let listed = git::list_exact_files(root)?;
    snapshot_listed_files(root, listed, SystemMoment::now(), &SnapshotFiles::default(), None)
}

/// A tree that exists already.
pub(super) struct StoredTree {
    pub(super) tree: String,
    pub(super) entries: BTreeMap<PathBuf, TreeEntry>,
}

/// Takes a snapshot of these files. Those that are as in `known` are not read again; `moment` is before their stamps in `known`
/// were read.
pub(super) fn snapshot_listed_files(
    root: &Path,
    listed: git::ListedFiles,
    moment: SystemMoment,
    known: &SnapshotFiles,
    stored: Option<StoredTree>,
) -> Result<ExactSnapshot, WorktreeError> {
    let git::ListedFiles { tracked, unignored, ignored } = listed;
    let tracked: BTreeSet<PathBuf> = tracked.into_iter().collect();
    let ignored = ignored.into_iter().filter(|path| !tracked.contains(path)).collect();
    let paths: BTreeSet<PathBuf> = tracked.iter().cloned().chain(unignored).collect();
    let inspected = inspect_paths(root, paths, &tracked, known)?;
    let (mut files, notes) = inspected.store(root)?;
    files.forget_unsettled_stamps(moment);
    let tree = match stored.filter(|stored| stored.entries == files.entries) {
        Some(stored) => stored.tree,
        None => git::write_exact_tree(root, &files.entries)?,
    };
    Ok(ExactSnapshot { files, tree, notes, ignored })
}

/// Takes a snapshot after a run and returns its tree. Paths that were ignored or left out before the run stay out, and what was in the
/// snapshot before the run stays in, whatever the ignore rules are now. Files that have not changed are not read again.
pub(super) fn snapshot_files_since(root: &Path, before: &ExactSnapshot) -> Result<String, WorktreeError> {
    let git::ListedFiles { tracked, unignored, .. } = git::list_exact_files(root)?;
    let excluded: BTreeSet<&Path> = before.excluded_paths().collect();
    let is_excluded = |path: &Path| path.ancestors().any(|part| excluded.contains(part));
    let candidates = tracked.iter().cloned().chain(unignored);
    let candidates = candidates.filter(|path| !is_excluded(path) || before.files.entries.contains_key(path));
    let paths: BTreeSet<PathBuf> = candidates.chain(before.files.entries.keys().cloned()).collect();
    let known_paths = before.files.entries.keys().cloned().chain(tracked).collect();
    let inspected = inspect_paths(root, paths, &known_paths, &before.files)?;
    let (files, _) = inspected.store(root)?;
    if files.entries == before.files.entries {
        return Ok(before.tree.clone());
    }
    Ok(git::write_exact_tree(root, &files.entries)?)
}

impl ExactSnapshot {
    /// Returns the paths that existed and are not part of the snapshot.
    fn excluded_paths(&self) -> impl Iterator<Item = &Path> {
        let left_out = self.notes.left_out.iter().map(|left| left.path.as_path());
        self.ignored.iter().map(PathBuf::as_path).chain(left_out)
    }
}

/// Returns the current entries of some paths. Paths at which nothing is are left out.
pub(super) fn read_current_entries(
    root: &Path,
    paths: impl IntoIterator<Item = PathBuf>,
) -> Result<BTreeMap<PathBuf, TreeEntry>, WorktreeError> {
    let paths: BTreeSet<PathBuf> = paths.into_iter().collect();
    let inspected = inspect_paths(root, paths.clone(), &paths, &SnapshotFiles::default())?;
    Ok(inspected.store(root)?.0.entries)
}
