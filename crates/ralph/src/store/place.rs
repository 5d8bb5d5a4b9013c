//! Where the database lies: its folder, held open, and the files that SQLite uses in it. They are looked at
//! before SQLite opens them, because SQLite would follow a link and write to what it leads to.
use std::io;
use std::path::{Path, PathBuf};

use crate::private::{self, Folder};

/// The names that SQLite gives its files.
pub(super) const DATABASE: &str = "ralph.db";
pub(super) const LOG: &str = "ralph.db-wal";
const BESIDE: [&str; 3] = [LOG, "ralph.db-shm", "ralph.db-journal"];

/// Device and inode.
pub(super) type Identity = (u64, u64);

pub(super) struct Place {
    pub(super) folder: Folder,
    pub(super) path: PathBuf,
}

impl Place {
    /// Opens the folder, which is made where it is missing.
    pub(super) fn make(folder: &Path) -> io::Result<Self> {
        private::folder(folder).map(Self::of)
    }

    /// Opens the folder, if there is one.
    pub(super) fn find(folder: &Path) -> io::Result<Option<Self>> {
        match private::existing_folder(folder) {
            Ok(folder) => Ok(Some(Self::of(folder))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of(folder: Folder) -> Self {
        Self { path: folder.path().join(DATABASE), folder }
    }

    /// Returns which file the database is, or `None` where there is none. Anything but files of our own is
    /// refused.
    pub(super) fn look(&self) -> io::Result<Option<Identity>> {
        for name in BESIDE {
            self.folder.look(name)?;
        }
        Ok(self.folder.look(DATABASE)?.map(|found| (found.st_dev, found.st_ino)))
    }

    /// Makes the file before SQLite does, which would let everybody read it.
    pub(super) fn make_database(&self) -> io::Result<()> {
        self.folder.file(DATABASE).map(drop)
    }

    /// Hides the state from git.
    pub(super) fn keep_out_of_git(&self) -> io::Result<()> {
        self.folder.keep_out_of_git()
    }

    /// Returns the path for SQLite, which must be UTF-8 by the way we reach it. Where it is not, the open
    /// folder lends its name.
    pub(super) fn reachable(&self) -> PathBuf {
        use std::os::fd::{AsFd, AsRawFd};
        match self.path.to_str() {
            Some(_) => self.path.clone(),
            None => {
                Path::new("/proc/self/fd").join(self.folder.as_fd().as_raw_fd().to_string()).join(DATABASE)
            }
        }
    }
}
