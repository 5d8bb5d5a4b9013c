//! What is wrong with the configuration, where, and what to write instead.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ConfigError {
    /// `FILE:LINE:COLUMN`, a variable or a flag.
    pub place: String,
    pub what: String,
    pub hint: Option<String>,
}

/// The same without its place: what a value's parser knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub what: String,
    pub hint: Option<String>,
}

impl Refusal {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn at(self, place: impl Into<String>) -> ConfigError {
        ConfigError { place: place.into(), what: self.what, hint: self.hint }
    }
}
