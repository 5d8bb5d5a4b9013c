//! Versions that agents have printed, with the state of their executables, so that a version is known without starting
//! the agent again. `ralph doctor` fills the cache. It is only a cache: a lost or damaged file is an empty one.
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_util::private_files;
use serde::{Deserialize, Serialize};

const CACHE_FILE: &str = "agent-versions.json";

/// The versions that are known, by the path of the executable without links.
#[derive(Debug, Default)]
pub struct VersionCache {
    folder: PathBuf,
    entries: BTreeMap<PathBuf, CachedVersion>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CachedVersion {
    version: String,
    executable: ExecutableState,
}

/// Changes when the executable is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ExecutableState {
    seconds: i64,
    nanoseconds: i64,
    bytes: u64,
}

impl ExecutableState {
    fn read(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self { seconds: found.mtime(), nanoseconds: found.mtime_nsec(), bytes: found.len() })
    }
}

impl VersionCache {
    /// Loads the cache from the state folder of the user.
    #[must_use]
    pub fn load(folder: &Path) -> Self {
        let text = fs::read(folder.join(CACHE_FILE)).unwrap_or_default();
        Self { folder: folder.to_path_buf(), entries: serde_json::from_slice(&text).unwrap_or_default() }
    }

    /// Returns the version of a program, if it is known and the executable is unchanged.
    #[must_use]
    pub fn find_version(&self, program: &Path) -> Option<&str> {
        let path = fs::canonicalize(program).ok()?;
        let known = self.entries.get(&path)?;
        (ExecutableState::read(&path)? == known.executable).then_some(known.version.as_str())
    }

    /// Remembers the version of a program.
    pub fn set_version(&mut self, program: &Path, version: &str) {
        let Ok(path) = fs::canonicalize(program) else { return };
        if let Some(executable) = ExecutableState::read(&path) {
            self.entries.insert(path, CachedVersion { version: version.to_owned(), executable });
        }
    }

    /// Writes the cache, without programs that no longer exist.
    pub fn save(mut self) -> io::Result<()> {
        self.entries.retain(|path, _| path.exists());
        let folder = private_files::ensure_folder(&self.folder)?;
        let unfinished = folder.path().join(format!("{CACHE_FILE}.{}", std::process::id()));
        fs::write(&unfinished, serde_json::to_vec(&self.entries)?)?;
        fs::rename(&unfinished, folder.path().join(CACHE_FILE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding: N71
    // spec: A12
    #[test]
    fn a_version_is_known_until_the_executable_changes() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().canonicalize().unwrap();
        let (state, program) = (folder.join("state"), folder.join("agent"));
        fs::write(&program, "one").unwrap();
        let mut cache = VersionCache::load(&state);
        assert_eq!(cache.find_version(&program), None);
        cache.set_version(&program, "1.2.3");
        cache.save().unwrap();
        assert_eq!(VersionCache::load(&state).find_version(&program), Some("1.2.3"));
        fs::write(&program, "another").unwrap();
        assert_eq!(VersionCache::load(&state).find_version(&program), None);
        fs::write(state.join(CACHE_FILE), "damaged").unwrap();
        assert_eq!(VersionCache::load(&state).find_version(&program), None);
    }
}
