//! The folder of the database, held open, and the files that SQLite uses in it. The files are checked before SQLite
//! opens them, because SQLite would follow a link and write to its target.
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags};

use crate::sqlite::database_header::{DatabaseFileState, SQLITE_HEADER_BYTES};
use ralph_util::private_files::{self, GITIGNORE_FILE, PrivateFolder};

/// The names that SQLite gives its files.
pub(crate) const DATABASE_FILE: &str = "ralph.db";
pub(crate) const WAL_FILE: &str = "ralph.db-wal";
const SHARED_MEMORY_FILE: &str = "ralph.db-shm";
const JOURNAL_FILE: &str = "ralph.db-journal";

/// The location of the database. Cheap to clone.
#[derive(Clone)]
pub(crate) struct DatabaseFiles {
    folder: Arc<PrivateFolder>,
    pub(crate) path: PathBuf,
    /// The database file, if this process created it. It stays open: closing any descriptor of a file releases all
    /// locks of the process on it, also those of SQLite.
    created_file: Option<Arc<File>>,
}

impl DatabaseFiles {
    /// Opens the folder. Creates it if it is missing.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        private_files::ensure_folder(folder).map(Self::in_folder)
    }

    /// Opens the folder, or returns `None` if it does not exist.
    pub(crate) fn open_existing(folder: &Path) -> io::Result<Option<Self>> {
        match private_files::open_folder(folder) {
            Ok(folder) => Ok(Some(Self::in_folder(folder))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn in_folder(folder: PrivateFolder) -> Self {
        Self { path: folder.path().join(DATABASE_FILE), folder: Arc::new(folder), created_file: None }
    }

    /// Reads the state of the files. Another process may be creating the database at the same time, so the file that it
    /// creates last is checked first. Fails if one of the files is not a regular file with a single name.
    pub(crate) fn inspect(&self) -> io::Result<DatabaseFileState> {
        let size = |name| {
            Ok::<u64, io::Error>(self.folder.stat_own_file(name)?.map_or(0, |found| found.st_size.cast_unsigned()))
        };
        let was_created = self.was_created()?;
        let (wal_size, journal_size) = (size(WAL_FILE)?, size(JOURNAL_FILE)?);
        self.folder.stat_own_file(SHARED_MEMORY_FILE)?;
        let mut state = DatabaseFileState { header: None, file_size: 0, wal_size, journal_size, was_created };
        if self.folder.stat_own_file(DATABASE_FILE)?.is_some() {
            let mut header = Vec::with_capacity(SQLITE_HEADER_BYTES);
            self.folder.open_for_read(DATABASE_FILE)?.take(SQLITE_HEADER_BYTES as u64).read_to_end(&mut header)?;
            state.header = Some(header);
            state.file_size = size(DATABASE_FILE)?;
        }
        Ok(state)
    }

    /// Returns whether a database was created here before. `.gitignore` is written after the tables are created.
    fn was_created(&self) -> io::Result<bool> {
        Ok(self.folder.stat_own_file(GITIGNORE_FILE)?.is_some())
    }

    /// Fails with the reason if no files can be created in the folder.
    pub(crate) fn check_writable(&self) -> io::Result<()> {
        Ok(rustix::fs::accessat(&self.folder, ".", Access::WRITE_OK, AtFlags::empty())?)
    }

    /// Creates the file with private permissions, because SQLite would make it readable for everyone.
    pub(crate) fn create_database_file(&mut self) -> io::Result<()> {
        self.created_file = Some(Arc::new(self.folder.open_for_append(DATABASE_FILE)?));
        Ok(())
    }

    /// Makes the content of a database file that this process created durable.
    pub(crate) fn sync_database_file(&self) -> io::Result<()> {
        self.created_file.as_ref().map_or(Ok(()), |file| file.sync_data())
    }

    /// Hides the state from git. The file also records that the database was created.
    pub(crate) fn write_gitignore(&self) -> io::Result<()> {
        self.folder.write_gitignore()
    }

    /// Returns the path for SQLite, which the driver requires to be UTF-8. If it is not, returns a path through the open
    /// folder's descriptor.
    pub(crate) fn sqlite_path(&self) -> PathBuf {
        match self.path.to_str() {
            Some(_) => self.path.clone(),
            None => Path::new("/proc/self/fd").join(self.folder.as_fd().as_raw_fd().to_string()).join(DATABASE_FILE),
        }
    }
}
