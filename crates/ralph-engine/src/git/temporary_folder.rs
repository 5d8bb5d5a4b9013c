//! A temporary folder outside every project, removed when its value is dropped. Folders of killed processes are removed
//! when another process creates its first one. Hand-written because the `tempfile` crate does not remove folders of killed
//! processes.
use std::collections::BTreeSet;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::GitError;

const FOLDER_NAME_PREFIX: &str = "ralph-";

#[derive(Debug)]
pub(super) struct TemporaryFolder {
    pub(super) path: PathBuf,
}

impl TemporaryFolder {
    /// Creates a folder in the system's folder for temporary files. Its name contains the purpose and the process id.
    pub(super) fn create(purpose: &str) -> Result<Self, GitError> {
        let parent = std::env::temp_dir();
        let parent = parent.canonicalize().unwrap_or(parent);
        if is_first_use(purpose) {
            remove_stale_folders(&parent, purpose);
        }
        let name = format!("{FOLDER_NAME_PREFIX}{purpose}-{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
        let path = parent.join(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self { path }),
            Err(source) => Err(GitError::CreateFolder { path, source }),
        }
    }

    pub(super) fn to_git_error(&self, source: io::Error) -> GitError {
        GitError::CreateFolder { path: self.path.clone(), source }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        remove_folder(&self.path);
    }
}

/// Removes a folder, if possible. Errors are ignored: the system cleans up temporary files eventually.
fn remove_folder(folder: &Path) {
    if std::fs::remove_dir_all(folder).is_err() {
        make_writable(folder);
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Makes a folder and its subfolders writable: some programs leave read-only folders.
fn make_writable(folder: &Path) {
    let _ = std::fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

/// Returns whether this process creates its first folder for this purpose: reading a large folder takes time.
fn is_first_use(purpose: &str) -> bool {
    static USED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    USED.lock().unwrap_or_else(PoisonError::into_inner).insert(purpose.to_owned())
}

/// Removes the folders of this user whose processes have exited.
fn remove_stale_folders(parent: &Path, purpose: &str) {
    let user = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| {
            let rest = name.strip_prefix(FOLDER_NAME_PREFIX)?.strip_prefix(purpose)?.strip_prefix('-')?;
            rest.split_once('-')?.0.parse().ok().and_then(rustix::process::Pid::from_raw)
        });
        let is_ours = || entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        if owner.is_some_and(|pid| is_dead(pid) && is_ours()) {
            remove_folder(&entry.path());
        }
    }
}

fn is_dead(pid: rustix::process::Pid) -> bool {
    rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_dead_processes_are_removed_and_those_of_live_ones_stay() {
        let temp = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let at = |pid: u32| temp.path().join(format!("ralph-test-{pid}-x"));
        let other = temp.path().join("ralph-other");
        for path in [at(dead), at(std::process::id()), other.clone()] {
            std::fs::create_dir(path).unwrap();
        }
        remove_stale_folders(temp.path(), "test");
        assert!(!at(dead).exists() && at(std::process::id()).exists() && other.exists());
    }

    #[test]
    fn a_read_only_subfolder_is_removed() {
        let temporary = TemporaryFolder::create("test").unwrap();
        let path = temporary.path.clone();
        let inner = path.join("sealed");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("file"), "").unwrap();
        std::fs::set_permissions(&inner, Permissions::from_mode(0o500)).unwrap();
        drop(temporary);
        assert!(!path.exists());
    }
}
