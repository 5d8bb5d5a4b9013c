//! A hash of the stamps of all files below a folder, ignored ones included: it is the same only if no file was written,
//! replaced or removed in between. No program can set the change time of a file.
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ralph_util::digest::finish_hex;
use sha2::{Digest, Sha256};

/// Returns the hash, or `None` if a folder cannot be read or the deadline passes first. The git folder is left out.
pub(super) fn hash_file_stamps(root: &Path, deadline: Instant) -> Option<String> {
    let mut all = Sha256::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if Instant::now() >= deadline {
            return None;
        }
        for path in sorted_entries(&folder).ok()? {
            if folder == root && path.file_name() == Some(OsStr::new(".git")) {
                continue;
            }
            let about = path.symlink_metadata().ok()?;
            add_stamp(&mut all, &path, &about);
            if about.is_dir() {
                folders.push(path);
            }
        }
    }
    Some(finish_hex(all))
}

fn sorted_entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort_unstable();
    Ok(paths)
}

/// Adds the name and the stamp of a file. The times of a folder change with temporary files that are gone again.
fn add_stamp(all: &mut Sha256, path: &Path, about: &Metadata) {
    let name = path.as_os_str().as_bytes();
    all.update(name.len().to_le_bytes());
    all.update(name);
    for number in [about.dev(), about.ino(), about.mode().into()] {
        all.update(number.to_le_bytes());
    }
    if !about.is_dir() {
        all.update(about.len().to_le_bytes());
        for time in [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()] {
            all.update(time.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    // finding: N8
    // spec: V11
    #[test]
    fn a_file_that_is_written_or_replaced_or_removed_changes_the_hash() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let hash = || hash_file_stamps(root, Instant::now() + Duration::from_secs(600)).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/file"), "good").unwrap();
        let first = hash();
        assert_eq!(hash(), first);
        let modified = root.join("sub/file").metadata().unwrap().modified().unwrap();
        fs::write(root.join("new"), "evil").unwrap();
        fs::File::options().write(true).open(root.join("new")).unwrap().set_modified(modified).unwrap();
        fs::rename(root.join("new"), root.join("sub/file")).unwrap();
        let replaced = hash();
        assert_ne!(replaced, first, "same name, size and modification time");
        fs::remove_file(root.join("sub/file")).unwrap();
        assert_ne!(hash(), replaced);
        assert_eq!(hash_file_stamps(root, Instant::now()), None, "no time is left");
    }
}
