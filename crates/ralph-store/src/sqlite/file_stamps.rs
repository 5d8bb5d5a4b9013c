//! The state of the database files at two times, compared without opening them.
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::sqlite::database_files::DATABASE_FILE;

/// The state of the files of an open database at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStamps {
    database: Option<FileStamp>,
    wal: Option<FileStamp>,
    shared_memory: Option<FileStamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    /// Device and inode.
    identity: (u64, u64),
    size: u64,
    /// The modification and change times, in seconds and nanoseconds.
    changed_at: [i64; 4],
}

/// The difference between two states of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseFileChange {
    Unchanged,
    /// Only the log was written, by another ralph or by another program.
    LogWritten,
    /// The database was written: by another ralph that copied the log into it, or by another program.
    DatabaseWritten,
    /// Truncated, which ralph never does.
    Truncated,
    Removed,
}

/// Tells a reader cheaply whether the stored state may have changed: two equal stamps mean that nothing was written between
/// them. A write of the same instant as the earlier stamp can be missed, so a reader also reads now and then without a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeStamp {
    database: Option<FileStamp>,
    wal: Option<FileStamp>,
}

impl ChangeStamp {
    /// Reads the stamp of the database in a state folder. Never fails: missing files are a state too.
    #[must_use]
    pub fn capture(folder: &Path) -> Self {
        let FileStamps { database, wal, shared_memory: _ } = FileStamps::capture(&folder.join(DATABASE_FILE));
        Self { database, wal }
    }
}

impl FileStamps {
    pub(crate) fn capture(database: &Path) -> Self {
        let sibling_path = |ending: &str| {
            let mut name = database.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Self {
            database: read_stamp(database),
            wal: read_stamp(&sibling_path("-wal")),
            shared_memory: read_stamp(&sibling_path("-shm")),
        }
    }

    /// Compares this state with an earlier one.
    pub(crate) fn change_since(&self, before: &Self) -> DatabaseFileChange {
        let pairs =
            [(before.database, self.database), (before.wal, self.wal), (before.shared_memory, self.shared_memory)];
        let gone = |(before, now): &(Option<FileStamp>, Option<FileStamp>)| {
            before.is_some_and(|before| now.is_none_or(|now| now.identity != before.identity))
        };
        if pairs.iter().any(gone) {
            return DatabaseFileChange::Removed;
        }
        // The log may shrink: a process that checkpoints it into the database may truncate it.
        let smaller = |before: Option<FileStamp>, now: Option<FileStamp>| {
            before.zip(now).is_some_and(|(before, now)| now.size < before.size)
        };
        if smaller(before.database, self.database) || smaller(before.shared_memory, self.shared_memory) {
            return DatabaseFileChange::Truncated;
        }
        if before.database != self.database {
            DatabaseFileChange::DatabaseWritten
        } else if before.wal != self.wal {
            DatabaseFileChange::LogWritten
        } else {
            DatabaseFileChange::Unchanged
        }
    }
}

fn read_stamp(path: &Path) -> Option<FileStamp> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some(FileStamp {
        identity: (found.dev(), found.ino()),
        size: found.size(),
        changed_at: [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_stamps() -> FileStamps {
        let stamp = |inode| Some(FileStamp { identity: (1, inode), size: 4096, changed_at: [5; 4] });
        FileStamps { database: stamp(1), wal: stamp(2), shared_memory: stamp(3) }
    }

    fn change_after(change: impl FnOnce(&mut FileStamps)) -> DatabaseFileChange {
        let mut now = sample_stamps();
        change(&mut now);
        now.change_since(&sample_stamps())
    }

    // fault: 36
    #[test]
    fn a_removed_or_replaced_file_is_reported() {
        assert_eq!(change_after(|_| ()), DatabaseFileChange::Unchanged);
        assert_eq!(change_after(|now| now.database = None), DatabaseFileChange::Removed);
        assert_eq!(change_after(|now| now.wal = None), DatabaseFileChange::Removed);
        assert_eq!(change_after(|now| now.shared_memory = None), DatabaseFileChange::Removed);
        assert_eq!(change_after(|now| now.database = now.wal), DatabaseFileChange::Removed);
    }

    // fault: 36
    #[test]
    fn a_smaller_database_or_shared_memory_is_truncated_but_a_log_may_shrink() {
        let cut = |stamp: &mut Option<FileStamp>| stamp.as_mut().unwrap().size = 7;
        assert_eq!(change_after(|now| cut(&mut now.database)), DatabaseFileChange::Truncated);
        assert_eq!(change_after(|now| cut(&mut now.shared_memory)), DatabaseFileChange::Truncated);
        assert_eq!(change_after(|now| cut(&mut now.wal)), DatabaseFileChange::LogWritten);
    }

    // fault: 36
    #[test]
    fn a_write_is_reported_unless_it_is_in_the_shared_memory_that_readers_also_change() {
        let touch = |stamp: &mut Option<FileStamp>| stamp.as_mut().unwrap().changed_at[1] = 6;
        assert_eq!(change_after(|now| touch(&mut now.database)), DatabaseFileChange::DatabaseWritten);
        assert_eq!(change_after(|now| touch(&mut now.wal)), DatabaseFileChange::LogWritten);
        assert_eq!(change_after(|now| touch(&mut now.shared_memory)), DatabaseFileChange::Unchanged);
    }

    #[test]
    fn a_new_file_is_not_reported_as_removed() {
        let mut before = sample_stamps();
        before.wal = None;
        before.shared_memory = None;
        assert_eq!(sample_stamps().change_since(&before), DatabaseFileChange::LogWritten);
    }
}
