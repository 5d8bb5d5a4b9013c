//! A separate bytecode cache for Python, for one program: the agent could have placed manipulated `.pyc` files next to
//! the sources, so they are not read.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PYCACHE_VARIABLE: &str = "PYTHONPYCACHEPREFIX";

/// A folder that Python creates on demand. It is removed when this value is dropped.
pub(in crate::verify) struct PycacheFolder {
    path: PathBuf,
}

impl PycacheFolder {
    pub(in crate::verify) fn new_in(folder: &Path) -> Self {
        Self { path: folder.join(format!("compiled-{}", uuid::Uuid::new_v4().simple())) }
    }

    /// Sets the variable for the folder in `env`, unless the check sets it.
    pub(in crate::verify) fn set_variable(
        &self,
        env: &mut Vec<(OsString, OsString)>,
        check_env: &BTreeMap<String, String>,
    ) {
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
