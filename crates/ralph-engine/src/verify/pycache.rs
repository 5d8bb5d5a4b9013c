//! A place for what Python compiles, for one program: whatever was left beside the sources since the run began could say anything,
//! and is not read.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PYCACHE_VARIABLE: &str = "PYTHONPYCACHEPREFIX";

/// Python makes the folder if it needs it. It is gone with its value.
pub(super) struct PycacheFolder {
    path: PathBuf,
}

impl PycacheFolder {
    pub(super) fn new_in(folder: &Path) -> Self {
        Self { path: folder.join(format!("compiled-{}", uuid::Uuid::new_v4().simple())) }
    }

    /// Names it in an environment, unless the check says something else.
    pub(super) fn set_variable(&self, env: &mut Vec<(OsString, OsString)>, check_env: &BTreeMap<String, String>) {
        if !check_env.contains_key(PYCACHE_VARIABLE) {
            env.retain(|(name, _)| name != PYCACHE_VARIABLE);
            env.push((PYCACHE_VARIABLE.into(), self.path.clone().into()));
        }
    }
}

impl Drop for PycacheFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
