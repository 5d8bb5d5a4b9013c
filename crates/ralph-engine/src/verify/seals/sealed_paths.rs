//! The paths of a seal: files with their hashes, the folders above them, paths at which nothing may appear, and the stamps
//! that show whether a file was changed and restored.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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

/// The identity and the times of sealed files, by their names. Reading a file does not change them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::verify) struct FileStamps(BTreeMap<String, [FileStamp; 2]>);

/// Device, inode, size, and the times of the last change of content and of the inode; `None` if the file does not exist.
type FileStamp = Option<[i128; 5]>;

impl FileStamps {
    /// Reads the stamps of files and, for links, of their targets.
    pub(in crate::verify) fn read<'a>(root: &Path, names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.collect();
        if names.len() < MIN_FILES_FOR_TWO_THREADS {
            return Self(read_stamps(root, &names).into_iter().collect());
        }
        let (first, second) = names.split_at(names.len() / 2);
        let (first, second) = run_both(|| read_stamps(root, first), || read_stamps(root, second));
        Self(first.into_iter().chain(second).collect())
    }

    /// Returns the names of the files whose stamps differ.
    pub(in crate::verify) fn changed_names(&self, now: &Self) -> Vec<String> {
        let changed = self.0.iter().filter(|(name, stamps)| now.0.get(*name).is_some_and(|other| other != *stamps));
        changed.map(|(name, _)| name.clone()).collect()
    }
}

fn read_stamps(root: &Path, names: &[&str]) -> Vec<(String, [FileStamp; 2])> {
    let read = |name: &&str| {
        let path: PathBuf = root.join(name);
        let own = path.symlink_metadata().ok();
        let target = own.as_ref().filter(|about| about.is_symlink()).and_then(|_| path.metadata().ok());
        ((*name).to_owned(), [own.as_ref().map(stamp_of), target.as_ref().map(stamp_of)])
    };
    names.iter().map(read).collect()
}

fn stamp_of(about: &fs::Metadata) -> [i128; 5] {
    let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    [
        i128::from(about.dev()),
        i128::from(about.ino()),
        i128::from(about.size()),
        nanos(about.mtime(), about.mtime_nsec()),
        nanos(about.ctime(), about.ctime_nsec()),
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
        let names: Vec<String> = (0..MIN_FILES_FOR_TWO_THREADS).map(|number| format!("{number:04}")).collect();
        let stamps = || FileStamps::read(root.path(), names.iter().map(String::as_str));
        let before = stamps();
        assert_eq!(before.0.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
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
        let stamps = || FileStamps::read(root.path(), ["read", "swapped"].into_iter());
        let before = stamps();
        fs::read(root.path().join("read")).unwrap();
        fs::write(root.path().join("other"), "same").unwrap();
        fs::rename(root.path().join("other"), root.path().join("swapped")).unwrap();
        assert_eq!(before.changed_names(&stamps()), ["swapped"]);
    }
}
