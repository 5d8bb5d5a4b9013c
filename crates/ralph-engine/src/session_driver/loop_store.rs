//! Stores the session loops of this user, one file per session. The file name is a hash, so that a session id cannot
//! lead to another path. A file is replaced atomically under a short lock; a stop is handled under a separate lock.
//! Unreadable files are never deleted.
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::loop_file::{LoopFile, LoopFileError};
use ralph_agents::hooks::hook_protocols;
use ralph_util::digest::sha256_hex;
use ralph_util::private_files::{self, PrivateFolder};

/// The maximum size of a loop file; ralph does not write larger ones.
const MAX_LOOP_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// How long to wait for a lock. It is normally held only while a small file is written.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// How long finished loops are kept.
const FINISHED_LOOP_RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);

#[derive(Debug, thiserror::Error)]
pub enum LoopStoreError {
    #[error("the session loop folder {} cannot be used", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the loop state file {} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the loop state file {} cannot be used", path.display())]
    Unusable { path: PathBuf, source: LoopFileError },
    #[error("the loop state file {} cannot be written", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("timed out waiting for the lock {}: another ralph process holds it", path.display())]
    LockTimeout { path: PathBuf },
}

/// Identifies a session: different hosts may use the same session id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionKey {
    /// If it is unknown, the loop belongs to any host with this session.
    pub host: Option<String>,
    pub session_id: String,
}

/// All loops, and the errors of files that cannot be read.
#[derive(Debug, Default)]
pub struct LoopList {
    /// The loops, the oldest first.
    pub loops: Vec<LoopFile>,
    pub unreadable: Vec<LoopStoreError>,
}

#[derive(Debug, Clone)]
pub struct LoopStore {
    folder: PathBuf,
}

/// The lock for handling a stop of a session. It is released when the value is dropped or the process ends.
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

    /// Returns the loop of a session, active or finished.
    pub fn find_loop(&self, key: &SessionKey) -> Result<Option<LoopFile>, LoopStoreError> {
        self.read_loop_file(&self.loop_path(key))
    }

    /// Returns the active loop of a session, else a finished one, with the key under which it is stored. A key without
    /// a host matches every host; a loop without a host belongs to every host.
    pub fn find_with_key(&self, key: &SessionKey) -> Result<Option<(SessionKey, LoopFile)>, LoopStoreError> {
        let hosts = key
            .host
            .as_deref()
            .map_or_else(|| hook_protocols().map(|host| Some(host.name())).collect(), |host| vec![Some(host)]);
        let mut finished = None;
        for host in hosts.into_iter().chain([None]) {
            let key = SessionKey::new(host, &key.session_id);
            match self.find_loop(&key)? {
                Some(entry) if entry.loop_state.is_active() => return Ok(Some((key, entry))),
                Some(entry) => finished = finished.or(Some((key, entry))),
                None => {}
            }
        }
        Ok(finished)
    }

    /// Returns all loops.
    pub fn list_loops(&self) -> Result<LoopList, LoopStoreError> {
        let mut list = LoopList::default();
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(list),
            Err(source) => return Err(LoopStoreError::Folder { path: self.folder.clone(), source }),
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_some_and(|end| end == "json") {
                match self.read_loop_file(&path) {
                    Ok(loop_file) => list.loops.extend(loop_file),
                    Err(error) => list.unreadable.push(error),
                }
            }
        }
        list.loops.sort_by_key(|loop_file| loop_file.loop_state.started);
        Ok(list)
    }

    /// Returns whether a session of this host may have an active loop; true if that is unknown because of an error.
    #[must_use]
    pub fn may_have_active_loop(&self, host: &str) -> bool {
        let is_of_host = |entry: &LoopFile| entry.host.as_deref().is_none_or(|known| known == host);
        self.list_loops().map_or(true, |list| {
            let is_active = |entry: &LoopFile| entry.loop_state.is_active() && is_of_host(entry);
            !list.unreadable.is_empty() || list.loops.iter().any(is_active)
        })
    }

    /// Reads the loop of a session, calls `change` and writes the loop that it returns, all under the lock of the
    /// session.
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

    /// Takes the stop lock of a session. Returns `None` if it is taken: only one hook may decide about a stop.
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

    /// Returns the folder of the store for sessions outside of a project.
    #[must_use]
    pub fn outside_state_folder(&self) -> PathBuf {
        self.folder.join("outside")
    }

    /// Removes loops that finished long ago. Active loops and unreadable files are never removed.
    pub fn remove_expired(&self) {
        let Ok(listed) = std::fs::read_dir(&self.folder) else { return };
        for path in listed.filter_map(|entry| Some(entry.ok()?.path())) {
            let is_loop_file = path.extension().is_some_and(|end| end == "json");
            if is_loop_file && is_past_retention(&path) && self.read_loop_file(&path).is_ok_and(is_finished_loop) {
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
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > FINISHED_LOOP_RETENTION))
}

/// Replaces the file atomically.
fn replace_loop_file(folder: &PrivateFolder, name: &str, entry: &LoopFile) -> io::Result<()> {
    let draft = format!("{name}.new");
    // A killed process may have left its draft. This process holds the lock, so no other one is using it.
    let _ = rustix::fs::unlinkat(folder, draft.as_str(), rustix::fs::AtFlags::empty());
    let mut file = folder.create_new_file(&draft)?;
    file.write_all(&entry.to_bytes()?)?;
    file.sync_data()?;
    Ok(rustix::fs::renameat(folder, draft.as_str(), folder, format!("{name}.json").as_str())?)
}

/// Sleeps without a runtime. A signal may end the sleep early, so callers must check the time again.
pub(super) fn sleep_blocking(duration: Duration) {
    let timeout = rustix::event::Timespec::try_from(duration).ok();
    let _ = rustix::event::poll(&mut [], timeout.as_ref());
}
