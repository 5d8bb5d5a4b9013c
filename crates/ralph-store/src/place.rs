//! Where the database lies: its folder, held open, and the files that SQLite uses in it. They are looked at
//! before SQLite opens them, because SQLite would follow a link and write to what it leads to.
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags};

use super::header::{LENGTH, Outside};
use ralph_util::private::{self, Folder, IGNORE};

/// The names that SQLite gives its files.
pub(super) const DATABASE: &str = "ralph.db";
pub(super) const LOG: &str = "ralph.db-wal";
const SHARED: &str = "ralph.db-shm";
const JOURNAL: &str = "ralph.db-journal";

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Place {
    folder: Arc<Folder>,
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
        Self { path: folder.path().join(DATABASE), folder: Arc::new(folder) }
    }

    /// Returns which file the database is, or `None` where there is none. Anything but files of our own is
    /// refused.
    pub(super) fn look(&self) -> io::Result<Option<Identity>> {
        for name in [LOG, SHARED, JOURNAL] {
            self.folder.look(name)?;
        }
        Ok(self.folder.look(DATABASE)?.map(|found| (found.st_dev, found.st_ino)))
    }

    /// Looks at the files from outside. Another process may be making the database at this moment: what comes
    /// last with it is looked at first.
    pub(super) fn outside(&self) -> io::Result<Outside> {
        let size = |name| {
            Ok::<u64, io::Error>(self.folder.look(name)?.map_or(0, |found| found.st_size.cast_unsigned()))
        };
        let made = self.is_made()?;
        let (log, journal) = (size(LOG)?, size(JOURNAL)?);
        let mut outside = Outside { header: None, size: 0, log, journal, made };
        if self.folder.look(DATABASE)?.is_some() {
            let mut header = Vec::with_capacity(LENGTH);
            self.folder.read(DATABASE)?.take(LENGTH as u64).read_to_end(&mut header)?;
            outside.header = Some(header);
            outside.size = size(DATABASE)?;
        }
        Ok(outside)
    }

    /// Tells whether a database was made here once: git is told to keep out when it has its tables.
    fn is_made(&self) -> io::Result<bool> {
        Ok(self.folder.look(IGNORE)?.is_some())
    }

    /// Fails with the reason why no files can be made here.
    pub(super) fn writable(&self) -> io::Result<()> {
        Ok(rustix::fs::accessat(&self.folder, ".", Access::WRITE_OK, AtFlags::empty())?)
    }

    /// Makes the file before SQLite does, which would let everybody read it.
    pub(super) fn make_database(&self) -> io::Result<()> {
        self.folder.file(DATABASE).map(drop)
    }

    /// Hides the state from git. This also says that the database is made.
    pub(super) fn keep_out_of_git(&self) -> io::Result<()> {
        self.folder.keep_out_of_git()
    }

    /// Returns the path for SQLite, which must be UTF-8 by the way we reach it. Where it is not, the open
    /// folder lends its name.
    pub(super) fn reachable(&self) -> PathBuf {
        match self.path.to_str() {
            Some(_) => self.path.clone(),
            None => {
                Path::new("/proc/self/fd").join(self.folder.as_fd().as_raw_fd().to_string()).join(DATABASE)
            }
        }
    }
}
