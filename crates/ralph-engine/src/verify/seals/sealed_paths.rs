//! The paths of a seal: files with their hashes, the folders above them, paths at which nothing may appear, and the stamps
//! that show whether a file was changed and restored.
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use ralph_core::seal::{Seal, SealedFile, SealedFileKind};
use ralph_util::digest::sha256_hex;

use crate::git::run_both;

/// The sealed paths of a work tree or checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::verify) struct SealedPaths {
    pub(in crate::verify) files: Vec<SealedFile>,
    pub(in crate::verify) folders: Vec<SealedFile>,
    pub(in crate::verify) absent: Vec<String>,
}

impl From<&Seal> for SealedPaths {
    fn from(seal: &Seal) -> Self {
        Self { files: seal.files.clone(), folders: seal.folders.clone(), absent: seal.absent.clone() }
    }
}

/// Returns the kind of each folder above these files, by its path relative to the root.
pub(in crate::verify) fn scan_parent_folders(root: &Path, files: &[SealedFile]) -> io::Result<Vec<SealedFile>> {
    let mut names: BTreeSet<&Path> = BTreeSet::new();
    for file in files {
        let parents = Path::new(&file.path).ancestors().skip(1);
        names.extend(parents.filter(|parent| !parent.as_os_str().is_empty() && parent.parent().is_some()));
    }
    let names: Vec<String> = names.into_iter().filter_map(|name| name.to_str().map(str::to_owned)).collect();
    rescan_folders(root, names.iter().map(String::as_str))
}

/// Returns what is now at the paths of these folders.
pub(in crate::verify) fn rescan_folders<'a>(
    root: &Path,
    names: impl Iterator<Item = &'a str>,
) -> io::Result<Vec<SealedFile>> {
    names.filter_map(|name| describe_folder(root, name).transpose()).collect()
}

fn describe_folder(root: &Path, name: &str) -> io::Result<Option<SealedFile>> {
    let path = root.join(name);
    let Ok(about) = path.symlink_metadata() else { return Ok(None) };
    let (kind, sha256) = if about.is_dir() {
        (SealedFileKind::Folder, String::new())
    } else if about.is_symlink() {
        (SealedFileKind::Link, sha256_hex(fs::read_link(&path)?.as_os_str().as_bytes()))
    } else {
        (SealedFileKind::Other, String::new())
    };
    Ok(Some(SealedFile { path: name.to_owned(), kind, sha256 }))
}

/// From this many files on, two threads read the stamps.
const MIN_FILES_FOR_TWO_THREADS: usize = 1_000;

/// The identity and the times of files, in the order of their names. Reading a file does not change them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::verify) struct FileStamps {
    names: Arc<Vec<String>>,
    stamps: Vec<PathStamp>,
}

/// The stamps at a path: of what is there, and of the target if that is a link. `None` if nothing is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct PathStamp {
    own: Option<InodeStamp>,
    target: Option<Box<InodeStamp>>,
}

/// Device, inode, size, and the times of the last change of content and of the inode. The types of the fields differ between
/// systems.
type InodeStamp = [i128; 5];

impl FileStamps {
    /// Reads the stamps of files and, for links, of their targets. Sorted names are read fastest.
    pub(in crate::verify) fn read(root: &Path, names: Arc<Vec<String>>) -> Self {
        let stamps = if names.len() < MIN_FILES_FOR_TWO_THREADS {
            read_stamps(root, &names)
        } else {
            let (first, second) = names.split_at(names.len() / 2);
            let (first, second) = run_both(|| read_stamps(root, first), || read_stamps(root, second));
            [first, second].concat()
        };
        Self { names, stamps }
    }

    /// Returns the names of the files whose stamps differ. Both must have been read for the same names.
    pub(in crate::verify) fn changed_names(&self, now: &Self) -> Vec<String> {
        let stamps = self.stamps.iter().zip(&now.stamps);
        let changed = self.names.iter().zip(stamps).filter(|(_, (before, now))| before != now);
        changed.map(|(name, _)| name.clone()).collect()
    }
}

fn read_stamps(root: &Path, names: &[String]) -> Vec<PathStamp> {
    let mut folder = OpenFolder::new(root);
    names.iter().map(|name| folder.read_stamp(name)).collect()
}

/// The folder of the last file. Names in it are found faster than whole paths.
struct OpenFolder<'a> {
    root: &'a Path,
    name: Option<&'a str>,
    /// `None` if it cannot be opened.
    folder: Option<OwnedFd>,
}

impl<'a> OpenFolder<'a> {
    fn new(root: &'a Path) -> Self {
        Self { root, name: None, folder: None }
    }

    fn read_stamp(&mut self, name: &'a str) -> PathStamp {
        let (folder_name, file_name) = name.rsplit_once('/').unwrap_or(("", name));
        if self.name != Some(folder_name) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.folder = rustix::fs::open(self.root.join(folder_name), flags, Mode::empty()).ok();
            self.name = Some(folder_name);
        }
        let Some(folder) = &self.folder else { return PathStamp::default() };
        let Ok(own) = rustix::fs::statat(folder, file_name, AtFlags::SYMLINK_NOFOLLOW) else {
            return PathStamp::default();
        };
        let is_link = FileType::from_raw_mode(own.st_mode) == FileType::Symlink;
        let target = is_link.then(|| rustix::fs::statat(folder, file_name, AtFlags::empty()).ok()).flatten();
        PathStamp { own: Some(stamp_of(&own)), target: target.map(|target| Box::new(stamp_of(&target))) }
    }
}

fn stamp_of(about: &Stat) -> InodeStamp {
    let nanos = |seconds: i128, nanos: i128| seconds * 1_000_000_000 + nanos;
    [
        about.st_dev.into(),
        about.st_ino.into(),
        about.st_size.into(),
        nanos(about.st_mtime.into(), about.st_mtime_nsec.into()),
        nanos(about.st_ctime.into(), about.st_ctime_nsec.into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed_file(path: &str) -> SealedFile {
        SealedFile { path: path.to_owned(), kind: SealedFileKind::File, sha256: String::new() }
    }

    // spec: V9
    // finding: N6
    #[test]
    fn every_folder_above_a_file_is_recorded_with_its_kind() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("real/tests")).unwrap();
        std::os::unix::fs::symlink("real", root.path().join("pkg")).unwrap();
        let found = scan_parent_folders(root.path(), &[sealed_file("pkg/tests/a"), sealed_file("top")]).unwrap();
        let kinds: Vec<(&str, SealedFileKind)> = found.iter().map(|file| (file.path.as_str(), file.kind)).collect();
        assert_eq!(kinds, [("pkg", SealedFileKind::Link), ("pkg/tests", SealedFileKind::Folder)]);
    }

    // spec: V15
    #[test]
    fn the_stamps_of_many_files_are_read_by_two_threads() {
        let root = tempfile::tempdir().unwrap();
        let names: Arc<Vec<String>> =
            Arc::new((0..MIN_FILES_FOR_TWO_THREADS).map(|number| format!("{number:04}")).collect());
        let stamps = || FileStamps::read(root.path(), names.clone());
        let before = stamps();
        for name in ["0000", "0499", "0500", "0999"] {
            fs::write(root.path().join(name), "").unwrap();
        }
        assert_eq!(before.changed_names(&stamps()), ["0000", "0499", "0500", "0999"]);
    }

    // spec: V9
    // finding: N7
    #[test]
    fn a_file_that_is_replaced_by_an_equal_one_has_another_stamp_and_a_read_file_has_not() {
        let root = tempfile::tempdir().unwrap();
        for name in ["read", "swapped"] {
            fs::write(root.path().join(name), "same").unwrap();
        }
        let names = Arc::new(["read", "swapped"].map(str::to_owned).to_vec());
        let stamps = || FileStamps::read(root.path(), names.clone());
        let before = stamps();
        fs::read(root.path().join("read")).unwrap();
        fs::write(root.path().join("other"), "same").unwrap();
        fs::rename(root.path().join("other"), root.path().join("swapped")).unwrap();
        assert_eq!(before.changed_names(&stamps()), ["swapped"]);
    }
}
