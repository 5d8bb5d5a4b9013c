//! Takes a lock, and checks whether one is taken. It never waits for a lock: the holder may run for hours.
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::RunOwner;
use ralph_util::private_files;

/// How often a taken lock is tried again: `is_lock_free` in another process holds it for a moment.
const MAX_LOCK_ATTEMPTS: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum size of the owner in a lock file.
const MAX_OWNER_BYTES: u64 = 4_096;

/// Whether several processes may hold the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockSharing {
    Exclusive,
    Shared,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("the lock {} is taken", path.display())]
    Taken { path: PathBuf, owner: Option<RunOwner> },
    #[error("the lock {} cannot be opened", path.display())]
    CannotOpen { path: PathBuf, source: io::Error },
    #[error("the file system of {} does not support file locks", path.display())]
    Unsupported { path: PathBuf, source: io::Error },
}

/// A lock that this process holds until this value is dropped. It must be taken after the keeper was forked, and the
/// file is closed in every program that is started, so that no other process holds it.
#[derive(Debug)]
pub struct HeldLock {
    _file: File,
}

/// Takes a lock, or returns its owner as part of the error.
pub async fn take_lock(path: &Path, sharing: LockSharing, owner: &RunOwner) -> Result<HeldLock, LockError> {
    for _ in 1..MAX_LOCK_ATTEMPTS {
        match try_take_lock(path, sharing, owner) {
            Err(LockError::Taken { .. }) => tokio::time::sleep(LOCK_RETRY_INTERVAL).await,
            other => return other,
        }
    }
    try_take_lock(path, sharing, owner)
}

/// Returns whether a lock is free. A lock that was never taken is free.
#[must_use]
pub fn is_lock_free(path: &Path) -> bool {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => true,
    }
}

fn try_take_lock(path: &Path, sharing: LockSharing, owner: &RunOwner) -> Result<HeldLock, LockError> {
    let unusable = |source| LockError::CannotOpen { path: path.to_path_buf(), source };
    let mut file = private_files::open_lock_file(path).map_err(unusable)?;
    let locked = match sharing {
        LockSharing::Exclusive => file.try_lock(),
        LockSharing::Shared => file.try_lock_shared(),
    };
    match locked {
        Ok(()) if !is_still_at_path(&file, path) => Err(LockError::Taken { path: path.to_path_buf(), owner: None }),
        Ok(()) => write_owner(&mut file, sharing, owner).map(|()| HeldLock { _file: file }).map_err(unusable),
        Err(TryLockError::WouldBlock) => {
            Err(LockError::Taken { path: path.to_path_buf(), owner: read_owner(&mut file) })
        }
        Err(TryLockError::Error(source)) => Err(LockError::Unsupported { path: path.to_path_buf(), source }),
    }
}

/// Returns whether the file is still at its path: a lock on a removed file does not exclude other processes.
fn is_still_at_path(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        (_, _) => false,
    }
}

/// Writes the owner of the lock; nothing if the lock is shared, because it can have several owners.
///
/// The new owner overwrites the old one, and the file is truncated only if it is longer: truncating to zero is slow on
/// some file systems.
fn write_owner(file: &mut File, sharing: LockSharing, owner: &RunOwner) -> io::Result<()> {
    let owner_json = match sharing {
        LockSharing::Exclusive => owner.to_json(),
        LockSharing::Shared => String::new(),
    };
    file.write_all(owner_json.as_bytes())?;
    let length = owner_json.len() as u64;
    if file.metadata()?.len() == length { Ok(()) } else { file.set_len(length) }
}

fn read_owner(file: &mut File) -> Option<RunOwner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MAX_OWNER_BYTES).read_to_string(&mut text).ok()?;
    RunOwner::parse(&text)
}

#[cfg(test)]
mod tests {
    use ralph_core::event::UnixMillis;

    use super::*;

    fn sample_owner() -> RunOwner {
        RunOwner::for_this_process("r1", UnixMillis(0))
    }

    // fault: 11, 65
    #[test]
    fn an_exclusive_lock_has_one_holder_and_is_free_when_dropped() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        assert!(is_lock_free(&path));
        let held = try_take_lock(&path, LockSharing::Exclusive, &sample_owner()).unwrap();
        assert!(!is_lock_free(&path));
        let refused = try_take_lock(&path, LockSharing::Exclusive, &sample_owner()).unwrap_err();
        assert!(matches!(refused, LockError::Taken { owner: Some(_), .. }), "{refused:?}");
        assert!(matches!(try_take_lock(&path, LockSharing::Shared, &sample_owner()), Err(LockError::Taken { .. })));
        drop(held);
        assert!(is_lock_free(&path));
        try_take_lock(&path, LockSharing::Exclusive, &sample_owner()).unwrap();
    }

    // spec: L14
    #[test]
    fn a_shared_lock_is_shared_only_with_shared_holders() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let first = try_take_lock(&path, LockSharing::Shared, &sample_owner()).unwrap();
        let second = try_take_lock(&path, LockSharing::Shared, &sample_owner()).unwrap();
        drop(first);
        let refused = try_take_lock(&path, LockSharing::Exclusive, &sample_owner()).unwrap_err();
        assert!(matches!(refused, LockError::Taken { owner: None, .. }), "{refused:?}");
        drop(second);
        try_take_lock(&path, LockSharing::Exclusive, &sample_owner()).unwrap();
    }

    // fault: 13
    #[test]
    fn text_left_by_a_dead_holder_does_not_block_the_lock() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let mut foreign = sample_owner();
        (foreign.process.pid, foreign.process.boot) = (1, "another boot".to_owned());
        std::fs::write(&path, foreign.to_json().repeat(3)).unwrap();
        try_take_lock(&path, LockSharing::Exclusive, &sample_owner()).unwrap();
        assert_eq!(RunOwner::parse(&std::fs::read_to_string(&path).unwrap()), Some(sample_owner()));
    }

    // fault: 66
    #[test]
    fn a_lock_is_the_same_through_every_path() {
        let temp = tempfile::tempdir().unwrap();
        let (folder, link) = (temp.path().join("a"), temp.path().join("b"));
        std::fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let _held = try_take_lock(&folder.join("lock"), LockSharing::Exclusive, &sample_owner()).unwrap();
        // Project paths are resolved: a link in the path is refused.
        let paths = [link.canonicalize().unwrap().join("lock"), folder.join("../a/./lock")];
        for path in paths {
            let refused = try_take_lock(&path, LockSharing::Exclusive, &sample_owner());
            assert!(matches!(refused, Err(LockError::Taken { .. })), "{refused:?}");
        }
        let refused = try_take_lock(&link.join("lock"), LockSharing::Exclusive, &sample_owner());
        assert!(matches!(refused, Err(LockError::CannotOpen { .. })), "{refused:?}");
    }

    // fault: 62
    #[test]
    fn a_lock_path_that_is_not_a_file_is_refused_without_blocking() {
        let temp = tempfile::tempdir().unwrap();
        let fifo = temp.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
        assert!(is_lock_free(&fifo));
        let link = temp.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        let refused = try_take_lock(&link, LockSharing::Exclusive, &sample_owner());
        assert!(matches!(refused, Err(LockError::CannotOpen { .. })), "{refused:?}");
    }
}
