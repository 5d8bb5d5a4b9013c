//! Takes snapshots of a work tree with the exact bytes and modes of its files, from which a run can be undone.
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use crate::git::{self, ExactFile, ExactFileKind, TreeEntry};

/// Larger files that git does not track are not copied into the repository, alone or together.
const MAX_UNTRACKED_BYTES: u64 = 64 << 20;

/// Larger files are left out.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The files of a work tree at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExactSnapshot {
    pub entries: BTreeMap<PathBuf, TreeEntry>,
    pub notes: SnapshotNotes,
    /// Files and folders that existed and were ignored.
    pub ignored: Vec<PathBuf>,
}

/// What a tree of git cannot contain.
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

const TOO_LARGE: &str = "larger than 256 MB";

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

/// Takes a snapshot of all files that are not ignored now.
pub fn snapshot_files(root: &Path) -> Result<ExactSnapshot, WorktreeError> {
    let git::ListedFiles { tracked, unignored, ignored } = git::list_exact_files(root)?;
    let tracked: BTreeSet<PathBuf> = tracked.into_iter().collect();
    let ignored = ignored.into_iter().filter(|path| !tracked.contains(path)).collect();
    let paths: BTreeSet<PathBuf> = tracked.iter().cloned().chain(unignored).collect();
    let inspected = inspect_paths(root, paths, &tracked)?;
    let entries = git::store_exact_files(root, &inspected.files)?;
    Ok(ExactSnapshot { entries, notes: inspected.notes, ignored })
}

/// Takes a snapshot after a run. What was ignored or left out before the run stays out, and what was in the snapshot before the
/// run stays in, whatever the ignore rules are now.
pub fn snapshot_files_since(root: &Path, before: &ExactSnapshot) -> Result<ExactSnapshot, WorktreeError> {
    let git::ListedFiles { tracked, unignored, ignored } = git::list_exact_files(root)?;
    let excluded: BTreeSet<&Path> = before.excluded_paths().collect();
    let is_excluded = |path: &Path| path.ancestors().any(|part| excluded.contains(part));
    let candidates = tracked.iter().cloned().chain(unignored);
    let candidates = candidates.filter(|path| before.entries.contains_key(path) || !is_excluded(path));
    let paths: BTreeSet<PathBuf> = candidates.chain(before.entries.keys().cloned()).collect();
    let known = before.entries.keys().cloned().chain(tracked).collect();
    let inspected = inspect_paths(root, paths, &known)?;
    let entries = git::store_exact_files(root, &inspected.files)?;
    Ok(ExactSnapshot { entries, notes: inspected.notes, ignored })
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
    let inspected = inspect_paths(root, paths.clone(), &paths)?;
    Ok(git::store_exact_files(root, &inspected.files)?)
}

#[derive(Default)]
struct InspectedPaths {
    files: Vec<ExactFile>,
    notes: SnapshotNotes,
}

/// Decides which paths a snapshot contains, without reading a file.
fn inspect_paths(
    root: &Path,
    paths: BTreeSet<PathBuf>,
    known: &BTreeSet<PathBuf>,
) -> Result<InspectedPaths, WorktreeError> {
    let mut inspected = InspectedPaths::default();
    let mut untracked_bytes = 0;
    for path in paths {
        if ralph_process::is_cancelled() {
            let command = "hash-object".to_owned();
            return Err(git::GitError::Stopped { command }.into());
        }
        let Ok(found) = root.join(&path).symlink_metadata() else { continue };
        let kind = match inspect_file(root, &path, &found) {
            Ok(kind) => kind,
            Err(reason) => {
                // A trailing slash marks a nested repository.
                let path = path.components().collect();
                inspected.notes.left_out.push(LeftOutPath { path, reason: reason.to_owned() });
                continue;
            }
        };
        if !known.contains(&path) {
            untracked_bytes += found.len();
        }
        let mode = found.permissions().mode() & 0o7777;
        if found.is_file() && !matches!(mode, 0o644 | 0o755) {
            inspected.notes.modes.insert(path.clone(), mode);
        }
        inspected.files.push(ExactFile { path, kind });
    }
    if untracked_bytes > MAX_UNTRACKED_BYTES {
        return Err(WorktreeError::TooMuchUncommitted);
    }
    Ok(inspected)
}

fn inspect_file(root: &Path, path: &Path, found: &Metadata) -> Result<ExactFileKind, &'static str> {
    if found.is_symlink() {
        let target = root.join(path).read_link().map_err(|_| "unreadable link")?;
        return Ok(ExactFileKind::Link(target.into_os_string()));
    }
    if found.is_dir() {
        return Err("nested repository");
    }
    if !found.is_file() {
        return Err("not a regular file");
    }
    if found.len() > MAX_FILE_BYTES {
        return Err(TOO_LARGE);
    }
    git::open_regular_file(&root.join(path)).map_err(|_| "unreadable file")?;
    let is_executable = found.permissions().mode() & 0o100 != 0;
    Ok(if is_executable { ExactFileKind::Executable } else { ExactFileKind::Regular })
}
