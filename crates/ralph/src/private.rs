//! Folders and files that only their owner can read, whatever the umask says.
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder and those above it, where they are missing.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// What stands in this folder is nobody's source code: git must not see it.
pub fn keep_out_of_git(folder: &Path) -> io::Result<()> {
    let ignore = folder.join(".gitignore");
    if ignore.exists() { Ok(()) } else { std::fs::write(ignore, "*\n") }
}

/// Opens a plain file for reading. What an agent may have put in its place is refused: a link leads elsewhere, and a
/// pipe keeps its reader waiting.
pub fn regular_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"))
    }
}

/// Opens a file for writing at its end; it is made where it is missing.
pub fn file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Opens a lock for reading and writing; it is made where it is missing. What stands in it stays. A link is not followed,
/// and a pipe that somebody planted is not waited for.
pub fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L16
    #[test]
    fn links_pipes_and_folders_are_no_plain_files_and_hold_up_nobody() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::write(at("plain"), "text").unwrap();
        std::os::unix::fs::symlink(at("plain"), at("link")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(regular_file(&at("plain")).is_ok());
        for refused in ["link", "pipe", ".", "missing"] {
            assert!(regular_file(&at(refused)).is_err(), "{refused}");
        }
    }
}
