//! Opens and creates folders and files that only their owner can read, whatever the umask is. Refuses symbolic links on
//! the path, pipes, devices and hard links; follows and replaces nothing.
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

const FOLDER_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The file that hides a folder from git.
pub const GITIGNORE_FILE: &str = ".gitignore";

/// Sufficient to traverse a folder, also one without read permission.
#[cfg(target_os = "linux")]
const TRAVERSE_FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const TRAVERSE_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A path that must be one of ralph's files or folders is something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is {found}, expected {expected} that belongs to ralph", path.display())]
pub struct ForeignPathError {
    pub path: PathBuf,
    found: &'static str,
    expected: &'static str,
}

impl ForeignPathError {
    /// Returns the `ForeignPathError` inside an I/O error, if there is one.
    #[must_use]
    pub fn from_io_error(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }
}

/// A folder that is held open. All operations apply to this folder, even if its path is replaced later.
#[derive(Debug)]
pub struct PrivateFolder {
    descriptor: OwnedFd,
    path: PathBuf,
}

/// Opens a folder. Creates it and its parents if they are missing, but not the user's home folder.
pub fn ensure_folder(path: &Path) -> io::Result<PrivateFolder> {
    refuse_missing_home(path)?;
    open_path(path, MissingFolder::Create)
}

/// Refuses a path in a home folder that does not exist: a wrong HOME must not leave folders behind.
pub fn refuse_missing_home(path: &Path) -> io::Result<()> {
    match std::env::var_os("HOME").map(PathBuf::from) {
        Some(home) if home.is_absolute() && path.starts_with(&home) && !home.is_dir() => {
            Err(io::Error::new(io::ErrorKind::NotFound, format!("the home folder {} does not exist", home.display())))
        }
        Some(_) | None => Ok(()),
    }
}

/// Opens an existing folder.
pub fn open_folder(path: &Path) -> io::Result<PrivateFolder> {
    open_path(path, MissingFolder::Fail)
}

/// Resolves the links in the existing part of a path. For folders of the user, such as `~/.config`, which may be links.
#[must_use]
pub fn resolve_links(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match found.map(|(above, real)| (real, path.strip_prefix(above))) {
        Some((real, Ok(rest))) => real.join(rest),
        Some((_, Err(_))) | None => path.to_path_buf(),
    }
}

/// Opens a regular file for reading.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    let (folder, name) = open_parent_folder(path)?;
    folder.open_for_read(name)
}

/// Opens a file for appending. Creates it if it is missing.
pub fn open_for_append(path: &Path) -> io::Result<File> {
    let (folder, name) = open_parent_folder(path)?;
    folder.open_for_append(name)
}

/// Opens a lock file for reading and writing. Creates it if it is missing, and keeps its content.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    let (folder, name) = open_parent_folder(path)?;
    folder.open_own_file(name, OFlags::RDWR | OFlags::CREATE)
}

fn open_parent_folder(path: &Path) -> io::Result<(PrivateFolder, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((open_folder(parent)?, name)),
        (_, _) => Err(io::ErrorKind::InvalidInput.into()),
    }
}

impl PrivateFolder {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the metadata of a file in this folder, or `None` if it does not exist.
    pub fn stat_own_file(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.descriptor, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => ensure_own_file(&self.path.join(name.as_ref()), &found).map(|()| Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a file for appending. Creates it if it is missing.
    pub fn open_for_append(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_own_file(name.as_ref(), OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)
    }

    /// Opens a file for reading and appending. Creates it if it is missing.
    pub fn open_for_read_and_append(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_own_file(name.as_ref(), OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
    }

    /// Opens a file for reading.
    pub fn open_for_read(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_own_file(name.as_ref(), OFlags::RDONLY)
    }

    /// Creates a file. Fails if it exists.
    pub fn create_new_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_own_file(name.as_ref(), OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }

    /// Writes a `.gitignore` that hides the whole folder from git, unless there is one.
    pub fn write_gitignore(&self) -> io::Result<()> {
        match self.create_new_file(GITIGNORE_FILE) {
            Ok(mut file) => file.write_all(b"*\n"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn open_own_file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        // Non-blocking, because opening a pipe without a reader would block; pipes are refused below.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match rustix::fs::openat(&self.descriptor, name, flags, FILE_MODE) {
            Ok(file) => {
                ensure_own_file(&self.path.join(name), &rustix::fs::fstat(&file)?)?;
                Ok(file.into())
            }
            // If the file is of the wrong type, that error is more helpful.
            Err(error) => self.stat_own_file(name).and(Err(error.into())),
        }
    }
}

impl AsFd for PrivateFolder {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingFolder {
    Create,
    Fail,
}

fn open_path(path: &Path, missing: MissingFolder) -> io::Result<PrivateFolder> {
    open_absolute_path(&std::path::absolute(path)?, missing)
}

/// Opens the whole path with one system call if possible. Otherwise opens it component by component, to create missing
/// folders or to find the component that is refused.
fn open_absolute_path(path: &Path, missing: MissingFolder) -> io::Result<PrivateFolder> {
    if let Ok(descriptor) = open_without_links(path) {
        return Ok(PrivateFolder { descriptor, path: path.to_path_buf() });
    }
    match (path.parent(), path.components().next_back()) {
        (Some(above), Some(Component::Normal(name))) => {
            open_child_folder(&open_absolute_path(above, missing)?, name, missing)
        }
        (Some(above), Some(Component::ParentDir)) => {
            open_child_folder(&open_absolute_path(above, missing)?, OsStr::new(".."), missing)
        }
        (Some(above), _) => open_absolute_path(above, missing),
        (None, _) => {
            let descriptor = rustix::fs::openat(CWD, "/", TRAVERSE_FLAGS, Mode::empty())?;
            Ok(PrivateFolder { descriptor, path: "/".into() })
        }
    }
}

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat2(CWD, path, TRAVERSE_FLAGS, Mode::empty(), rustix::fs::ResolveFlags::NO_SYMLINKS)
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(_path: &Path) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

fn open_child_folder(parent: &PrivateFolder, name: &OsStr, missing: MissingFolder) -> io::Result<PrivateFolder> {
    let path = parent.path.join(name);
    let open = || rustix::fs::openat(&parent.descriptor, name, TRAVERSE_FLAGS, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT) if missing == MissingFolder::Create => {
            match rustix::fs::mkdirat(&parent.descriptor, name, FOLDER_MODE) {
                // Another process was faster.
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(error) => Err(error),
            }
        }
        other => other,
    };
    match opened {
        Ok(descriptor) => Ok(PrivateFolder { descriptor, path }),
        Err(Errno::LOOP | Errno::NOTDIR) => Err(not_a_folder_error(parent, name)),
        Err(error) => Err(error.into()),
    }
}

fn not_a_folder_error(parent: &PrivateFolder, name: &OsStr) -> io::Error {
    match rustix::fs::statat(&parent.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => foreign_path_error(
            &parent.path.join(name),
            file_type_name(FileType::from_raw_mode(found.st_mode)),
            "a folder",
        ),
        Err(error) => error.into(),
    }
}

/// Refuses everything except a regular file with one name: writing to a hard link would change a file elsewhere.
fn ensure_own_file(path: &Path, stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink <= 1 => Ok(()),
        FileType::RegularFile => Err(foreign_path_error(path, "a file with another name (a hard link)", EXPECTED_FILE)),
        other => Err(foreign_path_error(path, file_type_name(other), EXPECTED_FILE)),
    }
}

const EXPECTED_FILE: &str = "a file";

fn foreign_path_error(path: &Path, found: &'static str, expected: &'static str) -> io::Error {
    io::Error::other(ForeignPathError { path: path.to_path_buf(), found, expected })
}

fn file_type_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "a file of unknown type",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn foreign_path_message<T: std::fmt::Debug>(result: io::Result<T>) -> String {
        let error = result.unwrap_err();
        ForeignPathError::from_io_error(&error).unwrap_or_else(|| panic!("{error}")).to_string()
    }

    // fault: 62
    #[test]
    fn a_link_in_a_folder_path_is_refused_and_nothing_is_created_behind_it() {
        let temp = tempfile::tempdir().unwrap();
        let elsewhere = temp.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, temp.path().join("link")).unwrap();
        assert!(
            foreign_path_message(ensure_folder(&temp.path().join("link/state"))).contains("link is a symbolic link")
        );
        assert!(
            foreign_path_message(open_for_append(&temp.path().join("link/log"))).contains("link is a symbolic link")
        );
        assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
    }

    // fault: 62
    #[test]
    fn only_a_regular_file_with_one_name_is_written_to() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::write(at("foreign"), "precious").unwrap();
        std::fs::hard_link(at("foreign"), at("hard")).unwrap();
        symlink(at("foreign"), at("soft")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, FILE_MODE, 0).unwrap();
        for (name, kind) in [
            ("hard", "a hard link"),
            ("soft", "a symbolic link"),
            ("dangling", "a symbolic link"),
            ("folder", "a folder"),
            ("pipe", "a named pipe"),
        ] {
            let message = foreign_path_message(open_for_append(&at(name)));
            assert!(message.contains(kind), "{message}");
        }
        assert!(foreign_path_message(open_for_append(Path::new("/dev/null"))).contains("a device"));
        assert!(!at("nowhere").exists());
        assert_eq!(std::fs::read(at("foreign")).unwrap(), b"precious");
    }

    #[test]
    fn a_user_folder_that_is_a_link_is_resolved_to_its_target() {
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().canonicalize().unwrap().join("dotfiles");
        std::fs::create_dir(&real).unwrap();
        symlink(&real, temp.path().join("config")).unwrap();
        assert_eq!(resolve_links(&temp.path().join("config/ralph/trust.json")), real.join("ralph/trust.json"));
        ensure_folder(&resolve_links(&temp.path().join("config/ralph"))).unwrap();
    }

    #[test]
    fn a_parent_component_in_a_path_is_followed() {
        let temp = tempfile::tempdir().unwrap();
        ensure_folder(&temp.path().join("a/b")).unwrap();
        open_for_append(&temp.path().join("a/b/../log")).unwrap();
        assert!(temp.path().join("a/log").is_file());
    }

    #[test]
    fn creating_a_new_file_fails_if_it_exists() {
        let temp = tempfile::tempdir().unwrap();
        let folder = open_folder(temp.path()).unwrap();
        folder.create_new_file("a").unwrap();
        assert_eq!(folder.create_new_file("a").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(folder.stat_own_file("b").unwrap().is_none());
    }

    // spec: L16
    #[test]
    fn links_pipes_and_folders_are_refused_as_regular_files_without_blocking() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::write(at("plain"), "text").unwrap();
        symlink(at("plain"), at("link")).unwrap();
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, mode, 0).unwrap();
        assert!(open_regular_file(&at("plain")).is_ok());
        for refused in ["link", "pipe", ".", "missing"] {
            assert!(open_regular_file(&at(refused)).is_err(), "{refused}");
        }
    }
}
