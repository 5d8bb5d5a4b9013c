//! What belongs to an installation: files of our own, and hooks in files of others.
use std::path::PathBuf;

use super::merge::Hook;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstallPart {
    pub(super) path: PathBuf,
    pub(super) content: PartContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PartContent {
    /// The whole file is ours.
    WholeFile(String),
    /// Hooks that are put into settings.
    Hooks(Vec<Hook>),
}

impl InstallPart {
    pub(super) fn whole_file(path: PathBuf, text: impl Into<String>) -> Self {
        Self { path, content: PartContent::WholeFile(text.into()) }
    }
}
