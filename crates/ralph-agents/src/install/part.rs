//! What belongs to an installation: files of our own, and hooks in files of others.
use std::path::PathBuf;

use super::merge::Hook;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// The whole file is ours.
    Whole(String),
    /// Hooks that are put into settings.
    Hooks(Vec<Hook>),
}

impl Part {
    pub(super) fn whole(path: PathBuf, text: impl Into<String>) -> Self {
        Self { path, content: Content::Whole(text.into()) }
    }
}
