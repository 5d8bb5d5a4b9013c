//! All loops of this user's sessions: a file each, named by a hash, so that no session's name can lead elsewhere and no
//! session sees another's. A file is replaced as a whole under a lock that is held for a moment; who decides about a stop
//! has the session's turn meanwhile. Nothing is ever deleted because it cannot be read.
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::loop_file::{LoopFile, LoopFileError};
use super::loop_journal::LoopJournal;
use ralph_agents::hooks::HOOK_PROTOCOLS;
use ralph_util::digest::sha256_hex;
use ralph_util::private_files::{self, PrivateFolder};

/// A file longer than this was not written by ralph.
const MAX_LOOP_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// A lock is held for as long as a small file takes to write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// What is over is kept so long.
const FINISHED_LOOP_RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);

#[derive(Debug, thiserror::Error)]
pub enum LoopStoreError {
    #[error("the folder of the loops of sessions {} cannot be used", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the state of this session's loop {} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the state of this session's loop {} cannot be used", path.display())]
    Unusable { path: PathBuf, source: LoopFileError },
    #[error("the state of this session's loop {} cannot be written", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("another ralph holds {} for too long", path.display())]
    LockTimeout { path: PathBuf },
}

/// Names a session: ids of different hosts may be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionKey {
    /// Where it is not known, the loop belongs to whatever host has this session.
    pub host: Option<String>,
    pub session_id: String,
}

#[derive(Debug, Clone)]
pub struct LoopStore {
    folder: PathBuf,
}

/// The right to decide about a session's stop. It ends with the process that has it.
#[derive(Debug)]
pub struct StopLock {
    _file: File,
}

impl SessionKey {
    #[must_use]
    pub fn new(host: Option<&str>, session: &str) -> Self {
        Self { host: host.map(str::to_owned), session_id: session.to_owned() }
    }

    pub(super) fn file_stem(&self) -> String {
        let host = self.host.as_deref().unwrap_or_default();
        let mut hash = sha256_hex(format!("{host}\0{}", self.session_id));
        hash.truncate(40);
        hash
    }
}

impl LoopStore {
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the loop of a session, whether it goes on or not.
    pub fn find_loop(&self, key: &SessionKey) -> Result<Option<LoopFile>, LoopStoreError> {
        self.read_loop_file(&self.loop_path(key))
    }

    /// Returns the key under which a session has a loop that goes on, else one that is over, else none. Who asks without a
    /// host means any; a loop without a host belongs to every host.
    pub fn find_with_key(&self, key: &SessionKey) -> Result<Option<(SessionKey, LoopFile)>, LoopStoreError> {
        let own = key
            .host
            .as_deref()
            .map_or_else(|| HOOK_PROTOCOLS.iter().map(|host| Some(host.name())).collect(), |host| vec![Some(host)]);
        let mut over = None;
        for host in own.into_iter().chain([None]) {
            let key = SessionKey::new(host, &key.session_id);
            match self.find_loop(&key)? {
                Some(entry) if entry.loop_state.is_active() => return Ok(Some((key, entry))),
                Some(entry) => over = over.or(Some((key, entry))),
                None => {}
            }
        }
        Ok(over)
    }

    /// Returns all loops that can be read, and the files that cannot.
    pub fn list_loops(&self) -> Result<(Vec<LoopFile>, Vec<LoopStoreError>), LoopStoreError> {
        let listed = match std::fs::read_dir(&self.folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
            Err(source) => return Err(LoopStoreError::Folder { path: self.folder.clone(), source }),
        };
        let (mut entries, mut bad) = (Vec::new(), Vec::new());
        for path in listed.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_some_and(|end| end == "json") {
                match self.read_loop_file(&path) {
                    Ok(entry) => entries.extend(entry),
                    Err(error) => bad.push(error),
                }
            }
        }
        entries.sort_by_key(|entry| entry.loop_state.started);
        Ok((entries, bad))
    }

    /// Tells whether a loop of this host's sessions may be going on. Where nobody can tell, it may.
    #[must_use]
    pub fn may_have_active_loop(&self, host: &str) -> bool {
        let is_its = |entry: &LoopFile| entry.host.as_deref().is_none_or(|own| own == host);
        self.list_loops().map_or(true, |(entries, bad)| {
            !bad.is_empty() || entries.iter().any(|entry| entry.loop_state.is_active() && is_its(entry))
        })
    }

    /// Changes the loop of a session: reads, lets `change` decide what stands there next, and writes that.
    pub fn update_loop<T>(
        &self,
        key: &SessionKey,
        change: impl FnOnce(Option<LoopFile>) -> (Option<LoopFile>, T),
    ) -> Result<T, LoopStoreError> {
        let folder = private_files::ensure_folder(&self.folder)
            .map_err(|source| LoopStoreError::Folder { path: self.folder.clone(), source })?;
        let _lock = self.lock_session(&folder, key)?;
        let path = self.loop_path(key);
        let (next, output) = change(self.read_loop_file(&path)?);
        if let Some(entry) = next {
            replace_loop_file(&folder, &key.file_stem(), &entry)
                .map_err(|source| LoopStoreError::Unwritable { path: path.clone(), source })?;
        }
        Ok(output)
    }

    /// Takes the session's turn. Nothing where somebody has it: two answers to one stop are one too many.
    pub fn try_lock_stop(&self, key: &SessionKey) -> Result<Option<StopLock>, LoopStoreError> {
        let path = self.folder.join(format!("{}.turn", key.file_stem()));
        let opened = private_files::ensure_folder(&self.folder).and_then(|_| private_files::open_lock_file(&path));
        let file = opened.map_err(|source| LoopStoreError::Unwritable { path: path.clone(), source })?;
        match file.try_lock() {
            Ok(()) => Ok(Some(StopLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(LoopStoreError::Unwritable { path, source }),
        }
    }

    /// Returns where the facts of a session's loops are kept.
    #[must_use]
    pub fn loop_journal(&self, key: &SessionKey) -> LoopJournal {
        LoopJournal::new(&self.folder, format!("{}.jsonl", key.file_stem()))
    }

    /// Removes what has been over for long. A loop that goes on is never removed, nor is what cannot be read.
    pub fn remove_expired(&self) {
        let Ok(listed) = std::fs::read_dir(&self.folder) else { return };
        for path in listed.filter_map(|entry| Some(entry.ok()?.path())) {
            let is_entry = path.extension().is_some_and(|end| end == "json");
            if is_entry && is_past_retention(&path) && self.read_loop_file(&path).is_ok_and(is_finished_loop) {
                let _ = std::fs::remove_dir_all(path.with_extension("checks"));
                for end in ["json", "jsonl", "jsonl.old", "passed", "lock", "turn"] {
                    let _ = std::fs::remove_file(path.with_extension(end));
                }
            }
        }
    }

    fn loop_path(&self, key: &SessionKey) -> PathBuf {
        self.folder.join(format!("{}.json", key.file_stem()))
    }

    fn read_loop_file(&self, path: &Path) -> Result<Option<LoopFile>, LoopStoreError> {
        let unreadable = |source| LoopStoreError::Unreadable { path: path.to_path_buf(), source };
        let mut bytes = Vec::new();
        match private_files::open_regular_file(path) {
            Ok(file) => drop(file.take(MAX_LOOP_FILE_BYTES).read_to_end(&mut bytes).map_err(unreadable)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        }
        let unusable = |source| LoopStoreError::Unusable { path: path.to_path_buf(), source };
        LoopFile::parse(&bytes).map(Some).map_err(unusable)
    }

    fn lock_session(&self, folder: &PrivateFolder, key: &SessionKey) -> Result<File, LoopStoreError> {
        let path = self.folder.join(format!("{}.lock", key.file_stem()));
        let unwritable = |source| LoopStoreError::Unwritable { path: path.clone(), source };
        let file = private_files::open_lock_file(&folder.path().join(format!("{}.lock", key.file_stem())))
            .map_err(unwritable)?;
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep_blocking(LOCK_RETRY_INTERVAL),
                Err(TryLockError::WouldBlock) => return Err(LoopStoreError::LockTimeout { path }),
                Err(TryLockError::Error(source)) => return Err(unwritable(source)),
            }
        }
    }
}

fn is_finished_loop(entry: Option<LoopFile>) -> bool {
    entry.is_some_and(|entry| !entry.loop_state.is_active())
}

fn is_past_retention(path: &Path) -> bool {
    let changed = path.metadata().and_then(|about| about.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > FINISHED_LOOP_RETENTION))
}

/// Puts the new file in the place of the old one: it is never half written.
fn replace_loop_file(folder: &PrivateFolder, name: &str, entry: &LoopFile) -> io::Result<()> {
    let draft = format!("{name}.new");
    // Left behind by a ralph that was killed here; the lock is ours.
    let _ = rustix::fs::unlinkat(folder, draft.as_str(), rustix::fs::AtFlags::empty());
    let mut file = folder.create_new_file(&draft)?;
    file.write_all(&entry.to_bytes()?)?;
    file.sync_data()?;
    Ok(rustix::fs::renameat(folder, draft.as_str(), folder, format!("{name}.json").as_str())?)
}

/// Waits for a moment, without a runtime.
pub(super) fn sleep_blocking(time: Duration) {
    let time = rustix::event::Timespec::try_from(time).ok();
    // With nothing to wait for it only waits; a signal may cut it short, and whoever waits looks again.
    let _ = rustix::event::poll(&mut [], time.as_ref());
}
