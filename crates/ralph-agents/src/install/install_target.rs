//! The target of an installation: all projects of the user, one project, or a plugin folder.
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
    /// Returns its name on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project(_) => "project",
            Self::Plugin(_) => "plugin",
        }
    }
}

/// A scope, and the environment that determines its folders.
pub struct InstallTarget<'a> {
    pub scope: InstallScope,
    /// The root of the current project, if any.
    pub project_root: Option<PathBuf>,
    pub env_var: &'a dyn Fn(&str) -> Option<OsString>,
}

impl InstallTarget<'_> {
    /// Returns the folder in a variable, if it is an absolute path.
    pub(crate) fn folder_from_env(&self, variable: &str) -> Option<PathBuf> {
        (self.env_var)(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns the folder in a variable, or else a folder below the user's home.
    pub(crate) fn user_folder(&self, variable: &str, below: &str) -> Result<PathBuf, InstallError> {
        let folder = self.folder_from_env(variable).or_else(|| Some(self.folder_from_env("HOME")?.join(below)));
        folder.ok_or(InstallError::NoHome { variable: "HOME" })
    }

    /// Returns the folder with the install records.
    pub(crate) fn records_folder(&self) -> Result<PathBuf, InstallError> {
        let state = self.user_folder("XDG_STATE_HOME", ".local/state")?;
        Ok(ralph_util::private_files::resolve_links(&state.join("ralph")).join("installed"))
    }
}

/// Returns a path as text, because settings files cannot contain other paths.
pub(crate) fn path_to_text(path: &Path) -> Result<String, InstallError> {
    let not_utf8 = || InstallError::UnusablePath { path: path.to_path_buf(), problem: "is not valid UTF-8" };
    path.to_str().map(str::to_owned).ok_or_else(not_utf8)
}
