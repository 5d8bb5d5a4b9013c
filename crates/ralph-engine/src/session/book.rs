//! All loops of this user's sessions: a file each, named by a hash, so that no session's name can lead elsewhere and no
//! session sees another's. A file is replaced as a whole under a lock that is held for a moment; who decides about a stop
//! has the session's turn meanwhile. Nothing is ever deleted because it cannot be read.
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::entry::{Entry, EntryError};
use super::journal::Journal;
use ralph_agents::hooks::HOSTS;
use ralph_util::digest::sha256;
use ralph_util::private::{self, Folder};

/// A file longer than this was not written by ralph.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A lock is held for as long as a small file takes to write.
const PATIENCE: Duration = Duration::from_secs(5);
const BETWEEN: Duration = Duration::from_millis(5);

/// What is over is kept so long.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3_600);

#[derive(Debug, thiserror::Error)]
pub enum BookError {
    #[error("the folder of the loops of sessions {} cannot be used", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the state of this session's loop {} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the state of this session's loop {} cannot be used", path.display())]
    Unusable { path: PathBuf, source: EntryError },
    #[error("the state of this session's loop {} cannot be written", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("another ralph holds {} for too long", path.display())]
    Held { path: PathBuf },
}

/// Names a session: ids of different hosts may be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Where it is not known, the loop belongs to whatever host has this session.
    pub host: Option<String>,
    pub session: String,
}

#[derive(Debug, Clone)]
pub struct Book {
    folder: PathBuf,
}

/// The right to decide about a session's stop. It ends with the process that has it.
#[derive(Debug)]
pub struct Turn {
    _file: File,
}

impl Key {
    #[must_use]
    pub fn new(host: Option<&str>, session: &str) -> Self {
        Self { host: host.map(str::to_owned), session: session.to_owned() }
    }

    pub(super) fn name(&self) -> String {
        let host = self.host.as_deref().unwrap_or_default();
        let mut hash = sha256(format!("{host}\0{}", self.session));
        hash.truncate(40);
        hash
    }
}

impl Book {
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the loop of a session, whether it goes on or not.
    pub fn find(&self, key: &Key) -> Result<Option<Entry>, BookError> {
        self.read(&self.file_of(key))
    }

    /// Returns the key under which a session has a loop that goes on, else one that is over, else none. Who asks without a
    /// host means any; a loop without a host belongs to every host.
    pub fn known(&self, key: &Key) -> Result<Option<(Key, Entry)>, BookError> {
        let own = key
            .host
            .as_deref()
            .map_or_else(|| HOSTS.iter().map(|host| Some(host.name())).collect(), |host| vec![Some(host)]);
        let mut over = None;
        for host in own.into_iter().chain([None]) {
            let key = Key::new(host, &key.session);
            match self.find(&key)? {
                Some(entry) if entry.state.is_active() => return Ok(Some((key, entry))),
                Some(entry) => over = over.or(Some((key, entry))),
                None => {}
            }
        }
        Ok(over)
    }

    /// Returns all loops that can be read, and the files that cannot.
    pub fn all(&self) -> Result<(Vec<Entry>, Vec<BookError>), BookError> {
        let listed = match std::fs::read_dir(&self.folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
            Err(source) => return Err(BookError::Folder { path: self.folder.clone(), source }),
        };
        let (mut entries, mut bad) = (Vec::new(), Vec::new());
        for path in listed.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_some_and(|end| end == "json") {
                match self.read(&path) {
                    Ok(entry) => entries.extend(entry),
                    Err(error) => bad.push(error),
                }
            }
        }
        entries.sort_by_key(|entry| entry.state.started);
        Ok((entries, bad))
    }

    /// Tells whether a loop of this host's sessions may be going on. Where nobody can tell, it may.
    #[must_use]
    pub fn may_concern(&self, host: &str) -> bool {
        let is_its = |entry: &Entry| entry.host.as_deref().is_none_or(|own| own == host);
        self.all().map_or(true, |(entries, bad)| {
            !bad.is_empty() || entries.iter().any(|entry| entry.state.is_active() && is_its(entry))
        })
    }

    /// Changes the loop of a session: reads, lets `change` decide what stands there next, and writes that.
    pub fn change<T>(
        &self,
        key: &Key,
        change: impl FnOnce(Option<Entry>) -> (Option<Entry>, T),
    ) -> Result<T, BookError> {
        let folder = private::folder(&self.folder)
            .map_err(|source| BookError::Folder { path: self.folder.clone(), source })?;
        let _lock = self.lock(&folder, key)?;
        let path = self.file_of(key);
        let (next, came) = change(self.read(&path)?);
        if let Some(entry) = next {
            replace(&folder, &key.name(), &entry)
                .map_err(|source| BookError::Unwritable { path: path.clone(), source })?;
        }
        Ok(came)
    }

    /// Takes the session's turn. Nothing where somebody has it: two answers to one stop are one too many.
    pub fn turn(&self, key: &Key) -> Result<Option<Turn>, BookError> {
        let path = self.folder.join(format!("{}.turn", key.name()));
        let opened = private::folder(&self.folder).and_then(|_| private::lock_file(&path));
        let file = opened.map_err(|source| BookError::Unwritable { path: path.clone(), source })?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Turn { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(BookError::Unwritable { path, source }),
        }
    }

    /// Returns where the facts of a session's loops are kept.
    #[must_use]
    pub fn journal(&self, key: &Key) -> Journal {
        Journal::new(&self.folder, format!("{}.jsonl", key.name()))
    }

    /// Removes what has been over for long. A loop that goes on is never removed, nor is what cannot be read.
    pub fn tidy(&self) {
        let Ok(listed) = std::fs::read_dir(&self.folder) else { return };
        for path in listed.filter_map(|entry| Some(entry.ok()?.path())) {
            let is_entry = path.extension().is_some_and(|end| end == "json");
            if is_entry && is_old(&path) && self.read(&path).is_ok_and(is_over) {
                let _ = std::fs::remove_dir_all(path.with_extension("checks"));
                for end in ["json", "jsonl", "jsonl.old", "passed", "lock", "turn"] {
                    let _ = std::fs::remove_file(path.with_extension(end));
                }
            }
        }
    }

    fn file_of(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{}.json", key.name()))
    }

    fn read(&self, path: &Path) -> Result<Option<Entry>, BookError> {
        let unreadable = |source| BookError::Unreadable { path: path.to_path_buf(), source };
        let mut bytes = Vec::new();
        match private::regular_file(path) {
            Ok(file) => drop(file.take(LONGEST).read_to_end(&mut bytes).map_err(unreadable)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        }
        let unusable = |source| BookError::Unusable { path: path.to_path_buf(), source };
        Entry::parse(&bytes).map(Some).map_err(unusable)
    }

    fn lock(&self, folder: &Folder, key: &Key) -> Result<File, BookError> {
        let path = self.folder.join(format!("{}.lock", key.name()));
        let unwritable = |source| BookError::Unwritable { path: path.clone(), source };
        let file =
            private::lock_file(&folder.path().join(format!("{}.lock", key.name()))).map_err(unwritable)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => pause(BETWEEN),
                Err(TryLockError::WouldBlock) => return Err(BookError::Held { path }),
                Err(TryLockError::Error(source)) => return Err(unwritable(source)),
            }
        }
    }
}

fn is_over(entry: Option<Entry>) -> bool {
    entry.is_some_and(|entry| !entry.state.is_active())
}

fn is_old(path: &Path) -> bool {
    let changed = path.metadata().and_then(|about| about.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > KEPT))
}

/// Puts the new file in the place of the old one: it is never half written.
fn replace(folder: &Folder, name: &str, entry: &Entry) -> io::Result<()> {
    let draft = format!("{name}.new");
    // Left behind by a ralph that was killed here; the lock is ours.
    let _ = rustix::fs::unlinkat(folder, draft.as_str(), rustix::fs::AtFlags::empty());
    let mut file = folder.new_file(&draft)?;
    file.write_all(&entry.write()?)?;
    file.sync_data()?;
    Ok(rustix::fs::renameat(folder, draft.as_str(), folder, format!("{name}.json").as_str())?)
}

/// Waits for a moment, without a runtime.
pub(super) fn pause(time: Duration) {
    let time = rustix::event::Timespec::try_from(time).ok();
    // With nothing to wait for it only waits; a signal may cut it short, and whoever waits looks again.
    let _ = rustix::event::poll(&mut [], time.as_ref());
}
