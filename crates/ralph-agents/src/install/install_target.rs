//! Where it is put: for all projects of the user, for one project, or into a folder of its own.
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::InstallError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallScope {
    User,
    /// The project with this root.
    Project(PathBuf),
    /// A plugin in this folder, for hosts that have plugins.
    Plugin(PathBuf),
}

impl InstallScope {
    /// Returns its word on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project(_) => "project",
            Self::Plugin(_) => "plugin",
        }
    }
}

/// A scope, and the environment in which folders are found.
pub struct InstallTarget<'a> {
    pub scope: InstallScope,
    /// The root of the project around the user, if there is one.
    pub project_root: Option<PathBuf>,
    pub env_var: &'a dyn Fn(&str) -> Option<OsString>,
}

impl InstallTarget<'_> {
    /// Returns the folder that a variable names.
    pub(super) fn folder_from_env(&self, variable: &str) -> Option<PathBuf> {
        (self.env_var)(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns a folder below the user's home, unless a variable names another.
    pub(super) fn user_folder(&self, variable: &str, below: &str) -> Result<PathBuf, InstallError> {
        let own = self.folder_from_env(variable).or_else(|| Some(self.folder_from_env("HOME")?.join(below)));
        own.ok_or(InstallError::NoHome { variable: "HOME" })
    }

    /// Returns the folder in which is written down what was installed.
    pub(super) fn records_folder(&self) -> Result<PathBuf, InstallError> {
        let state = self.user_folder("XDG_STATE_HOME", ".local/state")?;
        Ok(ralph_util::private_files::resolve_links(&state.join("ralph")).join("installed"))
    }
}

/// Returns a path as text, which every settings file needs.
pub(super) fn path_to_text(path: &Path) -> Result<String, InstallError> {
    let unfit = || InstallError::UnusablePath { path: path.to_path_buf(), problem: "is no UTF-8 text" };
    path.to_str().map(str::to_owned).ok_or_else(unfit)
}
