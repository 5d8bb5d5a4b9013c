//! A place for what Python compiles, for one program: whatever was left beside the sources since the run began could say anything,
//! and is not read.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "PYTHONPYCACHEPREFIX";

/// Python makes the folder if it needs it. It is gone with its value.
pub(super) struct Compiled {
    path: PathBuf,
}

impl Compiled {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(format!("compiled-{}", uuid::Uuid::new_v4().simple())) }
    }

    /// Names it in an environment, unless the check says something else.
    pub(super) fn set_in(&self, env: &mut Vec<(OsString, OsString)>, own: &BTreeMap<String, String>) {
        if !own.contains_key(VARIABLE) {
            env.retain(|(name, _)| name != VARIABLE);
            env.push((VARIABLE.into(), self.path.clone().into()));
        }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
