//! Decides which paths a snapshot contains, and reads only the files that are not known to be unchanged.
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::fs::Metadata;
use std::iter::Peekable;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::exact_snapshot::{LeftOutPath, SnapshotNotes};
use super::snapshot_stamp::{SnapshotStamp, SystemMoment};
use crate::git::{self, ExactFile, ExactFileKind, TreeEntry};

/// Larger files that git does not track are not copied into the repository, alone or together.
const MAX_UNTRACKED_BYTES: u64 = 64 << 20;

/// Larger files are left out.
pub(super) const MAX_FILE_BYTES: u64 = 256 << 20;

pub(super) const TOO_LARGE: &str = "larger than 256 MB";

/// The files of a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SnapshotFiles {
    pub(super) entries: BTreeMap<PathBuf, TreeEntry>,
    /// The stamps of the files whose every later change is noticed.
    pub(super) stamps: BTreeMap<PathBuf, SnapshotStamp>,
}

/// A file with the stamp that it had before it was read.
pub(super) struct StampedFile {
    pub(super) path: PathBuf,
    pub(super) stamp: SnapshotStamp,
    pub(super) entry: TreeEntry,
}

impl SnapshotFiles {
    pub(super) fn from_files(files: Vec<StampedFile>) -> Self {
        let stamps = files.iter().map(|file| (file.path.clone(), file.stamp)).collect();
        Self { stamps, entries: files.into_iter().map(|file| (file.path, file.entry)).collect() }
    }

    /// Forgets the stamps of files that were changed just before `moment`.
    pub(super) fn forget_unsettled_stamps(&mut self, moment: SystemMoment) {
        self.stamps.retain(|_, stamp| stamp.is_settled(moment));
    }
}

/// Finds the values of ascending paths. Comparing paths is slow, and a search of the map would compare each path many times.
struct AscendingLookup<'a, V> {
    rest: Peekable<btree_map::Iter<'a, PathBuf, V>>,
}

impl<'a, V> AscendingLookup<'a, V> {
    fn new(map: &'a BTreeMap<PathBuf, V>) -> Self {
        Self { rest: map.iter().peekable() }
    }

    fn find(&mut self, path: &Path) -> Option<&'a V> {
        while self.rest.next_if(|(next, _)| next.as_path() < path).is_some() {}
        self.rest.next_if(|(next, _)| next.as_path() == path).map(|(_, value)| value)
    }
}

#[derive(Default)]
pub(super) struct InspectedPaths {
    unchanged: Vec<StampedFile>,
    /// The files that must be read.
    pub(super) changed: Vec<ExactFile>,
    changed_stamps: Vec<SnapshotStamp>,
    notes: SnapshotNotes,
}

impl InspectedPaths {
    /// Stores the files that may have changed.
    pub(super) fn store(self, root: &Path) -> Result<(SnapshotFiles, SnapshotNotes), WorktreeError> {
        let mut stored = git::store_exact_files(root, &self.changed)?;
        let mut files = self.unchanged;
        for (file, stamp) in self.changed.into_iter().zip(self.changed_stamps) {
            if let Some(entry) = stored.remove(&file.path) {
                files.push(StampedFile { path: file.path, stamp, entry });
            }
        }
        Ok((SnapshotFiles::from_files(files), self.notes))
    }
}

/// Decides which paths a snapshot contains, without reading a file. Paths below a link are not part of the work tree.
/// `known_paths` contains all paths of `known`.
pub(super) fn inspect_paths(
    root: &Path,
    paths: BTreeSet<PathBuf>,
    known_paths: &BTreeSet<PathBuf>,
    known: &SnapshotFiles,
) -> Result<InspectedPaths, WorktreeError> {
    let mut inspected = InspectedPaths::default();
    let mut folders = RealFolders::new(root);
    let (mut stamps, mut entries) = (AscendingLookup::new(&known.stamps), AscendingLookup::new(&known.entries));
    let mut untracked_bytes = 0;
    for path in paths {
        if ralph_process::is_cancelled() {
            let command = "hash-object".to_owned();
            return Err(git::GitError::Stopped { command }.into());
        }
        let Some(found) = folders.find_file(&path) else { continue };
        let stamp = SnapshotStamp::of(&found);
        let is_unchanged = stamps.find(&path) == Some(&stamp);
        let unchanged = entries.find(&path).filter(|_| is_unchanged);
        let kind = if unchanged.is_some() { Ok(None) } else { inspect_file(root, &path, &found).map(Some) };
        let kind = match kind {
            Ok(kind) => kind,
            Err(reason) => {
                // A trailing slash marks a nested repository.
                let path = path.components().collect();
                inspected.notes.left_out.push(LeftOutPath { path, reason: reason.to_owned() });
                continue;
            }
        };
        if unchanged.is_none() && !known_paths.contains(&path) {
            untracked_bytes += found.len();
        }
        let mode = found.permissions().mode() & 0o7777;
        if found.is_file() && !matches!(mode, 0o644 | 0o755) {
            inspected.notes.modes.insert(path.clone(), mode);
        }
        if let Some(entry) = unchanged {
            inspected.unchanged.push(StampedFile { path, stamp, entry: entry.clone() });
        } else if let Some(kind) = kind {
            inspected.changed.push(ExactFile { path, kind });
            inspected.changed_stamps.push(stamp);
        }
    }
    if untracked_bytes > MAX_UNTRACKED_BYTES {
        return Err(WorktreeError::TooMuchUncommitted);
    }
    Ok(inspected)
}

/// Finds files in folders that are not links.
pub(super) struct RealFolders<'a> {
    root: &'a Path,
    /// The folder of the last path, and whether it is part of the work tree.
    last: (PathBuf, bool),
    inspected: BTreeMap<PathBuf, bool>,
}

impl<'a> RealFolders<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root, last: (PathBuf::new(), true), inspected: BTreeMap::new() }
    }

    pub(super) fn find_file(&mut self, path: &Path) -> Option<Metadata> {
        let folder = path.parent().unwrap_or(Path::new(""));
        if self.last.0 != folder {
            self.last = (folder.to_path_buf(), self.is_real(folder));
        }
        if self.last.1 { self.root.join(path).symlink_metadata().ok() } else { None }
    }

    fn is_real(&mut self, folder: &Path) -> bool {
        let Some(parent) = folder.parent() else { return true };
        if let Some(is_real) = self.inspected.get(folder) {
            return *is_real;
        }
        let is_folder = || self.root.join(folder).symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_real = is_folder() && self.is_real(parent);
        self.inspected.insert(folder.to_path_buf(), is_real);
        is_real
    }
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
