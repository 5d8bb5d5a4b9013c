//! Noticing that somebody else was at the files while a run goes on. SQLite trusts them: it would write into a
//! file without a name, and it dies when its shared memory shrinks below it.
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files of an open database, as they were seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    database: Option<Stamp>,
    log: Option<Stamp>,
    shared: Option<Stamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    /// Device and inode.
    identity: (u64, u64),
    size: u64,
    /// When content and attributes were last changed.
    changed: [i64; 4],
}

/// What became of the files between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    Untouched,
    /// Written to: by another ralph, or by a vandal.
    Written,
    /// No ralph makes them smaller.
    Cut,
    Gone,
}

impl Seen {
    pub(super) fn now(database: &Path) -> Self {
        let beside = |ending: &str| {
            let mut name = database.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Self { database: stamp(database), log: stamp(&beside("-wal")), shared: stamp(&beside("-shm")) }
    }

    /// Compares with an earlier look.
    pub(super) fn since(&self, before: &Self) -> Since {
        let pairs = [(before.database, self.database), (before.log, self.log), (before.shared, self.shared)];
        let gone = |(before, now): &(Option<Stamp>, Option<Stamp>)| {
            before.is_some_and(|before| now.is_none_or(|now| now.identity != before.identity))
        };
        if pairs.iter().any(gone) {
            return Since::Gone;
        }
        // A log may be cut by whoever writes its content into the database.
        let smaller = |before: Option<Stamp>, now: Option<Stamp>| {
            before.zip(now).is_some_and(|(before, now)| now.size < before.size)
        };
        if smaller(before.database, self.database) || smaller(before.shared, self.shared) {
            return Since::Cut;
        }
        if (before.database, before.log) == (self.database, self.log) {
            Since::Untouched
        } else {
            Since::Written
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some(Stamp {
        identity: (found.dev(), found.ino()),
        size: found.size(),
        changed: [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        let stamp = |inode| Some(Stamp { identity: (1, inode), size: 4096, changed: [5; 4] });
        Seen { database: stamp(1), log: stamp(2), shared: stamp(3) }
    }

    fn after(change: impl FnOnce(&mut Seen)) -> Since {
        let mut now = seen();
        change(&mut now);
        now.since(&seen())
    }

    // fault: 36
    #[test]
    fn every_file_must_stay_the_one_it_was() {
        assert_eq!(after(|_| ()), Since::Untouched);
        assert_eq!(after(|now| now.database = None), Since::Gone);
        assert_eq!(after(|now| now.log = None), Since::Gone);
        assert_eq!(after(|now| now.shared = None), Since::Gone);
        assert_eq!(after(|now| now.database = now.log), Since::Gone);
    }

    // fault: 36
    #[test]
    fn database_and_shared_memory_never_shrink_but_a_log_may() {
        let cut = |stamp: &mut Option<Stamp>| stamp.as_mut().unwrap().size = 7;
        assert_eq!(after(|now| cut(&mut now.database)), Since::Cut);
        assert_eq!(after(|now| cut(&mut now.shared)), Since::Cut);
        assert_eq!(after(|now| cut(&mut now.log)), Since::Written);
    }

    // fault: 36
    #[test]
    fn a_write_is_noticed_but_not_in_the_shared_memory_that_readers_use_too() {
        let touch = |stamp: &mut Option<Stamp>| stamp.as_mut().unwrap().changed[1] = 6;
        assert_eq!(after(|now| touch(&mut now.database)), Since::Written);
        assert_eq!(after(|now| touch(&mut now.log)), Since::Written);
        assert_eq!(after(|now| touch(&mut now.shared)), Since::Untouched);
    }

    #[test]
    fn a_file_that_was_not_there_before_is_no_loss() {
        let mut before = seen();
        before.log = None;
        before.shared = None;
        assert_eq!(seen().since(&before), Since::Written);
    }
}
