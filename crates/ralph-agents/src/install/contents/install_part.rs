//! The parts of an installation: whole files of ralph, and hooks in the settings of the host.
use std::path::PathBuf;

use crate::install::merge::Hook;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstallPart {
    pub(crate) path: PathBuf,
    pub(crate) content: PartContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartContent {
    /// The whole file belongs to ralph.
    WholeFile(String),
    /// Hooks that are added to a settings file.
    Hooks(Vec<Hook>),
}

impl InstallPart {
    pub(crate) fn whole_file(path: PathBuf, text: impl Into<String>) -> Self {
        Self { path, content: PartContent::WholeFile(text.into()) }
    }
}
