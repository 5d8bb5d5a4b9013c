//! Taking a lock, and looking whether somebody has it. Nobody ever waits for one: who has it may have it for hours.
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Owner;
use ralph_util::private;

/// Somebody who only looks has the lock for a moment; so often is it tried again.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(20);
/// No owner is longer.
const LONGEST_OWNER: u64 = 4_096;

/// Whether others may have the lock too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    Alone,
    Parallel,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("the lock {} is taken", path.display())]
    Taken { path: PathBuf, owner: Option<Owner> },
    #[error("the lock {} cannot be opened", path.display())]
    Unusable { path: PathBuf, source: io::Error },
    #[error("the file system of {} has no locks that work", path.display())]
    NoLocks { path: PathBuf, source: io::Error },
}

/// A lock that this process has until this is dropped. It is taken after the keeper was forked, and closed in every
/// program that is started, so that nothing else ever holds it.
#[derive(Debug)]
pub struct Held {
    _file: File,
}

/// Takes a lock, or tells who has it.
pub async fn take(path: &Path, sharing: Sharing, owner: &Owner) -> Result<Held, LockError> {
    for _ in 1..TRIES {
        match attempt(path, sharing, owner) {
            Err(LockError::Taken { .. }) => tokio::time::sleep(BETWEEN).await,
            other => return other,
        }
    }
    attempt(path, sharing, owner)
}

/// Tells whether nobody has a lock. A lock that was never taken is free.
#[must_use]
pub fn is_free(path: &Path) -> bool {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => true,
    }
}

fn attempt(path: &Path, sharing: Sharing, owner: &Owner) -> Result<Held, LockError> {
    let unusable = |source| LockError::Unusable { path: path.to_path_buf(), source };
    let mut file = private::lock_file(path).map_err(unusable)?;
    let locked = match sharing {
        Sharing::Alone => file.try_lock(),
        Sharing::Parallel => file.try_lock_shared(),
    };
    match locked {
        Ok(()) if !is_still_named(&file, path) => {
            Err(LockError::Taken { path: path.to_path_buf(), owner: None })
        }
        Ok(()) => sign(&mut file, sharing, owner).map(|()| Held { _file: file }).map_err(unusable),
        Err(TryLockError::WouldBlock) => {
            Err(LockError::Taken { path: path.to_path_buf(), owner: signed(&mut file) })
        }
        Err(TryLockError::Error(source)) => Err(LockError::NoLocks { path: path.to_path_buf(), source }),
    }
}

/// A lock on a file that was removed meanwhile keeps nobody out.
fn is_still_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        (_, _) => false,
    }
}

/// Writes who has the lock. Where several may have it, no single one stands for them.
///
/// The next one is written over the last, and cut only where it is shorter: file systems take long to empty a file.
fn sign(file: &mut File, sharing: Sharing, owner: &Owner) -> io::Result<()> {
    let signature = match sharing {
        Sharing::Alone => owner.json(),
        Sharing::Parallel => String::new(),
    };
    file.write_all(signature.as_bytes())?;
    let length = signature.len() as u64;
    if file.metadata()?.len() == length { Ok(()) } else { file.set_len(length) }
}

fn signed(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(LONGEST_OWNER).read_to_string(&mut text).ok()?;
    Owner::parse(&text)
}

#[cfg(test)]
mod tests {
    use ralph_core::event::Millis;

    use super::*;

    fn owner() -> Owner {
        Owner::of("r1", Millis(0))
    }

    // fault: 11, 65
    #[test]
    fn a_lock_is_had_by_one_alone_and_is_free_when_it_is_dropped() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        assert!(is_free(&path));
        let held = attempt(&path, Sharing::Alone, &owner()).unwrap();
        assert!(!is_free(&path));
        let refused = attempt(&path, Sharing::Alone, &owner()).unwrap_err();
        assert!(matches!(refused, LockError::Taken { owner: Some(_), .. }), "{refused:?}");
        assert!(matches!(attempt(&path, Sharing::Parallel, &owner()), Err(LockError::Taken { .. })));
        drop(held);
        assert!(is_free(&path));
        attempt(&path, Sharing::Alone, &owner()).unwrap();
    }

    // spec: L14
    #[test]
    fn who_wants_to_share_a_lock_shares_it_only_with_others_who_do() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let first = attempt(&path, Sharing::Parallel, &owner()).unwrap();
        let second = attempt(&path, Sharing::Parallel, &owner()).unwrap();
        drop(first);
        let refused = attempt(&path, Sharing::Alone, &owner()).unwrap_err();
        assert!(matches!(refused, LockError::Taken { owner: None, .. }), "{refused:?}");
        drop(second);
        attempt(&path, Sharing::Alone, &owner()).unwrap();
    }

    // fault: 13
    #[test]
    fn what_a_dead_holder_wrote_keeps_nobody_out() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let mut foreign = owner();
        (foreign.process.pid, foreign.process.boot) = (1, "another boot".to_owned());
        std::fs::write(&path, foreign.json().repeat(3)).unwrap();
        attempt(&path, Sharing::Alone, &owner()).unwrap();
        assert_eq!(Owner::parse(&std::fs::read_to_string(&path).unwrap()), Some(owner()));
    }

    // fault: 66
    #[test]
    fn a_lock_is_the_same_through_every_path() {
        let temp = tempfile::tempdir().unwrap();
        let (folder, link) = (temp.path().join("a"), temp.path().join("b"));
        std::fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let _held = attempt(&folder.join("lock"), Sharing::Alone, &owner()).unwrap();
        // A project goes by its real path: links on the way are not followed.
        let ways = [link.canonicalize().unwrap().join("lock"), folder.join("../a/./lock")];
        for way in ways {
            let refused = attempt(&way, Sharing::Alone, &owner());
            assert!(matches!(refused, Err(LockError::Taken { .. })), "{refused:?}");
        }
        let refused = attempt(&link.join("lock"), Sharing::Alone, &owner());
        assert!(matches!(refused, Err(LockError::Unusable { .. })), "{refused:?}");
    }

    // fault: 62
    #[test]
    fn a_lock_that_is_no_file_is_refused_and_nobody_hangs_on_it() {
        let temp = tempfile::tempdir().unwrap();
        let fifo = temp.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
        assert!(is_free(&fifo));
        let link = temp.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        let refused = attempt(&link, Sharing::Alone, &owner());
        assert!(matches!(refused, Err(LockError::Unusable { .. })), "{refused:?}");
    }
}
